import { expect, it } from 'vitest';
import { referencePage } from './reference-page.ts';

it('docs/manifests.md says what the definitions say', async () => {
  await expect(referencePage()).toMatchFileSnapshot('../../../../docs/manifests.md');
});

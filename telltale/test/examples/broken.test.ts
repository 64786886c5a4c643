import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { recordedIo } from '../cli/recorded-io.ts';

const examples = fileURLToPath(new URL('../../../examples', import.meta.url));

describe('examples/broken', () => {
  it('prints what expected.txt says', async () => {
    const io = recordedIo({ cwd: `${examples}/broken`, env: { MODEL_KEY: 'sk-not-for-your-eyes' } });
    expect(await main(['validate'], io)).toBe(2);
    expect(io.err()).toBe('');
    await expect(io.out()).toMatchFileSnapshot(`${examples}/broken/expected.txt`);
  });
});

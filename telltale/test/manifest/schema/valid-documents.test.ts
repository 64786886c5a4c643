import { describe, expect, it } from 'vitest';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { EXAMPLES } from './examples.ts';

describe('a document that uses every key', () => {
  it.each(
    EXAMPLES.map((document) => [
      `${(document as { kind: string }).kind} ${(document as { name: string }).name}`,
      document,
    ]),
  )('of %s has no issue', (_, document) => {
    const { issues, manifest } = checkManifest(document);
    expect(issues).toEqual([]);
    expect(manifest).toBeDefined();
  });
});

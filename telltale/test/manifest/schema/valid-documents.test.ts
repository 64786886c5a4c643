import { describe, expect, it, vi } from 'vitest';
import { checkManifest } from '../../../src/manifest/check-manifest.ts';
import { EXAMPLES } from './examples.ts';

/** Whole documents, some of them large: on a busy machine five seconds may not do. */
vi.setConfig({ testTimeout: 60_000 });

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

import { describe, expect, it } from 'vitest';
import { MANIFEST_LIMITS } from '../../src/manifest/diagnostic.ts';
import { readManifests } from '../../src/manifest/read-manifests.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';
import { looksLikeManifest } from '../../src/manifest/validate-manifests.ts';

const full = (piece: string) => piece.repeat(Math.floor((MANIFEST_LIMITS.fileBytes - 100) / piece.length));

/** Each would take minutes or for ever if a step of reading were quadratic, or a regular expression went back. */
const TEXTS: readonly (readonly [string, string])[] = [
  ['comment signs before content', `${'#'.repeat(5000)}\nkind: Agent\n`],
  ['dollars', `kind: Agent\nname: "${full('$')}"\n`],
  ['references that do not end', `kind: Agent\nname: "${full('$' + '{A:')}"\n`],
  ['references that are unset', `kind: Agent\nname: "${full('$' + '{X}')}"\n`],
  ['spaces in a reference', `kind: Agent\nname: "${full('$' + '{ ')}"\n`],
  ['blank lines', full('\n')],
  ['blank lines with spaces', full(' \n')],
  ['quotes', full('"')],
  ['brackets that close', full(']')],
  ['braces on one line', `a: ${full('{} ')}`],
  ['colons', full(': ')],
  ['exclamation marks', full('! ')],
  ['document markers', full('---\n')],
  ['document ends', full('...\n')],
  ['one long word', full('a')],
  ['tabs', full('\t')],
  ['percent signs', full('%a\n')],
  ['lines that are no keys', full('a\n b\n')],
  ['escapes', `kind: Agent\nname: "${full('\\n')}"\n`],
  ['two-byte characters', full('é')],
];

describe('reading takes time in proportion to the size of', { timeout: 30_000 }, () => {
  it.each(TEXTS)('%s', (_name, text) => {
    looksLikeManifest(text);
    const decoded = decodeSource('x.yml', new TextEncoder().encode(text));
    const diagnostics = decoded.ok ? readManifests(decoded.source, {}).diagnostics : [decoded.diagnostic];
    expect(diagnostics.length).toBeGreaterThan(0);
    expect(diagnostics.length).toBeLessThanOrEqual(MANIFEST_LIMITS.diagnostics + 1);
  });
});

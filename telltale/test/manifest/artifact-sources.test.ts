import { describe, expect, it } from 'vitest';
import { readManifests } from '../../src/manifest/read-manifests.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';

/** `code «what the caret stands under» hint`, one for each diagnostic. */
function shown(text: string): string[] {
  const decoded = decodeSource('x.yml', Buffer.from(text));
  if (!decoded.ok) throw new Error(decoded.diagnostic.message);
  return readManifests(decoded.source, {}).diagnostics.map(({ code, excerpt, hint }) => {
    const { text: line = '', caretFrom = 0, caretLength = 0 } = excerpt ?? {};
    return `${code} «${line.slice(caretFrom, caretFrom + caretLength)}» ${hint ?? ''}`.trim();
  });
}

describe('the source of an artifact', () => {
  const artifact = (source: string, methods = '{ decide: {} }') =>
    shown(`kind: Artifact\nname: f\nsource: |\n${source.replaceAll(/^/gm, '  ')}\nmethods: ${methods}\n`);

  it('is JavaScript, and the caret stands where it is not', () => {
    expect(artifact('export function decide(n) {\n  return n >;\n}')).toEqual([
      'bad_script «;» The source has to be an ES module, with one function per method.',
    ]);
  });

  it('has the methods that are named', () => {
    expect(artifact('export function decide() { return true; }', '{ decidee: {}, decide: {} }')).toEqual([
      'unknown_method «decidee» Did you mean "decide"?',
    ]);
  });

  it.each([
    'export function decide() { return 1; }',
    'export const decide = () => 1;',
    'const inner = () => 1;\nexport { inner as decide };',
    'function decide() { return "export function x("; }',
    'class A { #x = 1; get x() { return this.#x; } }\nexport async function decide() { return await new A().x; }',
  ])('may be %j', (source) => {
    expect(artifact(source)).toEqual([]);
  });
});

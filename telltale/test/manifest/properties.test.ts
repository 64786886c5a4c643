// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { Diagnostic } from '../../src/manifest/diagnostic.ts';
import { displayWidth, formatDiagnostic } from '../../src/manifest/format-diagnostic.ts';
import { readManifests } from '../../src/manifest/read-manifests.ts';
import { decodeSource } from '../../src/manifest/source-text.ts';
import { moreRuns } from '../more-runs.ts';

const check = (bytes: Uint8Array): { readonly text: string; readonly diagnostics: readonly Diagnostic[] } => {
  const decoded = decodeSource('x.yml', bytes);
  const text = new TextDecoder().decode(bytes);
  if (!decoded.ok) return { text, diagnostics: [decoded.diagnostic] };
  return { text, diagnostics: readManifests(decoded.source, { HOME: '/home/x' }).diagnostics };
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: none may reach a terminal
const STEERS_A_TERMINAL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/** Every position is inside the file, and the caret under something that is shown. */
const expectPlaced = ({ text, diagnostics }: ReturnType<typeof check>) => {
  const lines = text.split('\n');
  for (const diagnostic of diagnostics) {
    const { line = 1, column = 1, excerpt, message } = diagnostic;
    expect(line).toBeGreaterThanOrEqual(1);
    expect(line).toBeLessThanOrEqual(lines.length);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
    expect(message).not.toBe('');
    if (excerpt !== undefined) {
      expect(excerpt.caretFrom).toBeLessThanOrEqual(excerpt.text.length);
      expect(excerpt.caretLength).toBeGreaterThanOrEqual(1);
      expect(excerpt.text.length).toBeLessThanOrEqual(100);
    }
    expect(formatDiagnostic(diagnostic)).not.toMatch(STEERS_A_TERMINAL);
  }
};

const golden = fileURLToPath(new URL('golden', import.meta.url));
const corpus = readdirSync(golden)
  .filter((name) => /\.(yml|json)$/.test(name))
  .map((name) => readFileSync(`${golden}/${name}`, 'utf8'));

describe('whatever the bytes', () => {
  it('reading never throws, and every position is inside the file', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => expectPlaced(check(bytes))),
      { numRuns: moreRuns(300) },
    );
  });

  it('text made of the pieces of YAML is read or refused in its place', () => {
    const piece = fc.constantFrom(
      ...[
        'kind: Agent',
        'name',
        ': ',
        '- ',
        '? ',
        '[',
        ']',
        '{',
        '}',
        ',',
        '"',
        "'",
        '|',
        '>',
        '\n',
        '\n  ',
        '\t',
        '#',
        '&a ',
        '*a',
        '!t ',
        '---\n',
      ].concat([
        '...\n',
        '%YAML 1.1\n',
        '${HOME}',
        '${X}',
        '${X:-1}',
        '<<: ',
        '\\',
        '日本',
        '😀',
        '\r\n',
        '\u202e',
        '1',
        '.inf',
        'enabled: ',
        '@',
        '`',
        '__proto__: ',
      ]),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) =>
        expectPlaced(check(Buffer.from(pieces.join('')))),
      ),
      { numRuns: moreRuns(1000) },
    );
  });

  it('any JSON value, as YAML or as JSON, is judged and not thrown at', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.boolean(), (value, asYaml) => {
        const text = asYaml ? stringify(value) : JSON.stringify(value);
        const result = check(Buffer.from(text));
        expectPlaced(result);
        expect(result.diagnostics.length).toBeGreaterThan(0);
      }),
      { numRuns: moreRuns(300) },
    );
  });

  it('a manifest with a stretch cut, doubled or replaced is judged in its place', () => {
    const mutated = fc
      .tuple(
        fc.constantFrom(...corpus),
        fc.nat(),
        fc.nat(30),
        fc.constantFrom('', '"', '\n', '\t', ': ', '[', '${', '😀', '- '),
      )
      .map(([text, at, length, put]) => {
        const from = text.length === 0 ? 0 : at % text.length;
        return text.slice(0, from) + put + text.slice(from + length);
      });
    fc.assert(
      fc.property(mutated, (text) => expectPlaced(check(Buffer.from(text)))),
      { numRuns: moreRuns(600) },
    );
  });

  it('the first document is judged alike whatever stands in the second', () => {
    const first = 'kind: Agent\nname: a\ndialct: tags\n';
    const [expected] = check(Buffer.from(first)).diagnostics;
    fc.assert(
      fc.property(fc.constantFrom(...corpus), (second) => {
        fc.pre(!second.startsWith('%'));
        expect(check(Buffer.from(`${first}---\n${second}`)).diagnostics[0]).toEqual(expected);
      }),
    );
  });
});

describe('the width on a terminal', () => {
  it.each([
    ['abc', 3],
    ['日本語', 6],
    ['e\u0301', 1],
    ['😀', 2],
    ['👩‍💻', 2],
    ['한글', 4],
    ['ﾊﾝ', 2],
    ['→', 1],
    ['', 0],
  ])('of %s is %i', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

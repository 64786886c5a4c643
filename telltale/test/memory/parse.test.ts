import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { LANGUAGES, type Language } from '../../src/memory/memory.ts';
import { languageOf } from '../../src/memory/parse/language-of.ts';
import { MAX_CALLS, MAX_CHARS, MAX_SIGNATURE, MAX_SYMBOLS } from '../../src/memory/parse/reading.ts';
import { createSourceParser, loadEngine, loadGrammar } from '../../src/memory/parse/source-parser.ts';
import { moreRuns } from '../more-runs.ts';
import { said } from './said.ts';

const BUDGET_MS = 60_000;
/** Megabytes are read here, on machines that may have other work. */
const PATIENCE_MS = 60_000;
const parser = createSourceParser();
afterAll(() => parser.close());

const read = (language: Language, fixture: string) =>
  parser.parse(language, readFileSync(new URL(`fixtures/${fixture}`, import.meta.url), 'utf8'), BUDGET_MS);
const parse = (language: Language, text: string) => parser.parse(language, text, BUDGET_MS);

test('the language of a file is known by its extension, in any case', () => {
  const known = ['a.ts', 'a.mts', 'a.cts', 'b/a.TSX', 'a.js', 'a.mjs', 'a.cjs', 'a.jsx', 'a.py', 'a.pyi'];
  const more = ['a.go', 'a.rs', 'A.java', 'README.md', 'a.markdown', 'a.d.ts'];
  expect([...known, ...more].map(languageOf)).toEqual([
    'typescript',
    'typescript',
    'typescript',
    'tsx',
    'javascript',
    'javascript',
    'javascript',
    'javascript',
    'python',
    'python',
    'go',
    'rust',
    'java',
    'markdown',
    'markdown',
    'typescript',
  ]);
  expect(['Makefile', 'a.txt', '.gitignore', 'a.constructor', 'a.', ''].map(languageOf)).toEqual(
    Array.from({ length: 6 }, () => undefined),
  );
});

describe('what a file says', () => {
  test('TypeScript with elements: declarations, imports and calls are found, and locals, members of literals and anonymous classes are not', async () => {
    const file = await read('tsx', 'module.tsx.txt');
    expect(file.broken).toBe(false);
    expect(said(file)).toEqual({
      symbols: [
        '10-10 variable MAX +',
        '11-11 variable least +',
        '12-12 variable first',
        '12-12 variable second',
        '12-12 variable rest',
        '13-16 variable table',
        '19-19 function double +',
        '25-34 function greet +',
        '29-31 function greet.inner',
        '38-58 class Store +',
        '39-39 field Store.limit +',
        '40-40 field Store.#secret',
        '41-43 method Store.onChange +',
        '44-49 method Store.constructor +',
        '45-45 field Store.path',
        '46-46 field Store.name +',
        '51-53 method Store.size +',
        '54-54 method Store.load +',
        '56-56 method Store.hidden',
        "57-57 method Store.['computed' + 1] +",
        '60-66 interface Port +',
        '61-61 field Port.id +',
        '62-63 method Port.send +',
        '64-64 field Port.nested +',
        '67-67 type Alias +',
        '67-67 field Alias.field +',
        '67-67 method Alias.method +',
        '68-68 type Union',
        '69-72 enum Color +',
        '70-70 field Color.Red +',
        '71-71 field Color.Green +',
        '73-76 module Outer.Inner +',
        '74-74 variable Outer.Inner.value +',
        '75-75 variable Outer.Inner.hidden',
        '77-79 module other',
        '78-78 function other.ambient +',
        '80-84 module global +',
        '81-83 interface global.Window +',
        '82-82 field global.Window.extra +',
        '85-85 class Local +',
        '89-89 function inBlock',
        '91-93 class Held',
        '92-92 field Held.member',
        '94-101 function default +',
        '102-105 function lazy',
      ],
      imports: [
        '1 ./base.ts: default, run, Kind',
        '2 node:fs: *',
        '3 legacy: *',
        '4 ./side-effect.ts: ',
        '5 export ./all.ts: *',
        '6 export ./some.ts: one, two',
        '7 export ./shape.ts: Shape',
        '103 ./part.ts: part',
      ],
      calls: [
        '12 run < first',
        '28 run < greet',
        '30 local < greet.inner',
        '32 legacy.call < greet',
        '33 all.readFileSync < greet',
        '33 inner < greet',
        '37 sealed',
        '38 mixin < Store',
        '40 Map < Store.#secret',
        '42 this.emit < Store.onChange',
        '52 this.store.items.count < Store.size',
        '55 logged < Store',
        '96 Panel.Head < default',
        '96 double < default',
        '97 Item < default',
        '98 Outer.Thing < default',
        '104 part < lazy',
      ],
    });
  });

  test('JavaScript: what CommonJS sets on exports and prototypes is declared, what it requires is imported', async () => {
    const file = await read('javascript', 'script.js.txt');
    expect(file.broken).toBe(false);
    expect(said(file)).toEqual({
      symbols: [
        '5-5 function Thing +',
        '6-6 method Thing.run +',
        '7-7 method Thing.of +',
        '8-8 function go +',
        '9-9 variable limit +',
        '10-10 class K +',
        '10-10 method K.m +',
        '12-12 function other +',
        '13-13 class P',
        '13-13 field P.#x',
        '13-13 method P.s',
        '13-13 method P.v',
        '13-13 method P.quoted name',
        '14-14 class default +',
        '15-15 variable el',
        '17-17 function lazy',
      ],
      imports: ['2 ./x: a, b', '3 y: z', '17 ./lazy.js: w', '17 ./two.js: go'],
      calls: [
        '6 a < Thing.run',
        '7 Thing < Thing.of',
        '13 tag < P.s',
        '15 Panel.Head < el',
        '15 Item < el',
        '17 go < lazy',
      ],
    });
  });

  test('Python: names are declared where they are first set, overloads are one, __all__ exports', async () => {
    const file = await read('python', 'things.py');
    expect(file.broken).toBe(false);
    expect(said(file)).toEqual({
      symbols: [
        '10-10 variable LIMIT +',
        '11-11 variable A +',
        '11-11 variable B +',
        '11-11 variable _C',
        '13-13 type Alias +',
        '14-14 function double +',
        '15-15 variable __all__ +',
        '19-43 class K +',
        '21-21 field K.field +',
        '23-26 method K.__init__ +',
        '24-24 field K.v +',
        '29-30 method K.p +',
        '32-35 method K._am',
        '33-34 function K._am.inner',
        '38-43 method K.o +',
        '45-45 function _secret +',
        '49-49 variable fast +',
        '50-50 function fallback +',
      ],
      imports: [
        '2 os: *',
        '2 sys: *',
        '3 a.b.c: *',
        '4 .: x',
        '5 ..pkg.mod: f, h',
        '6 z: *',
        '7 __future__: annotations',
        '47 fast: *',
        '51 plug.in: *',
      ],
      calls: [
        '17 dec',
        '18 mod.make',
        '26 __init__ < K.__init__',
        '28 property < K',
        '30 self.q.r < K.p',
        '34 f < K._am.inner',
        '35 foo < K._am',
        '35 bar < K._am',
        '37 overload < K',
        '39 overload < K',
      ],
    });
  });

  test('Go: methods stand in the type of their receiver, groups and generic calls are read', async () => {
    const file = await read('go', 'things.go');
    expect(file.broken).toBe(false);
    expect(said(file)).toEqual({
      symbols: [
        '13-17 class T +',
        '14-14 field T.A +',
        '14-14 field T.b',
        '16-16 field T.inner',
        '21-24 interface I +',
        '22-22 method I.M +',
        '25-25 type Al +',
        '26-26 type G +',
        '30-30 variable Max +',
        '32-32 variable X +',
        '33-33 variable Y +',
        '33-33 variable z',
        '36-36 function run',
        '39-46 function F +',
        '47-47 method T.M +',
        '48-48 method G.n',
        '49-49 method q',
      ],
      imports: ['4 fmt: *', '6 a/b: *', '7 dot: *', '8 blank: ', '9 plain/pkg: *'],
      calls: [
        '36 foo < run',
        '40 g < F',
        '41 h.I < F',
        '42 k.l.m < F',
        '43 Map < F',
        '45 pkg.T < F',
        '45 G < F',
        '45 fmt.Errorf < F',
      ],
    });
  });

  test('Rust: methods stand in the type that they are implemented for, each leaf of a use tree is an import', async () => {
    const file = await read('rust', 'things.rs');
    expect(file.broken).toBe(false);
    expect(said(file)).toEqual({
      symbols: [
        '7-7 module inline +',
        '7-7 function inline.g +',
        '10-10 class S +',
        '10-10 field S.a +',
        '10-10 field S.b',
        '11-11 class U',
        '12-12 enum E +',
        '12-12 field E.A +',
        '12-12 field E.B +',
        '12-12 field E.C +',
        '13-19 interface Tr +',
        '14-14 field Tr.K +',
        '15-15 type Tr.Out +',
        '16-16 method Tr.req +',
        '18-18 method Tr.def +',
        '21-24 method S.req +',
        '27-27 field S.Q +',
        '28-28 method S.new +',
        '28-28 function S.new.nested',
        '29-29 method S.hidden',
        '31-31 variable C +',
        '32-32 variable ST',
        '33-33 type Al',
        '35-35 function mac +',
        '36-36 class Un',
        '36-36 field Un.a',
        '37-37 function cfun',
      ],
      imports: [
        '2 std::fs: fs',
        '3 crate::a: *',
        '3 crate::a::b: b',
        '3 crate::a::d::e: e',
        '3 crate::a::d::f: f',
        '3 crate::a::g: *',
        '4 export super::x: x',
        '5 foo: *',
        '6 self::m: *',
      ],
      calls: [
        '18 self.req < Tr.def',
        '22 helper < S.req',
        '22 Self.make < S.req',
        '22 S.new < S.req',
        '22 a::b.c < S.req',
        '22 vec < S.req',
        '22 x.y.z < S.req',
        '22 parse < S.req',
        '22 b < S.req',
        '23 S < S.req',
        '28 E.B < S.new',
      ],
    });
  });

  test('Rust: calls in what is handed to a macro are found, those of attributes are none', async () => {
    const text =
      '#[cfg(any(unix, not(windows)))]\nfn main() {\n  println!("{}", price(1) + cart.total(tax[0]));\n' +
      '  assert_eq!(Cart::new(), vec![self.make(), S { a: one() }]);\n}\n';
    expect(said(await parse('rust', text)).calls.toSorted()).toEqual([
      '3 cart.total < main',
      '3 price < main',
      '3 println < main',
      '4 Cart.new < main',
      '4 assert_eq < main',
      '4 one < main',
      '4 self.make < main',
      '4 vec < main',
    ]);
  });

  test('Java: members of interfaces are public, anonymous classes have no members', async () => {
    const file = await read('java', 'Things.java');
    expect(file.broken).toBe(false);
    expect(said(file)).toEqual({
      symbols: [
        '8-25 class A +',
        '9-9 field A.X',
        '9-9 field A.Y',
        '10-10 field A.names +',
        '11-11 method A.A +',
        '14-17 method A.m +',
        '18-18 method A.n',
        '19-19 enum A.In',
        '19-19 field A.In.P',
        '19-19 field A.In.Q',
        '19-19 field A.In.f',
        '19-19 method A.In.In',
        '20-20 interface A.I2',
        '20-20 method A.I2.q',
        '20-20 method A.I2.r',
        '20-20 field A.I2.K',
        '21-21 class A.R',
        '21-21 field A.R.a',
        '21-21 field A.R.b',
        '21-21 method A.R.R',
        '21-21 method A.R.s',
        '22-22 interface A.An2',
        '22-22 method A.An2.value',
        '23-23 field A.r',
        '26-26 class Z',
      ],
      imports: ['2 java.util.List: List', '3 java.util: *', '4 java.lang.Math: max', '5 org.junit.Assert: *'],
      calls: [
        '7 Ann < A',
        '11 Foo < A.A',
        '13 Override < A.m',
        '15 helper < A.m',
        '15 this.help < A.m',
        '15 Util.call < A.m',
        '15 a.b.c < A.m',
        '15 bar < A.m',
        '15 foo < A.m',
        '16 Outer.Inner < A.m',
        '21 check < A.R.R',
        '23 Runnable < A.r',
        '23 go < A.r',
        '24 init < A',
      ],
    });
  });

  test('Markdown: headings nest, and code, comments and front matter hold none', async () => {
    const file = await read('markdown', 'guide.md');
    expect(file.broken).toBe(false);
    expect(said(file)).toEqual({
      symbols: [
        '5-29 heading First title +',
        '9-16 heading First title.Second +',
        '17-26 heading First title.Third of two lines +',
        '24-26 heading First title.Third of two lines.Deep code link +',
        '27-29 heading First title.Again +',
        '30-32 heading Last +',
      ],
      imports: ['7 docs/a.md: *', '22 img/x y.png: *', '22 ../b.md: *', '24 c.md: *', '29 ./ref.md: *'],
      calls: [],
    });
  });
});

describe('what is said of a symbol', () => {
  const first = async (language: Language, text: string) => (await parse(language, text)).symbols[0]!;

  test('a signature is the head on one line, bounded, without the body', async () => {
    const signature = async (text: string) => (await first('typescript', text)).signature;
    expect(
      await signature('export async function f(\n  a: string,\n  b = 1,\n): Promise<void> {\n  go();\n}'),
    ).toBe('async function f(a: string, b = 1): Promise<void>');
    expect(await signature('const f = async <T>(a: T) => {\n};')).toBe('const f = async <T>(a: T) =>');
    expect(await signature('export const MAX = 1_000;')).toBe('const MAX = 1_000');
    expect(await signature('const table: Table = {\n  a: 1,\n};')).toBe('const table: Table = …');
    const long = await signature(`function f(${'argument: string, '.repeat(100)}) {}`);
    expect(long).toHaveLength(MAX_SIGNATURE);
    expect(long.endsWith('…')).toBe(true);
  });

  test('the doc is the first sentence of the comment directly before it, also before decorators', async () => {
    const doc = async (text: string, language: Language = 'typescript') => (await first(language, text)).doc;
    expect(await doc('/** Runs it, e.g. now. And then\n * more. */\nexport class A {}')).toBe(
      'Runs it, e.g. now.',
    );
    expect(await doc('/**\n * Over two\n * lines\n *\n * and a part\n */\nfunction f() {}')).toBe(
      'Over two lines',
    );
    expect(await doc('// One line\n// and one more. Rest.\nconst a = 1;')).toBe('One line and one more.');
    expect(await doc('/** Seen. */\n@sealed\n@other()\nexport class A {}')).toBe('Seen.');
    expect(await doc('/** Seen. */\r\nfunction f() {}\r\n')).toBe('Seen.');
    expect(await doc('/** Not this. */\n\nfunction f() {}')).toBeUndefined();
    expect(await doc('go(); // Not this.\nfunction f() {}')).toBeUndefined();
    expect(await doc('// biome-ignore lint: because\nfunction f() {}')).toBeUndefined();
    expect(await doc('/** @internal */\nfunction f() {}')).toBeUndefined();
    expect(await doc('def f():\n    """Does it. More."""\n', 'python')).toBe('Does it.');
    expect(await doc('/// Does it. More.\n#[inline]\npub fn f() {}', 'rust')).toBe('Does it.');
    expect(await doc('// F does it. More.\nfunc F() {}', 'go')).toBe('F does it.');
    expect(await doc('/** Does it. More. */\n@Deprecated\nclass A {}', 'java')).toBe('Does it.');
    expect(await doc('# Title\n\nSay **this**. Not that.\n', 'markdown')).toBe('Say this.');
  });

  test('a call of an imported name is a call of what it is called there', async () => {
    const { calls } = await parse('typescript', "import { run as go } from './run.ts';\ngo();\nother.go();");
    expect(calls).toEqual([
      { name: 'run', line: 2 },
      { name: 'go', receiver: 'other', line: 3 },
    ]);
  });

  test('a place behind characters of two units and in lines that end with CRLF is counted right', async () => {
    const file = await parse(
      'typescript',
      "\uFEFFconst a = '😀é';\r\n\r\nfunction b() {\r\n  run('😀');\r\n}\r\n",
    );
    expect(said(file)).toEqual({
      symbols: ['1-1 variable a', '3-5 function b'],
      imports: [],
      calls: ['4 run < b'],
    });
    expect(file.symbols[0]!.signature).toBe("const a = '😀é'");
  });

  test('what the TypeScript grammar misreads is mended: variance, call signatures without semicolons, backticks in types', async () => {
    const text = [
      'export interface Box<in out A, out B> {',
      '  <T>(value: T): Box<T, B>',
      '  // another',
      '  <T, U>(value: T, other: U): Box<T, U>',
      '  readonly size: number',
      '}',
      'type Hint = `use \\`Box\\``',
      'export const after = 1',
    ].join('\n');
    const file = await parse('typescript', text);
    expect(file.broken).toBe(false);
    expect(said(file).symbols).toEqual([
      '1-6 interface Box +',
      '5-5 field Box.size +',
      '7-7 type Hint',
      '8-8 variable after +',
    ]);
    expect(file.symbols[0]!.signature).toBe('interface Box<in out A, out B>');
  });
});

describe('bad input', { timeout: PATIENCE_MS }, () => {
  test('a broken file is called so, and what could be read of it is there', async () => {
    const file = await parse(
      'typescript',
      'export function good() { run(); }\nclass { oops(\nfunction also() {}\n',
    );
    expect(file.broken).toBe(true);
    expect(file.symbols.map(({ name }) => name)).toContain('good');
    expect(file.calls).toContainEqual({ name: 'run', line: 1, from: 0 });
  });

  test.each(LANGUAGES)('%s: no text, blanks, NUL characters and noise have a reading', async (language) => {
    expect(await parse(language, '')).toEqual({
      language,
      symbols: [],
      imports: [],
      calls: [],
      broken: false,
    });
    for (const text of [
      ' \n\t\r\n',
      '\uFEFF',
      '\0\0\0',
      'a\0b(\0)',
      '}}}}',
      '((((',
      '"""',
      '\uD800',
      '/*',
      '`${',
    ])
      expect((await parse(language, text)).language).toBe(language);
  });

  test('10,000 levels of nesting are read in every language', async () => {
    const deep = 10_000;
    for (const language of LANGUAGES)
      for (const [open, close] of [
        ['(', ')'],
        ['{', '}'],
        ['f(', ')'],
      ] as const)
        await parse(language, `${open.repeat(deep)}${close.repeat(deep)}`);
    const functions = await parse('typescript', `${'function f() {'.repeat(deep)}${'}'.repeat(deep)}`);
    expect(functions.symbols).toHaveLength(deep);
    expect(functions.symbols[deep - 1]!.container).toBe(deep - 2);
  });

  test('more symbols and calls than are kept are left out, and the file says so', async () => {
    const file = await parse('typescript', 'function f(){}\n'.repeat(2 * MAX_SYMBOLS));
    expect([file.symbols.length, file.broken]).toEqual([MAX_SYMBOLS, true]);
    const calling = await parse('typescript', 'g();'.repeat(MAX_CALLS + 1));
    expect([calling.calls.length, calling.broken]).toEqual([MAX_CALLS, true]);
    const headings = await parse('markdown', '# a\n'.repeat(100_000));
    expect([headings.symbols.length, headings.broken]).toEqual([MAX_SYMBOLS, true]);
  });

  test('of a text that is too long the beginning is read', async () => {
    const file = await parse(
      'typescript',
      `function first() {}\n${' '.repeat(MAX_CHARS)}\nfunction last() {}`,
    );
    expect(file.symbols.map(({ name }) => name)).toEqual(['first']);
    expect(file.broken).toBe(true);
  });

  test('a minified line of a megabyte is read', async () => {
    const part = `var a=function(b){return c.d(b,"${'x'.repeat(300)}")};`;
    const file = await parse('javascript', part.repeat(Math.ceil(1024 ** 2 / part.length)));
    expect(file.broken).toBe(false);
    expect(file.symbols.at(-1)).toMatchObject({ name: 'a', kind: 'function', line: 1 });
    expect(file.calls.at(-1)).toEqual({ name: 'd', receiver: 'c', line: 1, from: file.symbols.length - 1 });
  });

  test('a text that takes longer than its budget is broken, and the next one is read as ever', async () => {
    const late = await parser.parse('typescript', 'f(1);\n'.repeat(100_000), 0);
    expect(late).toEqual({ language: 'typescript', symbols: [], imports: [], calls: [], broken: true });
    expect((await parser.parse('markdown', '# a [b](c.md)\n'.repeat(10_000), -1)).broken).toBe(true);
    expect(said(await parse('typescript', 'const a = 1;')).symbols).toEqual(['1-1 variable a']);
  });

  test('any text in any language keeps the contract: containers come first, lines are in order', async () => {
    const words = [
      'function ',
      'class A {',
      '}',
      '(',
      ')',
      'export ',
      'def f',
      ':\n  ',
      'fn g',
      'impl B {',
      '# h\n',
      '`',
    ];
    const text = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 5 })), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...LANGUAGES), text, async (language, parts) => {
        const { symbols, calls } = await parse(language, parts.join(''));
        for (const [index, { container, line, endLine, name, signature }] of symbols.entries()) {
          expect(container ?? -1).toBeLessThan(index);
          expect(line).toBeGreaterThan(0);
          expect(endLine).toBeGreaterThanOrEqual(line);
          expect(name).not.toBe('');
          expect(signature).not.toMatch(/\n/);
        }
        for (const { from } of calls) expect(from ?? -1).toBeLessThan(symbols.length);
      }),
      { numRuns: moreRuns(300) },
    );
  });

  test('2,000 files leave nothing behind in the memory of the engine', async () => {
    const text = readFileSync(new URL('../../src/memory/parse/language-of.ts', import.meta.url), 'utf8');
    const pass = async () => {
      for (let count = 0; count < 1_000; count += 1) {
        await parse('typescript', count % 10 === 0 ? `${text}\nclass {` : text);
        if (count % 100 === 0) await parser.parse('typescript', text, 0);
      }
      return process.memoryUsage().external;
    };
    const before = await pass();
    expect((await pass()) - before).toBeLessThan(4 * 1024 * 1024);
  });

  test('a grammar that is not there is named, with what to do', async () => {
    const loading = loadGrammar(await loadEngine(), { wasm: 'tree-sitter-cobol.wasm', visits: {} });
    await expect(loading).rejects.toMatchObject({
      code: 'grammar_unreadable',
      message: expect.stringContaining('tree-sitter-cobol.wasm'),
      hint: expect.stringContaining('install'),
    });
  });

  test('parsers are independent, and one that was closed reads again', async () => {
    const other = createSourceParser();
    const [one, two] = await Promise.all([
      other.parse('go', 'func F() {}', BUDGET_MS),
      parse('go', 'func G() {}'),
    ]);
    expect([one.symbols[0]!.name, two.symbols[0]!.name]).toEqual(['F', 'G']);
    other.close();
    expect((await other.parse('go', 'func H() {}', BUDGET_MS)).symbols[0]!.name).toBe('H');
    other.close();
  });
});

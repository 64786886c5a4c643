import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SourceParser } from '../../src/memory/memory.ts';
import { createSourceParser } from '../../src/memory/parse/source-parser.ts';
import { OWN_SOURCES, PACKAGES, type Unpacked, unpackPackages } from './oracle/code-bases.ts';
import { compareFolder } from './oracle/compare.ts';
import { compareGraph } from './oracle/compare-graph.ts';
import { listByCompiler } from './oracle/compiler-list.ts';

const PATIENCE_MS = 120_000;
const DECLARATIONS = 0.97;
const IMPORTS = 0.99;
const CALLERS = 0.95;

const parser = createSourceParser();
let unpacked: Unpacked | undefined;
beforeAll(async () => {
  unpacked = await unpackPackages(PACKAGES);
}, PATIENCE_MS);
afterAll(async () => {
  parser.close();
  await unpacked?.remove();
});

/** Every so many files of each: a part is as good a sample as the whole, and quicker. */
const SHARES: Readonly<Record<string, number>> = { 'this package': 8, 'rxjs@7.8.2': 1, 'zod@4.1.12': 3 };

describe('beside the compiler', { timeout: PATIENCE_MS }, () => {
  test.each([
    ['this package', () => OWN_SOURCES],
    ...PACKAGES.map((name) => [name, () => unpacked!.sources.get(name)!] as const),
  ] as const)('%s: at least 97 of 100 declarations and 99 of 100 imports are its', async (name, folder) => {
    const { files, declarations, imports } = await compareFolder(folder(), parser, SHARES[name]);
    expect(files).toBeGreaterThan(80);
    expect(declarations.expected).toBeGreaterThan(500);
    expect(imports.expected).toBeGreaterThan(200);
    expect(declarations.recall, declarations.missing.slice(0, 20).join('\n')).toBeGreaterThanOrEqual(
      DECLARATIONS,
    );
    expect(declarations.precision, declarations.surplus.slice(0, 20).join('\n')).toBeGreaterThanOrEqual(
      DECLARATIONS,
    );
    expect(imports.recall, imports.missing.slice(0, 20).join('\n')).toBeGreaterThanOrEqual(IMPORTS);
    expect(imports.precision, imports.surplus.slice(0, 20).join('\n')).toBeGreaterThanOrEqual(IMPORTS);
  });
});

test(
  'of a package that is in the graph 99 of 100 imports lead where the compiler says, and callers of functions are theirs',
  async () => {
    const { edges, callers } = await compareGraph(unpacked!.sources.get('rxjs@7.8.2')!, 40);
    expect(edges.expected).toBeGreaterThan(1_000);
    expect(edges.recall, edges.missing.slice(0, 20).join('\n')).toBeGreaterThanOrEqual(IMPORTS);
    expect(edges.precision, edges.surplus.slice(0, 20).join('\n')).toBeGreaterThanOrEqual(IMPORTS);
    expect(callers).toMatchObject({ functions: 40 });
    expect(callers?.resolved.recall, callers?.resolved.missing.join('\n')).toBeGreaterThanOrEqual(CALLERS);
    expect(callers?.resolved.precision, callers?.resolved.surplus.join('\n')).toBeGreaterThanOrEqual(CALLERS);
  },
  PATIENCE_MS,
);

test('the comparison finds what our reading loses or invents', async () => {
  const lossy: SourceParser = {
    ...parser,
    async parse(...args) {
      const file = await parser.parse(...args);
      const symbols = file.symbols.filter((_, index) => index % 10 !== 0);
      return { ...file, symbols, imports: [...file.imports, { specifier: 'invented', line: 1, names: [] }] };
    },
  };
  const compared = await compareFolder(unpacked!.sources.get('zod@4.1.12')!, lossy, 20);
  expect(compared.declarations.recall).toBeLessThan(DECLARATIONS);
  expect(compared.declarations.precision).toBe(1);
  expect(compared.imports.precision).toBeLessThan(IMPORTS);
});

test('the list of the compiler holds what is declared and leaves locals out', () => {
  const text = `import { a } from './a.ts';
    export function f(): void; export function f(b?: string) { const local = 1; function inner() {} }
    class C { x = 1; m() {} get g() { return import('./lazy.ts'); } }
    const { p, q: [r] } = a, h = () => 1;
    type T = import('./types.ts').T;`;
  const { declarations, imports } = listByCompiler('x.ts', text);
  expect(declarations.map(({ kind, name, line }) => `${line} ${kind} ${name}`)).toEqual([
    ...['2 function f', '2 function inner', '3 class C', '3 field x', '3 method m', '3 method g'],
    ...['4 variable p', '4 variable r', '4 function h', '5 type T'],
  ]);
  expect(imports).toEqual(['./a.ts', './lazy.ts', './types.ts']);
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { compareWithRatchet, lowerRatchet, measureHouse } from '../check/house.ts';

const root = mkdtempSync(join(tmpdir(), 'house-'));
afterAll(() => rmSync(root, { recursive: true }));

const FILES: Readonly<Record<string, string>> = {
  'telltale/src/index.ts': "export { add, type Sum } from './lib/add.ts';\n",
  'telltale/src/lib/add.ts': [
    "import { one } from './one.ts';",
    'export interface Sum { readonly value: number }',
    'interface AddEdges { readonly a: number }',
    'export const add = (edges: AddEdges): Sum => ({ ...{ value: edges.a + one } });',
    'export const rest = { ...add({ a: 1 }) };',
  ].join('\n'),
  'telltale/src/lib/one.ts': 'export const one = 1;\n',
  'telltale/src/lib/late.ts':
    "export interface Sum { readonly late: true }\nexport const load = () => import('./heavy.ts');\n",
  'telltale/src/lib/heavy.ts':
    'export function size(this: string, of: unknown) {\n  return of instanceof Promise ? 0 : this.length;\n}\n',
  'telltale/test/agent/turn.test.ts': "import { turn } from '../../src/agent/turn.ts';\nturn();\n",
  'telltale/test/agent/public.test.ts': "import { add } from '../../src/index.ts';\nadd({ a: 1 });\n",
  'console/src/main.tsx': 'export const main = <p />;\n',
};
for (const [path, text] of Object.entries(FILES)) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

describe('the figures of the codebase', () => {
  test('count each trick, homonym and lonely file once', () => {
    const { sizes, held } = measureHouse(root);
    expect(sizes).toMatchObject({ 'source files': 5, 'console files': 1 });
    expect(held).toMatchObject({
      // add.ts and one.ts. heavy.ts is only loaded late and does not count; nobody imports index.ts and late.ts.
      'files with one importer, %': 50,
      'type names declared in several files': 1,
      'literals spread in place': 1,
      'this: parameters': 1,
      'interfaces named *Edges': 1,
      'instanceof Promise outside the parser': 1,
      'names exported by the main entry': 2,
      'tests that import agent internals': 1,
    });
  });

  test('fail when one is worse than the ratchet, or when the ratchet lacks it', () => {
    const ratchet = { spreads: 2, walk: 55 };
    expect(compareWithRatchet({ spreads: 2, walk: 54 }, ratchet)).toEqual([]);
    expect(compareWithRatchet({ spreads: 3, walk: 55 }, ratchet)).toEqual([
      'spreads: 3, and the ratchet allows 2',
    ]);
    expect(lowerRatchet({ spreads: 3, walk: 50, new: 7 }, ratchet)).toEqual({ spreads: 2, walk: 50, new: 7 });
    expect(compareWithRatchet({ new: 0 }, ratchet)).toEqual([expect.stringContaining('--update" adds it')]);
  });
});

/** A breach of the import table, the files that commit it, and how the check must report it. */
export interface PlantedBreach {
  readonly claim: string;
  /** File contents by path, relative to the root of the copy. */
  readonly files: Readonly<Record<string, string>>;
  readonly rule: string;
  /** The file that the report must name. */
  readonly file: string;
}

const SRC = 'telltale/src';
const globals = 'lint/style/noRestrictedGlobals';

export const PLANTED_BREACHES: readonly PlantedBreach[] = [
  {
    claim: 'a folder may not import a folder that its row of the table does not name',
    files: {
      [`${SRC}/lib/planted-up.ts`]: "export { planted } from '../parser/planted-plain.ts';\n",
      [`${SRC}/parser/planted-plain.ts`]: 'export const planted = 1;\nexport type Planted = 1;\n',
    },
    rule: 'lib-imports',
    file: `${SRC}/lib/planted-up.ts`,
  },
  {
    claim: 'an import of a type counts like any other',
    files: {
      [`${SRC}/lib/planted-type.ts`]:
        "import type { Planted } from '../parser/planted-plain.ts';\nexport const one: Planted = 1;\n",
    },
    rule: 'lib-imports',
    file: `${SRC}/lib/planted-type.ts`,
  },
  {
    claim: 'an import inside a type expression counts like any other',
    files: {
      [`${SRC}/lib/planted-type-expression.ts`]:
        "export type Planted = import('../parser/planted-plain.ts').Planted;\n",
    },
    rule: 'lib-imports',
    file: `${SRC}/lib/planted-type-expression.ts`,
  },
  {
    claim: 'a dynamic import counts like any other',
    files: {
      [`${SRC}/lib/planted-dynamic.ts`]:
        "export const planted = () => import('../parser/planted-plain.ts');\n",
    },
    rule: 'lib-imports',
    file: `${SRC}/lib/planted-dynamic.ts`,
  },
  {
    claim: 'no folder may import the public entry',
    files: { [`${SRC}/parser/planted-entry.ts`]: "export { RuntimeError } from '../index.ts';\n" },
    rule: 'parser-imports',
    file: `${SRC}/parser/planted-entry.ts`,
  },
  {
    claim: 'the rules apply to the first file of a folder',
    files: {
      [`${SRC}/scheduler/planted.ts`]: "export { planted } from '../agent/planted.ts';\n",
      [`${SRC}/agent/planted.ts`]: 'export const planted = 1;\n',
    },
    rule: 'scheduler-imports',
    file: `${SRC}/scheduler/planted.ts`,
  },
  {
    claim: 'a folder that is not in the table is reported',
    files: { [`${SRC}/utils/planted.ts`]: 'export const planted = 1;\n' },
    rule: 'folder-in-table',
    file: `${SRC}/utils`,
  },
  {
    claim: 'two files may not import each other',
    files: {
      [`${SRC}/lib/planted-circle-a.ts`]:
        "import { b } from './planted-circle-b.ts';\nexport const a = () => b;\n",
      [`${SRC}/lib/planted-circle-b.ts`]:
        "import { a } from './planted-circle-a.ts';\nexport const b = () => a;\n",
    },
    rule: 'no-cycle',
    file: `${SRC}/lib/planted-circle-a.ts`,
  },
  {
    claim: 'two files may not import each other, not even types',
    files: {
      [`${SRC}/lib/planted-types-a.ts`]:
        "import type { B } from './planted-types-b.ts';\nexport type A = B | 1;\n",
      [`${SRC}/lib/planted-types-b.ts`]:
        "import type { A } from './planted-types-a.ts';\nexport type B = { a: A };\n",
    },
    rule: 'no-cycle',
    file: `${SRC}/lib/planted-types-a.ts`,
  },
  {
    claim: 'the parser uses no Node built-in',
    files: { [`${SRC}/parser/planted-node.ts`]: "export { readFileSync } from 'node:fs';\n" },
    rule: 'parser-is-pure',
    file: `${SRC}/parser/planted-node.ts`,
  },
  {
    claim: 'lib/ uses no npm package',
    files: { [`${SRC}/lib/planted-npm.ts`]: "export { z } from 'zod';\n" },
    rule: 'lib-is-pure',
    file: `${SRC}/lib/planted-npm.ts`,
  },
  {
    claim: 'lib/ uses no npm package, wherever npm has put it',
    files: { [`${SRC}/lib/planted-nested-npm.ts`]: "export { Command } from 'commander';\n" },
    rule: 'lib-is-pure',
    file: `${SRC}/lib/planted-nested-npm.ts`,
  },
  {
    claim: 'expressions/ uses only the npm packages of the table',
    files: {
      [`${SRC}/expressions/planted-npm.ts`]: "export { z } from 'zod';\nexport { RE2JS } from 're2js';\n",
    },
    rule: 'expressions-is-pure',
    file: `${SRC}/expressions/planted-npm.ts`,
  },
  {
    claim: 'only the cli imports node:process',
    files: { [`${SRC}/manifest/planted-process.ts`]: "export { env } from 'node:process';\n" },
    rule: 'process-reader',
    file: `${SRC}/manifest/planted-process.ts`,
  },
  {
    claim: 'lib/ may not read the global process',
    files: { [`${SRC}/lib/planted-global.ts`]: 'export const planted = process.pid;\n' },
    rule: globals,
    file: `${SRC}/lib/planted-global.ts`,
  },
  {
    claim: 'manifest/ may not read the global process',
    files: { [`${SRC}/manifest/planted-global.ts`]: 'export const planted = process.env.HOME;\n' },
    rule: globals,
    file: `${SRC}/manifest/planted-global.ts`,
  },
  {
    claim: 'the parser uses no Buffer',
    files: { [`${SRC}/parser/planted-buffer.ts`]: "export const planted = Buffer.from('');\n" },
    rule: globals,
    file: `${SRC}/parser/planted-buffer.ts`,
  },
  {
    claim: 'the console may import only the folders that the table gives it',
    files: {
      'console/src/planted.ts':
        "export { planted } from '../../telltale/src/agent/planted.ts';\nexport { planted as event } from '../../telltale/src/log/planted.ts';\n",
      [`${SRC}/log/planted.ts`]: 'export const planted = 1;\n',
    },
    rule: 'console-imports',
    file: 'console/src/planted.ts',
  },
  {
    claim: 'an import that does not resolve is reported',
    files: { [`${SRC}/manifest/planted-nowhere.ts`]: "export { planted } from './nowhere.ts';\n" },
    rule: 'resolvable',
    file: `${SRC}/manifest/planted-nowhere.ts`,
  },
];

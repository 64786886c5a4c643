import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FOLDERS } from './import-table.ts';
import { type Breach, findRestrictedGlobals, type Inspection, inspectImports } from './inspect-imports.ts';
import { PLANTED_BREACHES } from './planted-breaches.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');

let found: Inspection;
beforeAll(async () => {
  found = await inspectImports(root);
});

describe('the import table', () => {
  test('the check reads every source file', () => {
    const files = sourceFiles(join(root, 'telltale', 'src'));
    expect(files.length).toBeGreaterThan(0);
    expect(found.files).toEqual(expect.arrayContaining([...files]));
  });

  test('no folder imports one that the table does not give it', () => {
    expect(found.breaches).toEqual([]);
  });

  test('the table names only folders that are in it', () => {
    const named = Object.values(FOLDERS).flatMap(({ imports }) => imports);
    expect(named.filter((name) => !Object.hasOwn(FOLDERS, name))).toEqual([]);
  });

  test('the table itself has no cycle', () => {
    const reach = (name: string, path: readonly string[]): readonly string[] =>
      path.includes(name)
        ? [...path, name]
        : (FOLDERS[name]?.imports.flatMap((next) => reach(next, [...path, name])) ?? []);
    expect(Object.keys(FOLDERS).flatMap((name) => reach(name, []))).toEqual([]);
  });
});

describe('the check can fail', () => {
  let copy: string;
  let breaches: readonly Breach[];

  beforeAll(async () => {
    copy = mkdtempSync(join(tmpdir(), 'telltale-imports-'));
    for (const path of ['telltale/src', 'telltale/package.json', 'package.json', 'biome.json']) {
      cpSync(join(root, path), join(copy, path), { recursive: true });
    }
    for (const path of ['node_modules', 'telltale/node_modules']) {
      if (existsSync(join(root, path))) symlinkSync(join(root, path), join(copy, path), 'junction');
    }
    for (const { files } of PLANTED_BREACHES) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(copy, path)), { recursive: true });
        writeFileSync(join(copy, path), text);
      }
    }
    breaches = [...(await inspectImports(copy)).breaches, ...(await findRestrictedGlobals(copy, biome))];
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  test.each(PLANTED_BREACHES)('planted: $claim', ({ rule, file }) => {
    expect(breaches.map((breach) => `${breach.rule} in ${breach.file}`)).toContain(`${rule} in ${file}`);
  });

  test('the check reports nothing else', () => {
    const planted = new Set(PLANTED_BREACHES.flatMap(({ files, file }) => [...Object.keys(files), file]));
    expect(breaches.filter(({ file }) => !planted.has(file))).toEqual(found.breaches);
  });
});

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `telltale/src/${name.replaceAll('\\', '/')}`);
}

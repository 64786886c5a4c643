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
import { type Breach, findRestrictedGlobals, type Inspection, inspectRooms } from './inspect-rooms.ts';
import { PLANTED_BREACHES } from './planted-breaches.ts';
import { ROOMS } from './room-table.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');

let found: Inspection;
beforeAll(async () => {
  found = await inspectRooms(root);
});

describe('the house', () => {
  test('every source file is read by the check', () => {
    const files = sourceFiles(join(root, 'telltale', 'src'));
    expect(files.length).toBeGreaterThan(0);
    expect(found.files).toEqual(expect.arrayContaining([...files]));
  });

  test('no room imports what the table does not give it', () => {
    expect(found.breaches).toEqual([]);
  });

  test('the table names only rooms that are in it', () => {
    const named = Object.values(ROOMS).flatMap(({ imports }) => imports);
    expect(named.filter((name) => !Object.hasOwn(ROOMS, name))).toEqual([]);
  });

  test('the table itself has no circle', () => {
    const reach = (name: string, path: readonly string[]): readonly string[] =>
      path.includes(name)
        ? [...path, name]
        : (ROOMS[name]?.imports.flatMap((next) => reach(next, [...path, name])) ?? []);
    expect(Object.keys(ROOMS).flatMap((name) => reach(name, []))).toEqual([]);
  });
});

describe('the check can fail', () => {
  let copy: string;
  let breaches: readonly Breach[];

  beforeAll(async () => {
    copy = mkdtempSync(join(tmpdir(), 'telltale-rooms-'));
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
    breaches = [...(await inspectRooms(copy)).breaches, ...(await findRestrictedGlobals(copy, biome))];
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  test.each(PLANTED_BREACHES)('planted: $claim', ({ rule, file }) => {
    expect(breaches.map((breach) => `${breach.rule} in ${breach.file}`)).toContain(`${rule} in ${file}`);
  });

  test('nothing is reported but what was planted', () => {
    const planted = new Set(PLANTED_BREACHES.flatMap(({ files, file }) => [...Object.keys(files), file]));
    expect(breaches.filter(({ file }) => !planted.has(file))).toEqual(found.breaches);
  });
});

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `telltale/src/${name.replaceAll('\\', '/')}`);
}

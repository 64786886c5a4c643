import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const entry = here('../../dist/protocol/index.js');

interface Realm {
  readonly modules: readonly string[];
  readonly result: unknown;
}

async function inBrowserRealm(entryFile: string, script: string): Promise<Realm> {
  const args = ['--experimental-vm-modules', '--no-warnings', here('./browser-realm.mjs'), entryFile, script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: here('../..') });
  return JSON.parse(stdout);
}

describe('telltale/protocol in a realm without Node', () => {
  test('is loaded from its own files alone', async () => {
    const { modules } = await inBrowserRealm(
      entry,
      "import * as entry from 'entry'; export const result = Object.keys(entry);",
    );
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.filter((path) => !/^dist[\\/](protocol|kernel)[\\/]/.test(path))).toEqual([]);
  });

  test('parses a turn', async () => {
    const { result } = await inBrowserRealm(
      entry,
      `import { createTagParser } from 'entry';
       const parser = createTagParser();
       export const result = [...parser.push('<thought>Look'), ...parser.push('.</thought>'), ...parser.end()];`,
    );
    expect(result).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'open', tag: 'thought' }),
        expect.objectContaining({ type: 'close', tag: 'thought' }),
      ]),
    );
  });
});

describe('the realm', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'telltale-realm-'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ['a static import of a built-in', "import 'node:fs';", 'imports "node:fs"'],
    ['a built-in without its prefix', "import 'fs';", 'imports "fs"'],
    ['a dynamic import of a built-in', "await import('node:fs');", 'imports "node:fs"'],
    ['an npm package', "import 'zod';", 'imports "zod"'],
    ['process', 'process.pid;', 'process is not defined'],
    ['Buffer', "Buffer.from('');", 'Buffer is not defined'],
    ['require', "globalThis.require('fs');", 'require is not a function'],
    ['process by way of globalThis', 'globalThis.process.pid;', 'undefined'],
  ])('refuses %s', async (_, source, complaint) => {
    const file = join(folder, 'planted.js');
    writeFileSync(file, `${source}\nexport const planted = 1;\n`);
    const script = "import * as entry from 'entry'; export const result = Object.keys(entry);";
    await expect(inBrowserRealm(file, script)).rejects.toThrow(complaint);
  });
});

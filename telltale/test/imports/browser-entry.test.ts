import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const entry = here('../../dist/parser/index.js');

interface Realm {
  readonly modules: readonly string[];
  readonly result: unknown;
}

async function inBrowserRealm(entryFile: string, script: string): Promise<Realm> {
  const args = [
    '--experimental-vm-modules',
    '--no-warnings',
    here('./browser-environment.mjs'),
    entryFile,
    script,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: here('../..') });
  return JSON.parse(stdout);
}

describe('telltale/protocol in a environment without Node', () => {
  test('is loaded from its own files alone', async () => {
    const { modules } = await inBrowserRealm(
      entry,
      "import * as entry from 'entry'; export const result = Object.keys(entry);",
    );
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.filter((path) => !/^dist[\\/](parser|lib)[\\/]/.test(path))).toEqual([]);
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

describe('telltale/client in a environment without Node', () => {
  const client = here('../../dist/client/index.js');

  test('is loaded from its own files alone', async () => {
    const { modules } = await inBrowserRealm(
      client,
      "import * as entry from 'entry'; export const result = Object.keys(entry);",
    );
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.filter((path) => !/^dist[\\/](client|log|lib)[\\/]/.test(path))).toEqual([]);
  });

  test('asks a server, and folds what comes from it', async () => {
    const { result } = await inBrowserRealm(
      client,
      `import { createClient, emptySummary, foldSummary } from 'entry';
       const event = { type: 'session.waiting', for: 'x', seq: 3, at: 5, session: 's', turn: 0, cause: {} };
       const answer = { ok: true, status: 200, json: async () => ({ items: [event] }) };
       const asked = [];
       const fetch = async (url) => { asked.push(url); return answer; };
       const { items } = await createClient({ url: 'http://here', fetch }).sessionEvents('s', { after: 2 });
       export const result = { asked, status: foldSummary(emptySummary('s'), items[0]).status };`,
    );
    expect(result).toEqual({ asked: ['http://here/sessions/s/events?after=2'], status: 'waiting' });
  });
});

describe('the environment', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'telltale-browser-'));
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

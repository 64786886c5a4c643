import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FOLDERS } from '../imports/import-table.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(`${ROOT}ARCHITECTURE.md`, 'utf8');
const section = (heading: string): string =>
  new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, 'm').exec(page)?.[1] ?? '';

/** What the page says in place of a list, and which folders it leaves out. */
const WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['everything', ['testing', 'cli']],
  ['all but cli, importers', ['testing', 'cli', 'importers']],
  ['all above', ['agent', 'telemetry', 'client', 'server', 'mcp', 'importers', 'testing', 'cli']],
]);

function importsOf(words: string): readonly string[] {
  if (words === 'nothing') return [];
  const without = WORDS.get(words);
  return without === undefined
    ? words.split(', ')
    : Object.keys(FOLDERS).filter((folder) => !without.includes(folder));
}

describe('ARCHITECTURE.md', () => {
  it('has the folders of the import table, each with what it may import', () => {
    const rows = [...section('The folders').matchAll(/^\| `(\w+)` \|.*\| ([^|]+) \|$/gm)];
    const told = rows.map(([, folder = '', words = '']) => [folder, [...importsOf(words)].sort()]);
    const checked = Object.entries(FOLDERS).map(([folder, { imports }]) => [folder, [...imports].sort()]);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(checked));
  });

  it('names files that are there', () => {
    const walk = [...section('The walk of one action').matchAll(/`([\w-]+\/[\w/-]+(?:\.ts)?)`/g)];
    const parser = [...section('From a chunk to an intent').matchAll(/`((?:[\w-]+\/)?[\w-]+\.ts)`/g)];
    expect([walk.length, parser.length].map((count) => count > 10)).toEqual([true, true]);
    const missing = [
      ...walk.map(([, path = '']) => path).filter((path) => !isThere(path)),
      ...parser
        .map(([, path = '']) => (path.includes('/') ? `parser/${path}` : `parser/tags/${path}`))
        .filter((path) => !isThere(path)),
    ];
    expect(missing).toEqual([]);
  });
});

const isThere = (path: string): boolean =>
  ['', '.ts'].some((end) => existsSync(`${ROOT}telltale/src/${path}${end}`));

import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { touchedFiles } from '../../src/agent/memory/session-memory.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { ActionState } from '../../src/log/action.ts';

const STARTED_AT = Date.UTC(2026, 0, 2);
let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'telltale-touched-'));
  mkdirSync(join(root, 'graph', '..odd'), { recursive: true });
  const file = (name: string, at: number) => {
    writeFileSync(join(root, name), '');
    utimesSync(join(root, name), new Date(at), new Date(at));
  };
  for (const name of ['graph/old.ts', 'graph/..odd/old.ts', 'outside.ts']) file(name, STARTED_AT - 1);
  file('graph/new.ts', STARTED_AT);
});
afterAll(() => rmSync(root, { recursive: true }));

/** The files, relative to the graph, that a tool touched which was called with these. */
function touched(input: JsonObject, more: Partial<ActionState> & { readonly kind?: string } = {}) {
  const graph = join(root, 'graph');
  const { kind = 'tool', ...state } = more;
  const action = { status: 'completed', input, action: { kind }, ...state } as unknown as ActionState;
  const { read, changed } = touchedFiles([action], { folder: graph, graph, startedAt: STARTED_AT });
  const names = (paths: readonly string[]) => paths.map((path) => path.slice(graph.length + 1));
  return { read: names(read), changed: names(changed) };
}

const NOTHING = { read: [], changed: [] };

describe('the files that a tool touched', () => {
  it('are those that its parameters name: changed where they are as young as the session, else read', () => {
    expect(touched({ path: 'old.ts', more: { list: ['new.ts', './old.ts'] } })).toEqual({
      read: ['old.ts'],
      changed: ['new.ts'],
    });
    expect(touched({ path: join(root, 'graph/old.ts') }).read).toEqual(['old.ts']);
    expect(touched({ path: '..odd/old.ts' }).read).toEqual(['..odd/old.ts']);
  });

  it.each(['write', 'edit'])('are changed where the operation is to %s', (operation) => {
    expect(touched({ operation, path: 'old.ts' })).toEqual({ read: [], changed: ['old.ts'] });
    expect(touched({ operation: 'read', path: 'old.ts' })).toEqual({ read: ['old.ts'], changed: [] });
  });

  it.each([
    ['outside of the graph', { path: '../outside.ts' }],
    ['the folder above', { path: '..' }],
    ['the graph itself', { path: '.' }],
    ['a folder', { path: '..odd' }],
    ['not there', { path: 'missing.ts' }],
    ['too deep in the parameters', { a: { b: { c: { d: 'old.ts' } } } }],
    ['too long for a path', { path: `${'./'.repeat(600)}old.ts` }],
    ['several lines', { path: 'old.ts\n' }],
    ['no text', { path: null, n: 1 }],
  ] as [string, JsonObject][])('are not what is %s', (_what, input) => {
    expect(touched(input)).toEqual(NOTHING);
  });

  it('are those of tools that succeeded', () => {
    const input = { path: 'old.ts' };
    expect(touched(input, { status: 'failed' })).toEqual(NOTHING);
    expect(touched(input, { kind: 'agent' })).toEqual(NOTHING);
    expect(touched({ a: { b: { c: 'old.ts' } } }).read).toEqual(['old.ts']);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { type OpenMemoryOptions, openMemory } from '../../src/memory/open-memory.ts';
import { openStore } from '../../src/store/open-store.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { eventually } from '../store/eventually.ts';

const clock = createSystemClock();
const FRAGILE = new URL('./fragile-parser.ts', import.meta.url);
const CHILD = fileURLToPath(new URL('./index-child.ts', import.meta.url));
const OLD = new Date(Date.now() - 60_000);

function project(files: Readonly<Record<string, string>>): string {
  const folder = temporaryProject(files);
  for (const name of Object.keys(files)) utimesSync(join(folder, name), OLD, OLD);
  return folder;
}

/** One for all: graphs know nothing of each other. */
const home = mkdtempSync(join(tmpdir(), 'telltale-memory-'));
const store = await openStore(`sqlite:${join(home, 't.db')}`, { clock });
afterAll(async () => {
  await store.close();
  rmSync(home, { recursive: true });
});

async function open(folder: string, options: Partial<OpenMemoryOptions> = {}) {
  const memory = await openMemory({
    store,
    folder,
    clock,
    tokenizer: async () => ({ count: (text: string) => text.length / 4 }),
    parser: FRAGILE,
    ...options,
  });
  onTestFinished(() => memory.close());
  return memory;
}

describe('a memory', { timeout: 30_000 }, () => {
  it('is of a folder that is there', async () => {
    const folder = project({ 'a.ts': '' });
    await expect(open(join(folder, 'none'))).rejects.toMatchObject({ code: 'folder_missing' });
    await expect(open(join(folder, 'a.ts'))).rejects.toMatchObject({ code: 'not_a_folder' });
    await expect(open(join(folder, 'a.ts/b'))).rejects.toMatchObject({ code: 'folder_missing' });
  });

  it('goes on where a process that was killed in the middle had come to', async () => {
    const names = Array.from({ length: 250 }, (_, at) => `f${at}.ts`);
    const folder = project(Object.fromEntries(names.map((name) => [name, `def s SLOW\n`])));
    const location = `sqlite:${join(temporaryProject(), 't.db')}`;
    const child = spawn(process.execPath, [CHILD, folder, location], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    for await (const chunk of child.stdout) if (String(chunk).includes('read')) break;
    child.kill('SIGKILL');
    await ended;
    const left = await openStore(location, { clock });
    const memory = await openMemory({
      store: left,
      folder,
      clock,
      tokenizer: async () => ({ count: () => 1 }),
      parser: FRAGILE,
    });
    onTestFinished(async () => {
      await memory.close();
      await left.close();
    });
    const { files: before, walkedAtMs } = await memory.stats();
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(250);
    expect(walkedAtMs).toBe(undefined);
    expect(await memory.index()).toMatchObject({ files: 250, parsed: 250 - before });
    expect(await memory.stats()).toMatchObject({ files: 250, symbols: 250, walkedAtMs: expect.any(Number) });
  });

  it('answers from files as they are, also within the time in which it does not look at the folder', async () => {
    const folder = project({ 'a.ts': 'def alpha\n', 'b.ts': 'def beta\n' });
    const memory = await open(folder, { freshnessMs: 3_600_000 });
    const names = async (symbol: string) =>
      (await memory.query({ symbol, depth: 0 })).nodes.map((node) =>
        node.kind === 'symbol' ? node.at : node.kind,
      );
    expect(await names('alpha')).toEqual(['a.ts:1']);
    writeFileSync(join(folder, 'a.ts'), 'def other\ndef alpha\n');
    expect(await names('alpha')).toEqual(['a.ts:2']);
    rmSync(join(folder, 'a.ts'));
    expect(await names('alpha')).toEqual([]);
  });

  it('answers in time with what there is while the graph is being built, and says so', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `f${at}.ts`);
    const folder = project(Object.fromEntries(names.map((name) => [name, 'def slow SLOW\n'])));
    const memory = await open(folder, { waitMs: 0 });
    const { note } = await memory.query({ symbol: 'slow' });
    expect(note).toContain('the graph is still being built: 0 files so far');
    await memory.index();
    expect((await memory.query({ symbol: 'slow' })).note ?? '').not.toContain('being built');
  });

  it('keeps facts about files by whatever path they are named, and marks them stale when these change', async () => {
    const folder = project({ 'a.ts': 'def alpha\n', 'conf.yml': 'a: 1\n' });
    symlinkSync(folder, `${folder}-link`);
    onTestFinished(() => rmSync(`${folder}-link`));
    const memory = await open(`${folder}-link`);
    const ids = await memory.learn(
      [
        { text: 'alpha is first', about: [{ path: `${folder}-link/a.ts`, symbol: 'alpha' }] },
        { kind: 'decision', text: 'one is enough', about: [{ path: 'conf.yml' }] },
        { text: 'it is elsewhere', about: [{ path: '../other/x.ts' }] },
      ],
      { session: 'ses_1' },
    );
    expect(ids).toHaveLength(3);
    expect(await memory.stats()).toMatchObject({ facts: 3, staleFacts: 0 });
    const facts = async (query: string) =>
      (await memory.query({ query, depth: 0 })).nodes.flatMap((node) =>
        node.kind === 'fact' ? [node.text] : [],
      );
    expect(await facts('elsewhere')).toEqual([
      'it is elsewhere (about ../other/x.ts, outside of the folder)',
    ]);
    writeFileSync(join(folder, 'conf.yml'), 'a: 2\n');
    await memory.index();
    expect(await memory.stats()).toMatchObject({ facts: 3, staleFacts: 1 });
  });

  it('never serves a fact as one that holds when its file changed, however short ago', async () => {
    const folder = project({ 'a.ts': 'def alpha\n', 'b.ts': 'def beta\n' });
    const memory = await open(folder, { freshnessMs: 3_600_000 });
    const about = [[{ path: 'a.ts' }], [{ symbol: 'beta' }]];
    await memory.learn(
      about.map((each, at) => ({ text: `zebras are striped ${at}`, about: each })),
      {},
    );
    const stale = async () =>
      (await memory.query({ query: 'zebras striped', depth: 0 })).nodes.flatMap((node) =>
        node.kind === 'fact' ? node.stale : [],
      );
    expect(await stale()).toEqual([]);
    writeFileSync(join(folder, 'a.ts'), 'def other\n');
    expect(await stale()).toEqual(['a.ts']);
    expect(await memory.relevant('zebras striped', 500)).toContain('stale: a.ts');
    rmSync(join(folder, 'b.ts'));
    expect(await memory.relevant('zebras striped', 500)).toContain('stale: b.ts');
    expect((await stale()).toSorted()).toEqual(['a.ts', 'b.ts']);
  });

  it('marks facts stale also while the graph is being built', async () => {
    const folder = project({ 'z.ts': 'def alpha\n' });
    const location = `sqlite:${join(temporaryProject(), 't.db')}`;
    const own = await openStore(location, { clock });
    onTestFinished(() => own.close());
    const first = await open(folder, { store: own });
    await first.learn([{ text: 'zebras are striped', about: [{ path: 'z.ts' }] }], {});
    await first.close();
    writeFileSync(join(folder, 'held.ts'), 'HANG');
    writeFileSync(join(folder, 'z.ts'), 'def other\n');
    const memory = await open(folder, { store: own, waitMs: 0 });
    // Until the pass has looked what is known.
    const { nodes, note } = await eventually(async () => {
      const answer = await memory.query({ query: 'zebras', depth: 0 });
      expect(answer.nodes).toMatchObject([{ kind: 'fact', stale: ['z.ts'] }]);
      return answer;
    });
    expect(nodes).toHaveLength(1);
    expect(note).toContain('still being built');
  });

  it('knows what a fact is about also where it is learned before the file is read', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `f${at}.ts`);
    const folder = project(Object.fromEntries(names.map((name) => [name, 'def slow SLOW\n'])));
    const memory = await open(folder, { waitMs: 0 });
    const indexed = memory.index();
    await memory.learn([{ text: 'it is slow', about: [{ path: 'f99.ts' }] }], {});
    await indexed;
    expect(await memory.stats()).toMatchObject({ files: 100, facts: 1, staleFacts: 0 });
    writeFileSync(join(folder, 'f99.ts'), 'def quick\n');
    await memory.index();
    expect(await memory.stats()).toMatchObject({ staleFacts: 1 });
  });

  it('knows the file of a symbol that was written a moment before something is learned of it', async () => {
    const folder = project({ 'a.ts': 'def alpha\n' });
    const memory = await open(folder);
    await memory.index();
    writeFileSync(join(folder, 'b.ts'), 'def beta\n');
    await memory.learn([{ text: 'beta is second', about: [{ symbol: 'beta' }] }], {});
    writeFileSync(join(folder, 'b.ts'), 'def beta\ndef gamma\n');
    await memory.index();
    expect(await memory.stats()).toMatchObject({ facts: 1, staleFacts: 1 });
  });

  it('notes what a session read and changed of its files', async () => {
    const folder = project({ 'a.ts': 'def alpha\n', 'b.ts': 'def beta\n' });
    const memory = await open(folder);
    await memory.index();
    await memory.noteSession({
      session: 'ses_1',
      title: 'Mend it',
      read: ['a.ts', join(folder, 'a.ts'), '/etc/passwd'],
      changed: ['./b.ts', '..'],
    });
    expect(await memory.stats()).toMatchObject({ sessions: 1 });
    const { nodes } = await memory.query({ path: join(folder, 'b.ts') });
    expect(nodes).toContainEqual(
      expect.objectContaining({ kind: 'session', session: 'ses_1', title: 'Mend it' }),
    );
  });

  it('says in which session a fact was learned and what it supersedes', async () => {
    const memory = await open(project({ 'a.ts': 'def alpha\n' }));
    const about = [{ path: 'a.ts' }];
    const [old = ''] = await memory.learn([{ text: 'it is slow', about }], { session: 'ses_1' });
    const [now = ''] = await memory.learn([{ text: 'it is quick', about, supersedes: [old] }], {
      session: 'ses_2',
    });
    await memory.noteSession({ session: 'ses_2', title: 'Mend it', read: ['a.ts'], changed: [] });
    const { nodes, edges } = await memory.query({ path: 'a.ts' });
    expect(nodes.flatMap((node) => (node.kind === 'fact' ? [node.id] : []))).toEqual([now]);
    expect(edges).toContainEqual({ kind: 'learned_in', from: now, to: 'ses_2' });
    expect(edges).toContainEqual({ kind: 'supersedes', from: now, to: old });
  });

  it('has a relevant part for a text, and none where nothing is', async () => {
    const folder = project({ 'a.ts': 'def parse_duration\n' });
    const memory = await open(folder);
    expect(await memory.relevant('how is a duration parsed?', 500)).toContain('parse_duration');
    expect(await (await open(project({}))).relevant('anything', 500)).toBe('');
  });
});

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EventBody } from '../../src/events/event.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/kernel/simulated-clock.ts';
import { createMemoryHome } from '../../src/store/memory/memory-home.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { checkStore } from '../../src/store/upkeep/check-store.ts';
import { copyStore } from '../../src/store/upkeep/copy-store.ts';
import { exportStore } from '../../src/store/upkeep/export-store.ts';
import { importStore } from '../../src/store/upkeep/import-store.ts';
import { type PruneRules, pruneStore } from '../../src/store/upkeep/prune-store.ts';
import { readLines } from '../../src/store/upkeep/read-lines.ts';
import { RESTORING } from '../../src/store/upkeep/upkeep.ts';
import { arbitraryLog } from '../events/arbitrary-log.ts';
import { append } from './appending.ts';
import { openInlineStore } from './open-inline-store.ts';
import {
  COMPLETED,
  keepRun,
  keepSession,
  linesOf,
  putSession,
  sessionLog,
  snapshotsOf,
  thought,
} from './stored-logs.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

/** Above the largest pid that Linux gives. */
const NOBODY = 5_000_000;
const DAY = 86_400_000;

let folder: TemporaryFolder;
let clock: SimulatedClock;
let opened: Store[];
let files: number;

beforeEach(async () => {
  folder = await temporaryFolder();
  clock = createSimulatedClock();
  opened = [];
  files = 0;
});
afterEach(async () => {
  for (const store of opened) await store.close();
  await folder.remove();
});

const opening = (store: Store): Store => {
  opened.push(store);
  return store;
};
const inMemory = () => opening(createMemoryStore({ clock }));
const sqlite = (path = folder.path(`store${++files}.db`), pid?: number): Store =>
  opening(openInlineStore({ path, clock, ...(pid === undefined ? {} : { pid }) }));
/** Changes a file behind the stores' backs. */
const meddle = (store: Store, sql: string) => {
  const db = new DatabaseSync(store.location.slice('sqlite:'.length));
  db.exec(sql);
  db.close();
};

const exported = async (
  store: Store,
  options: Partial<Parameters<typeof exportStore>[1]> = {},
): Promise<string> => {
  const pieces: string[] = [];
  for await (const piece of exportStore(store, { now: 0, ...options })) pieces.push(piece);
  return pieces.join('');
};
async function* pieces(text: string | Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const imported = (store: Store, text: string | Uint8Array, options = {}) =>
  importStore(store, readLines(pieces(text)), { clock, ...options });

/** A little of everything. */
async function fill(store: Store): Promise<void> {
  const many: readonly EventBody[] = Array.from({ length: 25 }, (_, n) => thought(`ü𝄞 ${n}`));
  await keepSession(store, 'ses_a', { bodies: [...many, COMPLETED], every: 10 });
  await clock.advance(5);
  await keepSession(store, 'ses_b', { bodies: many.slice(0, 3), head: { parent: 'ses_a', title: 'Called' } });
  await keepRun(store, 'run_a', { parent: 'ses_a' });
  await keepRun(store, 'run_w', {}, { type: 'workflow.waiting', for: 'a signal', due: 9_999_999 });
  await store.send('ses_b', { kind: 'steer', from: 'user', body: { left: ['ü', null] } });
  await store.tables.set('t', 'k', { n: [1, 'ü'] });
  await store.tables.set('t', 'soon', 1, { ttlMs: 60_000 });
  await store.tables.push('audit', { who: 'ann' });
  await clock.advance(5);
  await store.tables.push('audit', { who: 'bob' });
}

describe('export and import', () => {
  test('an export that is imported is exported the same, from and to every home', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from);
    const lines = text.trimEnd().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      ...{ telltale: 'store', format: 1, exported_at: '1970-01-01T00:00:00.000Z' },
    });
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ done: { streams: 4, rows: 2, entries: 2 } });
    const file = sqlite();
    expect(await imported(file, text)).toEqual({ streams: 4, same: 0, events: 35, rows: 2, entries: 2 });
    expect(await exported(file)).toBe(text);
    const back = inMemory();
    await imported(back, await exported(file));
    expect(await exported(back)).toBe(text);
    expect(await back.list()).toEqual(await from.list());
    expect((await checkStore(file)).faults).toEqual([]);
    await (await file.acquire('ses_b')).release();
  });

  test('any store comes back as it was', async () => {
    const name = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' });
    const json = fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as never);
    const stored = fc.record({
      logs: fc.array(
        fc.record({
          log: arbitraryLog,
          every: fc.integer({ min: 1, max: 9 }),
          messages: fc.array(json, { maxLength: 3 }),
          title: fc.string({ unit: 'grapheme' }),
          due: fc.option(fc.nat()),
        }),
        { maxLength: 3 },
      ),
      rows: fc.array(fc.tuple(name, name, json, fc.option(fc.integer({ min: 1, max: 9 }))), { maxLength: 5 }),
      entries: fc.array(fc.tuple(name, json), { maxLength: 5 }),
    });
    const fillRandom = async (
      store: Store,
      { logs, rows, entries }: typeof stored extends fc.Arbitrary<infer T> ? T : never,
    ) => {
      for (const [at, { log, every, messages, title, due }] of logs.entries()) {
        const bodies = log.map(
          ({ seq: _, at: _at, session: _s, turn: _t, cause: _c, ...body }) => body as EventBody,
        );
        const writer = await putSession(store, `ses_${at}`, { bodies, every, head: { title } });
        if (due !== null)
          await append(writer, { expectedSeq: bodies.length + 1, events: [], status: 'waiting', due });
        await writer.release();
        for (const body of messages) await store.send(`ses_${at}`, { kind: 'steer', from: 'x', body });
      }
      for (const [table, key, value, days] of rows)
        await store.tables.set(table, key, value, days === null ? {} : { ttlMs: days * DAY });
      for (const [list, value] of entries) await store.tables.push(list, value);
    };
    await fc.assert(
      fc.asyncProperty(stored, fc.boolean(), async (content, toFile) => {
        const [from, to] = toFile ? [inMemory(), sqlite()] : [sqlite(), inMemory()];
        await fillRandom(from, content);
        const text = await exported(from);
        await imported(to, text);
        expect(await exported(to)).toBe(text);
        await Promise.all([from, to].map((store) => store.close()));
      }),
      { numRuns: 12 },
    );
  });

  test('one session is exported with all that it called and without tables; a store takes the same twice', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from, { streams: ['ses_a'] });
    const to = sqlite();
    await keepSession(to, 'ses_own');
    expect(await imported(to, text)).toMatchObject({ streams: 3, rows: 0, entries: 0 });
    expect((await to.list()).map(({ stream }) => stream)).toEqual(['run_a', 'ses_b', 'ses_a', 'ses_own']);
    expect(await imported(to, text)).toMatchObject({ streams: 0, same: 3 });
    await expect(exported(from, { streams: ['ses_x'] })).rejects.toMatchObject({ code: 'stream_unknown' });
    const bare = await exported(from, { streams: ['ses_a'], withoutSnapshots: true });
    expect(bare).not.toContain('"snapshot"');
    await imported(inMemory(), bare);
  });

  test('what is in the store already, and another there, is refused with its line', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from);
    const lineOf = (part: string) => text.slice(0, text.indexOf(part)).split('\n').length;
    const other = async (change: (store: Store) => Promise<unknown>, what: string) => {
      const to = inMemory();
      await change(to);
      for (const dryRun of [true, false])
        await expect(imported(to, text, { dryRun })).rejects.toMatchObject({
          ...{ code: 'import_conflict', message: expect.stringContaining(`Line ${lineOf(what)}: `) },
        });
      return to;
    };
    const to = await other((store) => keepSession(store, 'ses_b'), '{"stream":{"id":"ses_b"');
    expect(await to.read('ses_b')).toHaveLength(2);
    await other((store) => store.tables.set('t', 'k', 'own'), '{"row":{"table":"t","key":"k"');
    await other((store) => store.tables.push('audit', 'own'), '{"entry":{"list":"audit"');
  });

  test('a dry run finds what is wrong, and writes nothing', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from);
    const to = sqlite();
    expect(await imported(to, text, { dryRun: true })).toMatchObject({ streams: 4, rows: 2, entries: 2 });
    expect(await to.upkeep.describe()).toMatchObject({ sessions: 0, runs: 0, rows: 0, lists: 0 });
  });

  const HEAD = '{"telltale":"store","format":1}\n';
  const STREAM =
    '{"stream":{"id":"ses_x","kind":"session","name":"n","title":"","status":"running","created_at":1,"updated_at":1}}\n';
  const EVENTS = linesOf(sessionLog('ses_x', [thought('a'), thought('b')])).map(
    (line) => `{"event":${line}}\n`,
  );
  const [E1 = '', E2 = '', E3 = ''] = EVENTS;
  const END = '{"end":{"events":3}}\n';
  const DONE = '{"done":{}}\n';

  test.each<[claim: string, text: string | Uint8Array, line: number, found: string]>([
    ['nothing at all', '', 1, 'There is nothing'],
    ['another file', 'apiVersion: telltale/v1\n', 1, 'not the first line of an export'],
    ['a line that is no JSON', `${HEAD}{"row":\n`, 2, 'no JSON'],
    ['NUL bytes', `${HEAD}\0\0\0\n`, 2, 'no JSON'],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from(HEAD), Buffer.from([0xff, 0xfe, 10])]),
      2,
      'UTF-8',
    ],
    ['a list', `${HEAD}[]\n`, 2, 'no JSON object'],
    ['a kind of line that there is not', `${HEAD}{"streem":{}}\n`, 2, 'Did you mean "stream"?'],
    ['a line of two kinds', `${HEAD}{"row":{},"entry":{}}\n`, 2, 'a line has one'],
    ['an event outside of a stream', HEAD + E1, 2, 'outside of any stream'],
    ['a stream without a name', `${HEAD}{"stream":{"id":""}}\n`, 2, '"kind" of "stream" is no text'],
    ['a name that no store could keep', HEAD + STREAM.replace('ses_x', 'a\\u0000b'), 2, 'NUL'],
    ['a status that is the store’s own', HEAD + STREAM.replace('"running"', '"restoring"'), 2, '"status"'],
    ['a stream in a stream', HEAD + STREAM + STREAM, 3, 'has not ended'],
    ['events out of order', HEAD + STREAM + E1 + E3, 4, 'In its place stands the event 3'],
    ['an event twice', HEAD + STREAM + E1 + E1, 4, 'In its place stands the event 1'],
    [
      'a log without its beginning',
      HEAD + STREAM + E2.replace('"seq":2', '"seq":1'),
      3,
      'begins with session.started',
    ],
    ['an event that is none', `${HEAD}${STREAM}{"event":{"v":1}}\n`, 3, 'holds a line that is no event'],
    ['an event of a newer version', HEAD + STREAM + E1.replace('"v":1', '"v":99'), 3, 'form 99'],
    [
      'an event that cannot be folded',
      HEAD + STREAM + E1 + E2.replace('"type":"thought"', '"type":"action.declared"'),
      4,
      'cannot be folded',
    ],
    ['a damaged event', `${HEAD}${STREAM}{"damaged":"{"}\n`, 3, 'was damaged'],
    [
      'a snapshot of another state',
      `${HEAD}${STREAM}${E1}{"snapshot":{"seq":1,"body":"{}"}}\n`,
      4,
      'snapshot',
    ],
    ['a snapshot out of place', `${HEAD}${STREAM}${E1}{"snapshot":{"seq":7,"body":"{}"}}\n`, 4, 'not there'],
    ['too few events', HEAD + STREAM + E1 + END, 4, 'is to have 3 events, and has 1'],
    [
      'another content',
      `${HEAD}${STREAM}${E1}{"end":{"events":1,"sha256":"00"}}\n`,
      4,
      'not what was exported',
    ],
    ['a stream twice', HEAD + STREAM + EVENTS.join('') + END + STREAM, 7, 'in line 2 already'],
    ['a list with a gap', `${HEAD}{"entry":{"list":"l","n":2,"at":1,"value":1}}\n`, 2, 'where 1 is due'],
    ['a row without a value', `${HEAD}{"row":{"table":"t","key":"k"}}\n`, 2, 'has no "value"'],
    ['a file that was cut short', HEAD + STREAM + E1, 4, 'broken off'],
    ['fewer rows than there were', `${HEAD}{"done":{"rows":7}}\n`, 2, '7 rows'],
    ['something behind the end', HEAD + DONE + STREAM, 3, 'follows'],
  ])('%s is refused with its line, and nothing of that stream is left', async (_claim, text, line, found) => {
    for (const to of [inMemory(), sqlite()]) {
      await expect(imported(to, text)).rejects.toMatchObject({
        code: 'import_malformed',
        message: expect.stringMatching(new RegExp(`^Line ${line}: .*${found.replace(/[?.]/g, '\\$&')}`)),
        hint: expect.any(String),
      });
      expect(await to.list({ status: [RESTORING] })).toEqual([]);
    }
  });

  test('a format of a later version is refused', async () => {
    for (const format of ['2', '"1"', 'null'])
      await expect(imported(inMemory(), `{"telltale":"store","format":${format}}\n`)).rejects.toMatchObject({
        code: 'import_newer',
      });
  });

  test('a line without end is refused long before all of it is read', async () => {
    let given = 0;
    const endless = async function* () {
      yield Buffer.from(HEAD);
      for (;;) {
        given += 1024;
        yield Buffer.alloc(1024, 'x');
      }
    };
    await expect(importStore(inMemory(), readLines(endless(), 64 * 1024), { clock })).rejects.toMatchObject({
      code: 'import_malformed',
      message: 'Line 2: It is longer than 65536 bytes.',
    });
    expect(given).toBeLessThan(70 * 1024);
  });

  test('an import that was broken off is begun again with the stream that it broke off in', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from);
    const path = folder.path('killed.db');
    const dead = sqlite(path, NOBODY);
    await dead.create('ses_a', { kind: 'session', name: 'coder', title: 'x', status: RESTORING });
    const to = sqlite(path);
    await imported(to, text);
    expect(await exported(to)).toBe(text);
  });

  test('what was written elsewhere in another form is taken for what it says', async () => {
    const spaced = [E1, E2, E3].map(
      (line) => `${JSON.stringify(JSON.parse(line), null, 1).replaceAll('\n', ' ')}\r\n`,
    );
    const to = inMemory();
    expect(await imported(to, `\ufeff${HEAD}${STREAM}${spaced.join('')}${END}\n${DONE}`)).toMatchObject({
      streams: 1,
    });
    expect(await to.read('ses_x')).toEqual(linesOf(sessionLog('ses_x', [thought('a'), thought('b')])));
  });
});

describe('a copy', () => {
  test('is the same store, in order, and both are read again to see it', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const report = await copyStore(from, to, { clock });
    expect(report).toMatchObject({ copied: 4, same: 0, events: 35, rows: 2, entries: 2, running: [] });
    expect(report.checked).toMatchObject({ events: 35, rows: 2, entries: 2, unlike: [] });
    expect(report.checked.streams.map(({ stream, events }) => [stream, events])).toEqual([
      ...[
        ['run_a', 2],
        ['run_w', 2],
        ['ses_a', 27],
        ['ses_b', 4],
      ],
    ]);
    expect(await exported(to)).toBe(await exported(from));
    expect(await to.list()).toEqual(await from.list());
    expect((await checkStore(to)).faults).toEqual([]);
    expect(await to.upkeep.rows({ limit: 9 })).toHaveLength(2);
    // Rows live as long as they had left.
    await clock.advance(60_000);
    expect(await to.tables.get('t', 'soon')).toBeUndefined();
  });

  test('goes into a store that is empty, or adds to one when it is told to', async () => {
    const [from, to] = [inMemory(), sqlite()];
    await fill(from);
    await keepSession(to, 'ses_own');
    await to.tables.set('own', 'k', 1);
    const before = await exported(to);
    await expect(copyStore(from, to, { clock })).rejects.toMatchObject({ code: 'store_not_empty' });
    expect(await exported(to)).toBe(before);
    expect(await copyStore(from, to, { clock, merge: true })).toMatchObject({ copied: 4, same: 0 });
    expect(await to.upkeep.describe()).toMatchObject({ sessions: 3, rows: 3 });
    expect(await copyStore(from, to, { clock, merge: true })).toMatchObject({ copied: 0, same: 4, rows: 0 });
    await expect(copyStore(to, to, { clock })).rejects.toMatchObject({ code: 'usage' });
  });

  test('names what was begun in the source meanwhile, and brings only that when it is made again', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    let late: Promise<unknown> | undefined;
    const copying = copyStore(from, to, {
      clock,
      onProgress({ doing }) {
        if (doing === 'streams') late ??= keepSession(from, 'ses_late');
      },
    });
    await expect(copying).rejects.toMatchObject({
      ...{ code: 'copy_unlike', message: expect.stringContaining('not in the copy: ses_late.') },
      hint: expect.stringContaining('only what is missing'),
    });
    await late;
    expect(await copyStore(from, to, { clock })).toMatchObject({ copied: 1, same: 4, checked: { came: [] } });
    expect(await to.list()).toEqual(await from.list());
  });

  test('what the other has of its own is named, and nothing is written', async () => {
    const [from, to] = [inMemory(), sqlite()];
    await fill(from);
    await keepSession(to, 'ses_a');
    await keepSession(to, 'run_a', { bodies: [] });
    await to.tables.set('t', 'k', 'own');
    await to.tables.push('audit', 'own');
    const before = await exported(to);
    const refused = copyStore(from, to, { clock, merge: true });
    await expect(refused).rejects.toMatchObject({
      code: 'copy_refused',
      message: expect.stringMatching(/run_a, ses_a, "k" in table "t", list "audit"/),
    });
    expect(await exported(to)).toBe(before);
    expect(await to.tables.keys('store.copy')).toEqual([]);
  });

  test('streams that somebody works on are refused with their owner; with `running` they come, and stay closed until the rest has come', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const writer = await putSession(from, 'ses_live', { bodies: [thought('a')] });
    await from.tables.set('t', 'goes', 1);
    await expect(copyStore(from, to, { clock })).rejects.toMatchObject({
      ...{ code: 'copy_refused', message: expect.stringContaining(`ses_live (process ${process.pid})`) },
    });
    expect(await to.upkeep.describe()).toMatchObject({ sessions: 0, rows: 0 });
    expect(await copyStore(from, to, { clock, running: true })).toMatchObject({
      ...{ copied: 5, running: ['ses_live'] },
    });
    expect(await to.read('ses_live')).toHaveLength(2);
    await expect(to.acquire('ses_live')).rejects.toMatchObject({ code: 'stream_restoring' });
    await append(writer, {
      expectedSeq: 2,
      events: linesOf(sessionLog('ses_live', [thought('a'), COMPLETED])).slice(2),
      status: 'completed',
    });
    await writer.release();
    await from.tables.delete('t', 'goes');
    await from.tables.set('t', 'k', 'newer');
    await from.tables.push('audit', { who: 'eve' });
    expect(await copyStore(from, to, { clock })).toMatchObject({
      copied: 1,
      same: 4,
      entries: 1,
      running: [],
    });
    expect(await exported(to)).toBe(await exported(from));
    await (await to.acquire('ses_live')).release();
    // It is whole now, and a store of its own.
    await expect(copyStore(from, to, { clock })).rejects.toMatchObject({ code: 'store_not_empty' });
  });

  test('that was broken off goes on where it was with the same call, and with no other source', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const long = Array.from({ length: 3_000 }, (_, n) => thought(`${n} ${'x'.repeat(900)}`));
    const writer = await from.create('ses_long', {
      kind: 'session',
      name: 'n',
      status: 'completed',
      title: '',
    });
    const lines = linesOf(sessionLog('ses_long', [...long, COMPLETED]));
    for (let at = 0; at < lines.length; at += 200)
      await append(writer, { expectedSeq: at, events: lines.slice(at, at + 200) });
    await writer.release();
    const stop = new AbortController();
    const broken = copyStore(from, to, {
      ...{ clock, signal: stop.signal },
      onProgress: ({ doing, events }) => {
        if (doing === 'streams' && events > 1_000) stop.abort();
      },
    });
    await expect(broken).rejects.toMatchObject({ name: 'AbortError' });
    const half = (await to.info('ses_long'))?.head ?? 0;
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(3_002);
    expect((await checkStore(to)).faults).toMatchObject([{ grade: 'damage', stream: 'ses_long' }]);
    const other = inMemory();
    await expect(copyStore(other, to, { clock })).rejects.toMatchObject({
      ...{ code: 'store_not_empty', message: expect.stringContaining(from.location) },
    });
    const report = await copyStore(from, to, { clock });
    expect(report).toMatchObject({ copied: 1, same: 4, events: 3_002 - half });
    expect(await exported(to)).toBe(await exported(from));
  });

  test('is not called the same where somebody has changed one of the two meanwhile', async () => {
    const [from, to] = [sqlite(), sqlite()];
    await fill(from);
    const meddled = copyStore(from, to, {
      clock,
      onProgress: ({ doing }) => {
        if (doing === 'graphs') meddle(to, "UPDATE log SET body = replace(body, 'ü', 'u')");
      },
    });
    await expect(meddled).rejects.toMatchObject({
      ...{ code: 'copy_unlike', message: expect.stringContaining('ses_a, ses_b') },
    });
  });

  test('brings knowledge graphs along', async () => {
    const [from, to] = [sqlite(), sqlite()];
    const graphs = await from.graphs();
    const file = { path: 'a.ts', hash: 'h', size: 1, mtimeMs: 1, readAtMs: 1 };
    await graphs.write('g', { records: [{ ...file, symbols: [], imports: [], calls: [] }], commit: 'c' });
    await graphs.learn('g', [{ kind: 'fact', text: 'It is so.', about: [{ path: 'a.ts' }], atMs: 1 }]);
    expect(await copyStore(from, to, { clock })).toMatchObject({ graphs: { graphs: 1, files: 1, facts: 1 } });
    const theirs = await to.graphs();
    expect(await theirs.stats('g')).toEqual(await graphs.stats('g'));
    expect(await theirs.factsAbout('g', { path: 'a.ts' }, 9)).toMatchObject([
      { text: 'It is so.', stale: [] },
    ]);
  });

  test('of nothing is nothing, and of a hundred thousand events is quick', async () => {
    const [empty, from, to] = [sqlite(), sqlite(), inMemory()];
    expect(await copyStore(empty, inMemory(), { clock })).toMatchObject({ copied: 0, events: 0 });
    const writer = await from.create('ses_x', { kind: 'session', name: 'n', status: 'completed', title: '' });
    const lines = linesOf(
      sessionLog('ses_x', [...Array.from({ length: 100_000 }, (_, n) => thought(`${n}`)), COMPLETED]),
    );
    for (let at = 0; at < lines.length; at += 10_000)
      await append(writer, { expectedSeq: at, events: lines.slice(at, at + 10_000) });
    await writer.release();
    expect(await copyStore(from, to, { clock })).toMatchObject({ copied: 1, events: 100_002 });
  });
});

describe('a check', () => {
  const found = async (store: Store) => (await checkStore(store)).faults;
  let kept: TemporaryFolder;
  /** A file with nothing wrong in it. */
  let sound: string;

  beforeAll(async () => {
    kept = await temporaryFolder();
    sound = kept.path('sound.db');
    const store = openInlineStore({ path: sound });
    const log = sessionLog('ses_long', [
      ...Array.from({ length: 201 }, (_, n) => thought(`${n}`)),
      COMPLETED,
    ]);
    const writer = await store.create('ses_long', {
      kind: 'session',
      name: 'n',
      status: 'completed',
      title: '',
    });
    const lines = linesOf(log);
    // A row of three, then of one: enough of them for marks.
    await append(writer, { expectedSeq: 0, events: lines.slice(0, 3) });
    for (let at = 3; at < lines.length; at++)
      await append(writer, { expectedSeq: at, events: lines.slice(at, at + 1) });
    for (const { seq, body } of snapshotsOf(log, 100)) writer.snapshot(seq, body);
    await writer.release();
    await store.send('ses_long', { kind: 'steer', from: 'x', body: 1 });
    await store.tables.set('t', 'k', 1);
    await store.tables.push('l', 1);
    expect(await found(store)).toEqual([]);
    await store.close();
  });
  afterAll(() => kept.remove());

  test('finds nothing wrong with what the runtime writes, and counts it', async () => {
    const store = sqlite();
    await fill(store);
    await putSession(store, 'ses_live', { bodies: [thought('a')] });
    expect(await checkStore(store)).toEqual({
      ...{ streams: 5, events: 37, snapshots: 2, messages: 1, rows: 2, entries: 2, faults: [], more: 0 },
    });
  });

  test.each<[what: string, sql: string, stream: string | undefined, seq: number | undefined, text: RegExp]>([
    [
      'a row of the log that is gone',
      'DELETE FROM log WHERE id = (SELECT min(id) + 1 FROM log)',
      'ses_long',
      4,
      /missing/,
    ],
    [
      'the end of a log that is gone',
      "UPDATE heads SET head = head + 1 WHERE id = (SELECT id FROM streams WHERE stream = 'ses_long')",
      'ses_long',
      undefined,
      /head says 204 events, and the log has 203/,
    ],
    [
      'a row in the place of another',
      'UPDATE log SET first = first + 1 WHERE id = (SELECT max(id) FROM log)',
      'ses_long',
      undefined,
      /missing or out of place/,
    ],
    ['a mark that leads elsewhere', 'UPDATE marks SET prev = 1', 'ses_long', undefined, /mark/],
    [
      'events that changed places',
      `UPDATE log SET body = replace(body, '"seq":3', '"seq":9') WHERE id = 1`,
      'ses_long',
      3,
      /In its place stands the event 9/,
    ],
    [
      'an event that cannot be read',
      `UPDATE log SET body = replace(body, '{"v":1,"seq":3', 'v":1') WHERE id = 1`,
      'ses_long',
      3,
      /no event/,
    ],
    [
      'an event of another kind than it says',
      `UPDATE log SET body = replace(body, '"type":"thought"', '"type":"action.declared"') WHERE id = 1`,
      'ses_long',
      2,
      /cannot be folded/,
    ],
    [
      'an event that is in two',
      `UPDATE log SET body = body || char(10) || body WHERE id = 1`,
      'ses_long',
      1,
      /others are there/,
    ],
    [
      'a snapshot that says something else',
      `UPDATE snapshots SET body = replace(body, '"input":"Do it"', '"input":"Do not"')`,
      'ses_long',
      100,
      /snapshot does not say/,
    ],
    ['a snapshot that cannot be read', `UPDATE snapshots SET body = 'x'`, 'ses_long', 100, /snapshot/],
    [
      'a snapshot ahead of the log',
      'UPDATE snapshots SET seq = 5100 WHERE seq = 100',
      'ses_long',
      5100,
      /not there/,
    ],
    [
      'a status that the events do not say',
      "UPDATE heads SET status = 'running' WHERE status = 'completed'",
      'ses_long',
      undefined,
      /listed as running, but its events say completed/,
    ],
    [
      'a message that cannot be read',
      `UPDATE inbox SET message = 'x'`,
      'ses_long',
      undefined,
      /Message 1 of its inbox/,
    ],
    [
      'a snapshot of nobody',
      'UPDATE snapshots SET stream = 999',
      undefined,
      undefined,
      /belongs to no stream/,
    ],
    [
      'a kind that there is not',
      "UPDATE streams SET kind = 'thing'",
      'ses_long',
      undefined,
      /kind .* unknown: thing/,
    ],
    ['a message for nobody', 'UPDATE inbox SET stream = 999', undefined, undefined, /for no stream/],
    ['a row that cannot be read', `UPDATE kv SET value = '{'`, undefined, undefined, /"k" in table "t"/],
    [
      'an entry that cannot be read',
      `UPDATE lists SET value = '{'`,
      undefined,
      undefined,
      /Entry 1 of list "l"/,
    ],
    ['an entry that is gone', 'UPDATE lists SET n = 2', undefined, undefined, /1 of its 2 entries/],
    ['a stream that lost its head', 'DELETE FROM heads', 'ses_long', undefined, /no head/],
    ['a head and a log of no stream', 'DELETE FROM streams', undefined, undefined, /belong to no stream/],
  ])('names %s', async (_what, sql, stream, seq, text) => {
    const path = folder.path('damaged.db');
    copyFileSync(sound, path);
    const store = sqlite(path);
    meddle(store, sql);
    const faults = await found(store);
    expect(faults).toContainEqual({
      grade: 'damage',
      found: expect.stringMatching(text),
      hint: expect.stringMatching(/\w/),
      ...(stream === undefined ? {} : { stream }),
      ...(seq === undefined
        ? faults.find((fault) => text.test(fault.found))?.seq === undefined
          ? {}
          : { seq: expect.any(Number) }
        : { seq }),
    });
    expect(faults.every(({ grade }) => grade === 'damage')).toBe(true);
  });

  test('names a run that waits for a time that is noted later, or nowhere', async () => {
    const [store, other] = [sqlite(), sqlite()];
    for (const each of [store, other]) {
      await fill(each);
      expect(await found(each)).toEqual([]);
    }
    meddle(store, 'UPDATE heads SET due_at = NULL');
    const lost = {
      grade: 'damage',
      stream: 'run_w',
      hint: expect.stringContaining('telltale workflow resume'),
    };
    expect(await found(store)).toMatchObject([
      { ...lost, found: 'It waits until 1970-01-01T02:46:39.999Z, but no time at all is noted for that.' },
    ]);
    meddle(other, 'UPDATE heads SET due_at = due_at + 1 WHERE due_at IS NOT NULL');
    expect(await found(other)).toMatchObject([
      { ...lost, found: expect.stringContaining('only 1970-01-01T02:46:40.000Z') },
    ]);
    meddle(other, 'UPDATE heads SET due_at = 0 WHERE due_at IS NOT NULL');
    expect(await found(other)).toEqual([]);
  });

  test('notes streams without events and owners that are dead, which is nothing lost', async () => {
    const path = folder.path('store.db');
    const dead = sqlite(path, NOBODY);
    await dead.create('ses_empty', { kind: 'session', name: 'n', status: 'running', title: '' });
    await putSession(dead, 'ses_left', { bodies: [thought('a')] });
    const faults = await found(sqlite(path));
    expect(faults).toMatchObject([
      { grade: 'note', found: `Process ${NOBODY}, which is dead, is noted as the owner of 2 streams.` },
      { grade: 'note', stream: 'ses_empty' },
    ]);
  });

  test('names a file whose pages were overwritten', async () => {
    const path = folder.path('store.db');
    const store = openInlineStore({ path, clock });
    await keepSession(store, 'ses_a', {
      bodies: Array.from({ length: 500 }, (_, n) => thought(`${n} ${'x'.repeat(500)}`)),
    });
    await store.close();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, bytes.length - 40 * 4096, bytes.length - 20 * 4096);
    writeFileSync(path, bytes);
    const faults = await found(sqlite(path));
    expect(faults[0]).toMatchObject({ grade: 'damage', found: expect.stringContaining('The file') });
  });

  test('goes on past what it cannot read, and says the rest', async () => {
    const store = sqlite();
    await keepSession(store, 'ses_1', { bodies: Array.from({ length: 50 }, (_, n) => thought(`${n}`)) });
    await keepSession(store, 'ses_2', { bodies: [thought('a'), thought('b')] });
    meddle(store, `UPDATE log SET body = replace(body, '"v":1', '"v":7')`);
    const faults = await found(store);
    expect(faults.filter(({ stream }) => stream === 'ses_1')).toHaveLength(5);
    expect(faults.filter(({ stream }) => stream === 'ses_2')).toHaveLength(3);
  });
});

describe('pruning', () => {
  const names = async (store: Store) => (await store.list()).map(({ stream }) => stream).sort();
  const prune = (store: Store, rules: Partial<PruneRules>, dryRun = false) =>
    pruneStore(store, { rules: { now: clock.now(), ...rules }, dryRun });

  /** By a day, from the newest: 0 is the last one made. */
  const made = async (
    store: Store,
    count: number,
    parts: Parameters<typeof keepSession>[2] = {},
    name = 'coder',
  ) => {
    for (let n = count - 1; n >= 0; n--) {
      await keepSession(store, `ses_${name}_${n}`, { ...parts, head: { name } });
      await clock.advance(DAY);
    }
  };

  test('goes by age, by number, or by both, in which case what one keeps stays', async () => {
    for (const open of [inMemory, sqlite]) {
      const store = open();
      await made(store, 5);
      await made(store, 2, {}, 'writer');
      expect(await prune(store, { olderThanMs: 6.5 * DAY }, true)).toMatchObject({
        trees: 1,
        events: 2,
        kept: { byRule: 6 },
      });
      expect((await prune(store, { olderThanMs: 6.5 * DAY })).bytes).toBeGreaterThan(100);
      expect(await names(store)).not.toContain('ses_coder_4');
      await prune(store, { keep: 3, olderThanMs: 0 });
      expect(await names(store)).toHaveLength(5);
      await prune(store, { keep: 1, name: 'coder' });
      expect(await names(store)).toEqual(['ses_coder_0', 'ses_writer_0', 'ses_writer_1']);
      await prune(store, { keep: 1, olderThanMs: 10 * DAY });
      expect(await names(store)).toHaveLength(3);
      expect((await checkStore(store)).faults).toEqual([]);
    }
  });

  test('takes what was called with who called, and only where all of it has ended', async () => {
    const store = sqlite();
    await keepSession(store, 'ses_done');
    await keepRun(store, 'run_done', { parent: 'ses_done' });
    await keepSession(store, 'ses_deep', { head: { parent: 'run_done' } });
    await keepSession(store, 'ses_busy');
    await keepRun(store, 'run_waits', { parent: 'ses_busy' }, { type: 'workflow.waiting', for: 'x' });
    await keepSession(store, 'ses_running', { bodies: [thought('a')] });
    await keepSession(store, 'ses_child', { head: { parent: 'ses_running' } });
    await keepSession(store, 'ses_lost', { head: { parent: 'gone' } });
    const owned = await putSession(store, 'ses_owned');
    const report = await prune(store, { olderThanMs: 0 });
    expect(report).toMatchObject({ trees: 2, streams: 4, kept: { alive: 3, byRule: 0 } });
    expect(await names(store)).toEqual(['run_waits', 'ses_busy', 'ses_child', 'ses_owned', 'ses_running']);
    await owned.release();
    expect(await prune(store, { olderThanMs: 0, statuses: ['failed'] })).toMatchObject({ trees: 0 });
    expect(await prune(store, { olderThanMs: 0, statuses: ['completed'] })).toMatchObject({ trees: 1 });
    expect((await checkStore(store)).faults).toEqual([]);
  });

  test('a tree is as old as the youngest of it', async () => {
    const store = inMemory();
    await keepSession(store, 'ses_old');
    await clock.advance(10 * DAY);
    await keepRun(store, 'run_new', { parent: 'ses_old' });
    expect(await prune(store, { olderThanMs: 5 * DAY })).toMatchObject({ trees: 0, kept: { byRule: 1 } });
    await clock.advance(6 * DAY);
    expect(await prune(store, { olderThanMs: 5 * DAY })).toMatchObject({ trees: 1, streams: 2 });
  });

  test('what somebody takes up in that moment stays, with all that it called', async () => {
    const path = folder.path('store.db');
    const [store, other] = [sqlite(path), sqlite(path, NOBODY)];
    await keepSession(store, 'ses_a');
    await keepSession(store, 'ses_b', { head: { parent: 'ses_a' } });
    const { acquire } = store;
    let taken = false;
    const racing: Store = {
      ...store,
      async acquire(stream) {
        if (stream !== 'ses_b' || taken) return acquire(stream);
        taken = true;
        const writer = await other.acquire('ses_b');
        await append(writer, {
          expectedSeq: 2,
          events: linesOf(sessionLog('ses_b', [COMPLETED, thought('on')])).slice(2),
        });
        return acquire(stream);
      },
    };
    expect(await prune(racing, { olderThanMs: 0 })).toMatchObject({ trees: 0, kept: { alive: 1 } });
    expect(await names(store)).toEqual(['ses_a', 'ses_b']);
    expect(await store.info('ses_a')).not.toHaveProperty('owner');
  });

  test('empty streams that nobody owns go, those that are being put in do not', async () => {
    const path = folder.path('store.db');
    const dead = sqlite(path, NOBODY);
    const head = { kind: 'session', name: 'n', title: '' } as const;
    await dead.create('ses_empty', { ...head, status: 'running' });
    await dead.create('ses_half', { ...head, status: RESTORING });
    const store = sqlite(path);
    await prune(store, { olderThanMs: 0 });
    expect(await names(store)).toEqual(['ses_half']);
  });

  test('many interleaved streams leave the others readable and the file small', async () => {
    const store = sqlite();
    const writers = await Promise.all(
      Array.from({ length: 4 }, (_, n) => putSession(store, `ses_${n}`, { bodies: [COMPLETED] })),
    );
    for (let at = 0; at < 80; at++)
      for (const [n, writer] of writers.entries()) {
        const body = thought(`${n} ${at} ${'x'.repeat(500)}`);
        const [line = ''] = linesOf(sessionLog(`ses_${n}`, [COMPLETED, ...Array(at).fill(body), body])).slice(
          -1,
        );
        await append(writer, { expectedSeq: 2 + at, events: [line] });
      }
    for (const writer of writers.slice(0, 3)) await writer.release();
    await prune(store, { olderThanMs: 0 });
    expect(await names(store)).toEqual(['ses_3']);
    expect((await store.read('ses_3', { from: 70, limit: 3 })).map((line) => JSON.parse(line).seq)).toEqual([
      70, 71, 72,
    ]);
    const compacted = await store.upkeep.compact();
    expect(compacted.afterBytes).toBeLessThan(compacted.beforeBytes);
    expect((await checkStore(store)).faults).toEqual([]);
  });
});

test('a store in memory that was left by a dead process is copied all the same', async () => {
  const home = createMemoryHome();
  const isAlive = ({ pid }: { readonly pid: number }) => pid !== NOBODY;
  await putSession(createMemoryStore({ clock, home, pid: NOBODY, isAlive }), 'ses_a', {
    bodies: [thought('a')],
  });
  const to = sqlite();
  await copyStore(createMemoryStore({ clock, home, isAlive }), to, { clock });
  expect(await to.info('ses_a')).toMatchObject({ status: 'running', head: 2 });
});

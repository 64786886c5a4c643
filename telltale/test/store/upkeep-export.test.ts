import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { EventBody } from '../../src/log/event.ts';
import type { Store } from '../../src/store/store.ts';
import { checkStore } from '../../src/store/upkeep/check-store.ts';
import { importStore } from '../../src/store/upkeep/import-store.ts';
import { readLines } from '../../src/store/upkeep/read-record.ts';
import { RESTORING } from '../../src/store/upkeep/upkeep.ts';
import { arbitraryLog } from '../log/arbitrary-log.ts';
import { moreRuns } from '../more-runs.ts';
import { append } from './appending.ts';
import { keepSession, linesOf, putSession, sessionLog, thought } from './stored-logs.ts';
import type { TemporaryFolder } from './temporary-folder.ts';
import { meddle, setUpUpkeep } from './upkeep-stage.ts';

/** Above the largest pid that Linux gives. */
const NOBODY = 5_000_000;
const DAY = 86_400_000;

const stage = setUpUpkeep();
const { inMemory, sqlite, exported, imported, fill } = stage;
let clock: SimulatedClock;
let folder: TemporaryFolder;
beforeEach(() => {
  ({ clock, folder } = stage);
});

describe('export and import', () => {
  test('an export that is imported is exported the same, from and to every home', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from);
    const lines = text.trimEnd().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      telltale: 'store',
      format: 1,
      exported_at: '1970-01-01T00:00:00.000Z',
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
      { numRuns: moreRuns(12) },
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
          code: 'import_conflict',
          message: expect.stringContaining(`Line ${lineOf(what)}: `),
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
    ['a line that is not JSON', `${HEAD}{"row":\n`, 2, 'not JSON'],
    ['NUL bytes', `${HEAD}\0\0\0\n`, 2, 'not JSON'],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from(HEAD), Buffer.from([0xff, 0xfe, 10])]),
      2,
      'UTF-8',
    ],
    ['a list', `${HEAD}[]\n`, 2, 'not a JSON object'],
    ['a kind of line that there is not', `${HEAD}{"streem":{}}\n`, 2, 'Did you mean "stream"?'],
    [
      'a line of two kinds',
      `${HEAD}{"row":{},"entry":{}}\n`,
      2,
      'It has the keys row, entry; a line has one',
    ],
    [
      'a stream of a kind that there is not',
      HEAD + STREAM.replace('"session"', '"thing"'),
      2,
      '"kind" is "thing"',
    ],
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

  test('a last line without its end is a line like others', async () => {
    expect(
      await imported(inMemory(), `${HEAD}${STREAM}${EVENTS.join('')}${END}${DONE.trimEnd()}`),
    ).toMatchObject({
      streams: 1,
    });
  });

  test('a whole store is taken twice: the second time all of it is there', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from);
    for (const to of [inMemory(), sqlite()]) {
      expect(await imported(to, text)).toMatchObject({ streams: 4, same: 0, rows: 2, entries: 2 });
      for (const dryRun of [true, false])
        expect(await imported(to, text, { dryRun })).toMatchObject({
          streams: 0,
          same: 4,
          rows: 0,
          entries: 0,
        });
      expect(await exported(to)).toBe(text);
    }
  });

  test('an entry of another time or another value is another entry', async () => {
    const entry = (at: number, value: number) =>
      `${HEAD}{"entry":{"list":"l","n":1,"at":${at},"value":${value}}}\n${DONE}`;
    const to = inMemory();
    await imported(to, entry(5, 1));
    await imported(to, entry(5, 1));
    for (const [at, value] of [
      [6, 1],
      [5, 2],
    ] as const)
      await expect(imported(to, entry(at, value))).rejects.toMatchObject({
        code: 'import_conflict',
        message: 'Line 2: Entry 1 of list "l" is in this store already, and is another there.',
        hint: expect.stringContaining('empty store'),
      });
  });

  test('many rows, entries and streams come in the order in which they went', async () => {
    const from = inMemory();
    for (let n = 0; n < 40; n++) await keepSession(from, `ses_${n}`);
    await Promise.all(Array.from({ length: 501 }, (_, n) => from.tables.set('t', `k${n}`, n)));
    for (const list of ['a', 'b']) for (let n = 0; n < 501; n++) await from.tables.push(list, n);
    const text = await exported(from);
    const to = sqlite();
    expect(await imported(to, text)).toMatchObject({ streams: 40, rows: 501, entries: 1_002 });
    expect(await exported(to)).toBe(text);
  });

  test('a row whose time is over is left out', async () => {
    const from = inMemory();
    await fill(from);
    const text = await exported(from);
    await clock.advance(60_000);
    const to = inMemory();
    expect(await imported(to, text)).toMatchObject({ rows: 1 });
    expect(await to.tables.get('t', 'soon')).toBeUndefined();
  });

  test('a stream that cannot be brought to its end is told, and those before it are there', async () => {
    const from = inMemory();
    for (const session of ['ses_1', 'ses_2', 'ses_3']) await keepSession(from, session);
    const to = inMemory();
    const failing: Store = {
      ...to,
      upkeep: {
        ...to.upkeep,
        settle: (stream, ...rest) =>
          stream === 'ses_2' ? Promise.reject(new Error('of the disk')) : to.upkeep.settle(stream, ...rest),
      },
    };
    await expect(imported(failing, await exported(from))).rejects.toThrow('of the disk');
    expect(await to.info('ses_1')).toMatchObject({ status: 'completed' });
  });

  test('streams that are not whole are left out of an export and counted', async () => {
    const from = inMemory();
    await keepSession(from, 'ses_a');
    const head = { kind: 'session', name: 'n', title: '', status: RESTORING } as const;
    await (await from.create('ses_half', head)).release();
    const leftOut: number[] = [];
    const text = await exported(from, { onProgress: (counts) => void leftOut.push(counts.leftOut) });
    expect(leftOut.at(-1)).toBe(1);
    expect(await imported(inMemory(), text)).toMatchObject({ streams: 1 });
  });

  test('an event that is not JSON is exported as it is, and refused by whoever imports it', async () => {
    const from = sqlite();
    await keepSession(from, 'ses_a', { bodies: [thought('a')] });
    meddle(from, `UPDATE log SET body = replace(body, '"type":"thought"', '"type":thought"')`);
    const text = await exported(from);
    const [damaged] = text.split('\n').filter((line) => line.startsWith('{"damaged":'));
    expect(JSON.parse(damaged ?? '{}')).toEqual({ damaged: (await from.read('ses_a'))[1] });
    await expect(imported(inMemory(), text)).rejects.toMatchObject({
      code: 'import_malformed',
      message: expect.stringMatching(/^Line 4: .* the stream was damaged/),
    });
  });
});

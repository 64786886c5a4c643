import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Store } from '../../src/store/store.ts';
import { checkStore } from '../../src/store/upkeep/check-store.ts';
import { append } from './appending.ts';
import { openInlineStore } from './open-inline-store.ts';
import {
  COMPLETED,
  keepSession,
  linesOf,
  putSession,
  sessionLog,
  snapshotsOf,
  thought,
} from './stored-logs.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';
import { meddle, setUpUpkeep } from './upkeep-stage.ts';

/** Above the largest pid that Linux gives. */
const NOBODY = 5_000_000;

const stage = setUpUpkeep();
const { sqlite, fill } = stage;
let clock: SimulatedClock;
let folder: TemporaryFolder;
beforeEach(() => {
  ({ clock, folder } = stage);
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
      streams: 5,
      events: 37,
      snapshots: 2,
      messages: 1,
      rows: 2,
      entries: 2,
      faults: [],
      more: 0,
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

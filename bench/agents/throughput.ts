import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { openSqliteStore } from '../../telltale/src/store/sqlite/open-sqlite-store.ts';
import type { AgentContestant } from './contestant.ts';
import type { Folders, LoadOptions } from './measurements.ts';
import { stepScript } from './scenario.ts';

/** Steps a second of wall time. */
export interface ThroughputRound {
  readonly ours: number;
  /** The least that a durable log can do: what a session of ours writes, in as many rows, one commit for those of all sessions. */
  readonly bare: number;
  /** The same loop with a row for each event; ours puts those of an append into one row. */
  readonly bareByEvent: number;
  /** The same rows on the store that ours has: with its thread, owners and fences, and no session. */
  readonly bareOnStore: number;
}

/** Passes of a sample: long enough that several checkpoints of either log fall into each, and that what the one before has left counts for little. */
const PASSES = 20;

/** What a session of ours leaves on its log. */
interface Written {
  readonly rows: number;
  readonly events: number;
  readonly chars: number;
}

/** Ours and the bare loops in turns, so that drift hits all alike. */
export async function measureThroughput(
  contestant: AgentContestant,
  { sessions, steps, rounds, warmUpMs, handicap }: LoadOptions,
  folders: Folders,
): Promise<readonly ThroughputRound[]> {
  const folder = folders();
  const agent = await contestant.open(stepScript(steps), folder);
  // The same one that is measured: its store has a thread of its own, which has to warm up, too.
  for (const begun = performance.now(); performance.now() - begun < warmUpMs; )
    await Promise.all(Array.from({ length: sessions }, () => agent.session()));
  const { rows, events, chars } = writtenBySession(join(folder, 'log.db'));
  const single = createJournal(join(folders(), 'bare.db'), 1, chars / rows);
  const several = createJournal(join(folders(), 'bare.db'), events / rows, chars / events);
  const onStore = await openStoreLoop(folders(), { rows, events, chars });
  const perSecond = async (pass: () => unknown) => {
    const started = performance.now();
    for (let time = 0; time < PASSES; time += 1) await pass();
    return (PASSES * sessions * steps * 1000) / (performance.now() - started);
  };
  const run = async () => {
    for (let time = 0; time < handicap; time += 1)
      await Promise.all(Array.from({ length: sessions }, () => agent.session()));
  };
  const taken: ThroughputRound[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const ours = await perSecond(run);
    const bare = await perSecond(() => single.write(sessions, rows));
    const bareByEvent = await perSecond(() => several.write(sessions, rows));
    const bareOnStore = await perSecond(() => onStore.pass(sessions));
    if (round >= 0) taken.push({ ours, bare, bareByEvent, bareOnStore }); // the first warms up the loops
  }
  await agent.close();
  single.close();
  several.close();
  await onStore.close();
  return taken;
}

/** By what is on the log, so that the loops write what ours writes whatever becomes of it. */
function writtenBySession(path: string): Written {
  const db = new DatabaseSync(path, { readOnly: true });
  const { streams, rows, events, chars } = db
    .prepare(
      'SELECT count(DISTINCT stream) AS streams, count(*) AS rows, sum(count) AS events, sum(length(body)) AS chars FROM log',
    )
    .get() as unknown as Written & { readonly streams: number };
  db.close();
  if (streams === 0) throw new Error(`Nothing is on the log in ${path}.`);
  return { rows: rows / streams, events: events / streams, chars: chars / streams };
}

/**
 * A group commit with an fsync for each row that a session of ours has, its first and its last among them, on the thread
 * that has the text already. `inRow`: how many rows it is written in instead.
 */
function createJournal(path: string, inRow: number, chars: number) {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE log (id INTEGER PRIMARY KEY, stream INTEGER, seq INTEGER, body TEXT)');
  const insert = db.prepare('INSERT INTO log (stream, seq, body) VALUES (?, ?, ?)');
  let seq = 0;
  let owed = 0;
  return {
    write(sessions: number, groups: number) {
      for (let group = 0; group < groups; group += 1) {
        db.exec('BEGIN IMMEDIATE');
        for (owed += inRow; owed >= 1; owed -= 1) {
          seq += 1;
          for (let stream = 0; stream < sessions; stream += 1)
            insert.run(stream, seq, `{"seq":${seq},"text":"`.padEnd(chars, 'x'));
        }
        db.exec('COMMIT');
      }
    },
    close: () => db.close(),
  };
}

/** A stream for each session, and its rows one after another, each waited for; the events are written already. */
async function openStoreLoop(folder: string, { rows, events, chars }: Written) {
  const path = join(folder, 'log.db');
  const store = await openSqliteStore({
    path,
    clock: createSystemClock(),
    pid: process.pid,
    durability: 'power',
  });
  const inRow = Math.round(events / rows);
  const lines = Array.from({ length: inRow }, () =>
    '{"text":"'.padEnd(chars / rows / inRow - 3, 'x').concat('"}'),
  );
  let made = 0;
  const session = async () => {
    made += 1;
    const head = { kind: 'session', name: 'bench', status: 'running', title: '' } as const;
    const { writer } = store.begin(`ses_${made}`, head);
    for (let row = 0; row < rows; row += 1)
      await new Promise<void>((resolve, reject) => {
        writer.append({ expectedSeq: row * inRow, events: lines }, (error) =>
          error === undefined ? resolve() : reject(error),
        );
      });
    await writer.release();
  };
  return {
    pass: (sessions: number) => Promise.all(Array.from({ length: sessions }, session)),
    close: () => store.close(),
  };
}

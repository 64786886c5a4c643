import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AgentContestant } from './contestant.ts';
import type { Folders, LoadOptions } from './measurements.ts';
import { stepScript } from './scenario.ts';

/** Steps a second of wall time. */
export interface ThroughputRound {
  readonly ours: number;
  /** The least that a durable log can do: what ours writes in a step, in one row. */
  readonly bare: number;
  /** The same loop with a row for each event; ours puts those of an append into one row. */
  readonly bareByEvent: number;
}

/** Passes of a sample: long enough that a checkpoint of either log falls into most of them. */
const PASSES = 5;
/** What ours writes in a step: from `turn.started` to `action.completed`, 170 characters each. */
const OUR_EVENTS = 8;
const OUR_EVENT_CHARS = 170;

/** Ours and the bare loops in turns, so that drift hits all alike. */
export async function measureThroughput(
  contestant: AgentContestant,
  { sessions, steps, rounds, warmUpMs, handicap }: LoadOptions,
  folders: Folders,
): Promise<readonly ThroughputRound[]> {
  const agent = await contestant.open(stepScript(steps), folders());
  // The same one that is measured: its store has a thread of its own, which has to warm up, too.
  for (const begun = performance.now(); performance.now() - begun < warmUpMs; )
    await Promise.all(Array.from({ length: sessions }, () => agent.session()));
  const single = createJournal(join(folders(), 'bare.db'), 1, OUR_EVENTS * OUR_EVENT_CHARS);
  const several = createJournal(join(folders(), 'bare.db'), OUR_EVENTS, OUR_EVENT_CHARS);
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
    const bare = await perSecond(() => single.write(sessions, steps));
    const bareByEvent = await perSecond(() => several.write(sessions, steps));
    if (round >= 0) taken.push({ ours, bare, bareByEvent }); // the first warms up the loops
  }
  await agent.close();
  single.close();
  several.close();
  return taken;
}

/** A group commit with an fsync for each step of all sessions, on the thread that has the rows already. */
function createJournal(path: string, rows: number, chars: number) {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE log (id INTEGER PRIMARY KEY, stream INTEGER, seq INTEGER, body TEXT)');
  const insert = db.prepare('INSERT INTO log (stream, seq, body) VALUES (?, ?, ?)');
  let seq = 0;
  return {
    write(sessions: number, steps: number) {
      for (let step = 0; step < steps; step += 1) {
        db.exec('BEGIN IMMEDIATE');
        for (let row = 0; row < rows; row += 1) {
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

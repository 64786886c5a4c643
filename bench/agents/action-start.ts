import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, loadAgent, type Model } from '../../telltale/src/index.ts';
import { quantile } from './quantile.ts';
import { PROMPT } from './scenario.ts';
import { atMost, type Verdict } from './verdict.ts';
import { openAction, writeAgent } from './write-agent.ts';

export interface StartLatencies {
  /** Milliseconds from the chunk that closes the tag to the tool's first line. */
  readonly starts: readonly number[];
  /** Milliseconds of a bare commit, one before each start. */
  readonly commits: readonly number[];
}

const MOST_OVER_COMMIT_MS = 1;

export const judgeEarly = ({ starts, commits }: StartLatencies): readonly Verdict[] => [
  atMost(
    `an action starts within a bare commit’s p99 + ${MOST_OVER_COMMIT_MS} ms (p99)`,
    quantile(starts, 0.99) - quantile(commits, 0.99),
    MOST_OVER_COMMIT_MS,
    'ms above it',
  ),
];

/** Long enough for the previous turn's writes to finish. */
const QUIET_MS = 3;
/** These starts are not counted: the tool's module is loaded, and code is still being compiled. */
const WARM_UP = 500;

/**
 * Runs one session. Every turn calls a tool that must not run twice, so the start is committed with an fsync before the
 * tool's first line. `delayMs` is added to each start (a handicap).
 */
export async function measureActionStart(
  folder: string,
  actions: number,
  delayMs: number,
): Promise<StartLatencies> {
  const bare = openBareLog(join(folder, 'bare.db'));
  const starts: number[] = [];
  const commits: number[] = [];
  let closedAt = 0;
  let started: () => void = () => {};
  const agent = await writeAgent(
    folder,
    async () => {
      if (delayMs > 0) await sleep(delayMs);
      starts.push(performance.now() - closedAt);
      started();
      return 'done';
    },
    loadAgent,
  );
  const model: Model = {
    id: 'fake',
    async stream({ turn }, sink) {
      if (turn > WARM_UP + actions) {
        sink.text('<response>Done.</response>');
        return { finish: 'stop' };
      }
      await sleep(QUIET_MS);
      commits.push(bare.commit());
      const ran = new Promise<void>((resolve) => {
        started = resolve;
      });
      sink.text(openAction(`a${turn}`, `supplier-${turn}`));
      closedAt = performance.now();
      sink.text('</action>');
      await ran;
      return { finish: 'stop', usage: { input: 10, output: 10 } };
    },
  };
  const runtime = await createRuntime({
    store: `sqlite:${join(folder, 'log.db')}`,
    durability: 'power',
    cwd: folder,
  });
  const { status, error } = await runtime.start(agent, { input: PROMPT, model }).result;
  await runtime.close();
  bare.close();
  if (status !== 'completed') throw new Error(`The session ended as ${status}: ${error?.message}`);
  return { starts: starts.slice(WARM_UP), commits: commits.slice(WARM_UP) };
}

/** The least a durable log in SQLite can do: one table, one row and one fsync per commit. */
function openBareLog(path: string) {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE log (seq INTEGER PRIMARY KEY, body TEXT)');
  const insert = db.prepare('INSERT INTO log (body) VALUES (?)');
  const body = JSON.stringify({ type: 'action.started', id: 'a1', input: 'x'.repeat(240) });
  return {
    /** Returns the milliseconds it took. */
    commit(): number {
      const before = performance.now();
      db.exec('BEGIN IMMEDIATE');
      insert.run(body);
      db.exec('COMMIT');
      return performance.now() - before;
    },
    close: () => db.close(),
  };
}

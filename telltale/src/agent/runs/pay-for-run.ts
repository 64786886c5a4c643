import { createHash } from 'node:crypto';
import type { RunJournal } from '../../engine/run-log.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import { usageOf } from '../../log/event.ts';
import type { SessionState } from '../../log/state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store } from '../../store/store.ts';
import type { SessionLog } from '../session-log.ts';
import type { RunUsage } from './run-types.ts';

/**
 * What a workflow used that an action calls counts for the session, as what a called agent used does: else its limits and
 * its balance would hold for nothing that it has workflows do. Once, however often its end is heard of.
 */
export function payAsSession(log: SessionLog, action: string, run: string, used: RunUsage): void {
  const { state } = log;
  if (state.children.some((cursor) => cursor.action === action && cursor.session === run)) return;
  charge(log, action, run, used);
}

/** The same for a run that a feed is made by; no action stands for it. Its end is told of once (`pay-for-unpaid.ts`). */
export const payForFeed = (log: SessionLog, feed: string, run: string, used: RunUsage): void =>
  charge(log, `feed:${feed}`, run, used);

function charge(log: SessionLog, action: string, run: string, used: RunUsage): void {
  const { cost_usd, charged } = used;
  log.append({
    type: 'child.usage',
    action,
    child: { session: run, seq: 0 },
    ...(isPaid(used) ? { usage: usageOf(used), cost_usd } : {}),
    ...(charged === 0 ? {} : { charged }),
  });
}

/** The same for a run whose step calls another. Its log names that as the worker: who counts it counts it there. */
export function payAsRun(
  journal: RunJournal,
  called: { readonly run: string; readonly workflow: string; readonly step: string; readonly cause: Cause },
  used: RunUsage,
): void {
  const { run, workflow, step, cause } = called;
  const { state } = journal;
  if (state.ledUsage.has(run)) return;
  const { cost_usd, charged } = used;
  journal.append(
    {
      type: 'model.used',
      step,
      model: `workflow ${workflow}`,
      usage: usageOf(used),
      cost_usd,
      worker: run,
    },
    cause,
  );
  if (charged === 0 || state.balance === undefined) return;
  journal.append(
    { type: 'budget.charged', what: 'artifact', amount: charged, balance: state.balance - charged },
    cause,
  );
}

const isPaid = ({ input, output, cost_usd }: RunUsage): boolean => input + output + cost_usd > 0;

const HASH_CHARS = 16;

/** What a feed asks for. */
export interface FeedRequest {
  readonly workflow: WorkflowManifest;
  readonly input: JsonObject;
  /** The feed that asks, to which what the run uses is put down. */
  readonly feed: string;
}

export interface FeedCall extends FeedRequest {
  /** Of the run. */
  readonly id: string;
}

/** The runs of workflows that a session's feeds are made by. */
export interface FeedRuns {
  /**
   * After a restart: finds those that it cut short, so that whoever asks the same again goes on with them, and pays for
   * those of whose end the session was not told.
   */
  find(): Promise<void>;
  /** Runs the workflow that a feed is made by, and gives its output. */
  run(asked: FeedRequest, signal: AbortSignal): Promise<Json>;
  /**
   * Before a session ends for good: `close` stops those that run, and those that were found and that nobody asked for
   * again are ended, too. Nobody would ever take them up.
   */
  end(close: () => Promise<void>): Promise<void>;
}

export interface FeedRunsDeps {
  readonly state: SessionState;
  readonly store: Pick<Store, 'list'>;
  readonly call: (call: FeedCall, signal: AbortSignal) => Promise<Json>;
  /** Pays for runs of this prefix that have ended and that nobody has paid for, but for those in `open`. */
  readonly payLate: (prefix: string, open: readonly string[]) => Promise<void>;
  /** Ends a run, and resolves when it has ended. */
  readonly end: (id: string, why: RuntimeError) => Promise<void>;
}

/**
 * A run that has ended is never asked for its output again: a feed is of this moment. So each time that a session is
 * taken up its runs have names of their own.
 */
export function createFeedRuns({ state, store, call, payLate, end }: FeedRunsDeps): FeedRuns {
  const prefix = `${state.id}.feed:`;
  const takenUpAt = state.seq;
  let begun = 0;
  let running = 0;
  let left: readonly string[] = [];
  return {
    async find() {
      const open = await store.list({ kind: 'run', parent: state.id, status: ['running', 'waiting'] });
      left = open.map(({ stream }) => stream).filter((stream) => stream.startsWith(prefix));
      await payLate(prefix, left);
    },
    async run(request, signal) {
      const { workflow, input } = request;
      const asked = createHash('sha256')
        .update(`${workflow.name} ${JSON.stringify(input)}`)
        .digest('hex');
      const same = `${prefix}${asked.slice(0, HASH_CHARS)}:`;
      const found = left.find((run) => run.startsWith(same));
      left = left.filter((run) => run !== found);
      running++;
      try {
        return await call({ ...request, id: found ?? `${same}${takenUpAt}:${++begun}` }, signal);
      } finally {
        running--;
      }
    },
    async end(close) {
      if (running > 0) await close();
      const others = left;
      left = [];
      await Promise.all(others.map((run) => end(run, notAskedAgain())));
    },
  };
}

const notAskedAgain = () =>
  new RuntimeError('cancelled', 'The session that it was loaded for has ended without it.');

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
 * Records the usage of a called workflow in the session, so that the session's limits and balance include it.
 * Repeated calls for the same run record it once.
 */
export function recordRunUsage(log: SessionLog, action: string, run: string, used: RunUsage): void {
  const { state } = log;
  if (state.children.some((cursor) => cursor.action === action && cursor.session === run)) return;
  appendUsage(log, action, run, used);
}

/** Records the usage of a feed's run in the session. It belongs to no action. Call it once per run. */
export const recordFeedUsage = (log: SessionLog, feed: string, run: string, used: RunUsage): void =>
  appendUsage(log, `feed:${feed}`, run, used);

function appendUsage(log: SessionLog, action: string, run: string, used: RunUsage): void {
  const { cost_usd, charged } = used;
  log.append({
    type: 'child.usage',
    action,
    child: { session: run, seq: 0 },
    ...(hasModelUsage(used) ? { usage: usageOf(used), cost_usd } : {}),
    ...(charged === 0 ? {} : { charged }),
  });
}

/**
 * Records the usage of a called run in the run that called it. The log names the called run as the worker.
 */
export function recordCalledUsage(
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

const hasModelUsage = ({ input, output, cost_usd }: RunUsage): boolean => input + output + cost_usd > 0;

const HASH_CHARS = 16;

/** A request of a feed to run a workflow. */
export interface FeedRequest {
  readonly workflow: WorkflowManifest;
  readonly input: JsonObject;
  /** The feed that the usage is attributed to. */
  readonly feed: string;
}

export interface FeedCall extends FeedRequest {
  /** The id of the run. */
  readonly id: string;
}

/** The workflow runs of a session's feeds. */
export interface FeedRuns {
  /**
   * After a restart: finds interrupted runs, so that the same request continues them, and records usage that
   * is missing on the session's log.
   */
  find(): Promise<void>;
  /** Runs the workflow of a feed and resolves with its output. */
  run(asked: FeedRequest, signal: AbortSignal): Promise<Json>;
  /**
   * Before a session ends for good: `close` stops running feeds, and interrupted runs that were not requested
   * again are ended, because nobody would resume them.
   */
  end(close: () => Promise<void>): Promise<void>;
}

export interface FeedRunsDeps {
  readonly state: SessionState;
  readonly store: Pick<Store, 'list'>;
  readonly call: (call: FeedCall, signal: AbortSignal) => Promise<Json>;
  /** Records the missing usage of ended runs with this prefix, except those in `open`. */
  readonly recordMissing: (prefix: string, open: readonly string[]) => Promise<void>;
  /** Cancels a run and resolves when it has ended. */
  readonly end: (id: string, why: RuntimeError) => Promise<void>;
}

/**
 * The output of an ended run is never reused, because a feed shows the current state. So run names differ
 * each time the session is resumed.
 */
export function createFeedRuns({ state, store, call, recordMissing, end }: FeedRunsDeps): FeedRuns {
  const prefix = `${state.id}.feed:`;
  const takenUpAt = state.seq;
  let begun = 0;
  let running = 0;
  let left: readonly string[] = [];
  return {
    async find() {
      const open = await store.list({ kind: 'run', parent: state.id, status: ['running', 'waiting'] });
      left = open.map(({ stream }) => stream).filter((stream) => stream.startsWith(prefix));
      await recordMissing(prefix, left);
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

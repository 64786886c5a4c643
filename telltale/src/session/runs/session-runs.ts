import type { StartedRun } from '../../events/reaction-state.ts';
import type { SessionState } from '../../events/state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { stopWith } from '../../kernel/stop-with.ts';
import type { PerformCall } from '../../scheduler/edges.ts';
import type { Store } from '../../store/store.ts';
import { childId } from '../children/child-id.ts';
import type { Lineage } from '../children/lineage.ts';
import { leadRun } from '../guide/lead-run.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import type { SessionLog } from '../session-log.ts';
import { isLetGo, type Stop } from '../stop.ts';
import type { Runs } from './create-runs.ts';
import { createFeedRuns, type FeedCall, type FeedRuns } from './feed-runs.ts';
import { workflowUnknown } from './find-workflow.ts';
import { forwardAwaited } from './forward-awaited.ts';
import { payAsSession, payForFeed } from './pay-for-run.ts';
import { payForUnpaid } from './pay-for-unpaid.ts';
import type { SessionOrders } from './session-orders.ts';

export interface SessionRunsDeps {
  readonly runs: Runs;
  readonly store: Store;
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly lineage: Lineage | undefined;
  readonly orders: SessionOrders;
}

/** The workflow runs of one session: those that its triggers start, and those that its actions call. */
export interface SessionRuns {
  /** Begins the run of a `trigger.fired`, once that is committed. */
  start(started: StartedRun): void;
  cancel(run: string, reason: string): void;
  /** After a restart: goes on with those that have not ended, and learns the end of those that have. */
  reconcile(): Promise<void>;
  /** Runs the workflow that an action calls. */
  call(call: PerformCall): Promise<Json>;
  /** Runs the workflow that a feed is made by, and gives its output. What it used counts for the session. */
  feed(name: string, input: JsonObject, signal: AbortSignal, feed: string): Promise<Json>;
  /** Those that feeds are made by. */
  readonly ofFeeds: Pick<FeedRuns, 'find' | 'end'>;
  /** Ends what its triggers started: the session is cancelled. */
  cancelAll(reason: string): void;
  /**
   * Resolves once every run that was started is there, or cannot be, and every cancellation is on its way: who ends
   * before that leaves behind a log that tells of runs which nobody will ever make. Undefined where that is so now.
   */
  settled(): Promise<unknown> | undefined;
}

export function createSessionRuns(deps: SessionRunsDeps): SessionRuns {
  const { runs, prepared, log, stop, orders } = deps;
  const { state } = log;
  const { agent } = prepared;
  const model = prepared.model.id === agent.manifest.model ? undefined : prepared.model;
  const ground = { agent, model, ofSession: true } as const;
  const fail = (error: unknown) => stop.now({ kind: 'lost', error: toRuntimeError(error) });
  const underWay = new Set<Promise<void>>();
  const keep = (work: Promise<void>): Promise<void> => {
    const kept = work.catch(fail).finally(() => underWay.delete(kept));
    underWay.add(kept);
    return kept;
  };
  const callForFeed = ({ id, workflow, input, feed }: FeedCall, signal: AbortSignal) =>
    runs.call({
      id,
      workflow,
      ground,
      input,
      cause: undefined,
      signal,
      onUsed: (used) => payForFeed(log, feed, id, used),
      balance: state.balance,
      origin: {
        session: { id: state.id, seq: state.seq },
        chain: [workflow.name],
        agents: agentsAbove(state),
      },
      isLetGo: () => isLetGo(stop),
    });
  const ofFeeds = createFeedRuns({
    state,
    store: deps.store,
    call: callForFeed,
    payLate: (prefix, open) => payForUnpaid(log, deps.store, prefix, open),
    end: (id, why) => keep(endForFeed(id, why)),
  });
  const endForFeed = async (id: string, why: RuntimeError) => {
    const { workflow: name, input } = await runs.state(id);
    const workflow = prepared.workflows.get(name);
    if (workflow === undefined) return runs.end(id, why.message, 'session');
    const ending = new AbortController();
    const ended = callForFeed({ id, workflow, input, feed: workflow.name }, ending.signal);
    stopWith(ending, why);
    await ended.catch(() => undefined); // that it was cancelled is what was wanted
  };
  /** Runs whose streams are being made, or looked for. */
  const beginning = new Map<string, Promise<void>>();

  const makeOrFind = async (started: StartedRun) => {
    const ended = await runs.begin({
      session: state.id,
      ground,
      started,
      balance: state.balance,
      group: deps.lineage?.group ?? state.id,
      agents: agentsAbove(state),
    });
    if (ended !== undefined) orders.ended(ended);
  };
  const begin = (started: StartedRun): Promise<void> => {
    const { run, seq } = started;
    const committed = new Promise<boolean>((resolve) =>
      log.committed(seq, (error) => resolve(error === undefined)),
    );
    const begun = keep(committed.then((isCommitted) => (isCommitted ? makeOrFind(started) : undefined)));
    beginning.set(run, begun);
    void begun.then(() => beginning.delete(run));
    return begun;
  };
  /** Nothing can be said to a run before its stream is there, which a `trigger.fired` is ahead of. */
  const whenThere = (run: string, then: () => Promise<void>) => {
    void keep(Promise.resolve(beginning.get(run)).then(then));
  };
  const end = (run: string, reason: string, by: string) => whenThere(run, () => runs.end(run, reason, by));
  /** Runs that actions call: the promise is settled once the stream is there, or never will be. */
  const called = new Map<string, { readonly workflow: string; readonly there: Promise<boolean> }>();
  forwardAwaited({
    workflows: prepared.workflows,
    log,
    runs,
    store: deps.store,
    open: () => [
      ...state.runs,
      ...[...called].map(([run, { workflow }]) => ({ run, workflow })),
      ...leading(prepared, state),
    ],
    whenThere(run, then) {
      const there = run === leadRun(state.id) ? isThere(deps.store, run) : called.get(run)?.there;
      if (there === undefined) whenThere(run, then);
      else void keep(there.then((isMade) => (isMade ? then() : undefined)));
    },
  });
  return {
    start(started) {
      void begin(started);
    },
    cancel: (run, reason) => end(run, reason, 'trigger'),
    async reconcile() {
      await Promise.all(state.runs.map(begin));
    },
    cancelAll(reason) {
      for (const { run } of state.runs) end(run, `Its session was cancelled: ${reason}`, 'session');
    },
    settled: () => (underWay.size === 0 ? undefined : allSettled(underWay)),
    async feed(name, input, signal, feed) {
      const workflow = prepared.workflows.get(name);
      if (workflow === undefined) throw workflowUnknown(agent, name, [...prepared.workflows.keys()]);
      await log.flushed();
      signal.throwIfAborted();
      return ofFeeds.run({ workflow, input, feed }, signal);
    },
    ofFeeds,
    async call({ action, input, cause, signal }) {
      const workflow = prepared.workflows.get(action.name);
      if (workflow === undefined) throw workflowUnknown(agent, action.name, [...prepared.workflows.keys()]);
      await log.flushed(); // a run that nobody remembers would be lost
      signal.throwIfAborted();
      const id = childId(state, action.id);
      let settle: (isThere: boolean) => void = () => undefined;
      const there = new Promise<boolean>((resolve) => {
        settle = resolve;
      });
      called.set(id, { workflow: workflow.name, there });
      const over = () => {
        called.delete(id);
        settle(false);
      };
      return runs
        .call({
          id,
          workflow,
          ground,
          input,
          cause,
          signal,
          onMade: () => settle(true),
          onUsed: (used) => payAsSession(log, action.id, id, used),
          balance: state.balance,
          origin: {
            session: { id: state.id, seq: state.seq },
            action: action.id,
            chain: [workflow.name],
            agents: agentsAbove(state),
          },
          isLetGo: () => isLetGo(stop),
        })
        .finally(over);
    },
  };
}

/** What is kept while it waits counts, too. */
async function allSettled(underWay: ReadonlySet<Promise<void>>): Promise<void> {
  while (underWay.size > 0) await Promise.all(underWay);
}

const agentsAbove = ({ parent, agent }: SessionState): readonly string[] => [
  ...(parent?.agents ?? []),
  agent,
];

/** The run that leads the session, where its agent has a workflow of its own. */
const leading = ({ agent }: PreparedAgent, { id, led }: SessionState) =>
  led === true && agent.manifest.workflow !== null
    ? [{ run: leadRun(id), workflow: agent.manifest.workflow }]
    : [];

const isThere = async (store: Pick<Store, 'info'>, run: string): Promise<boolean> => {
  const status = (await store.info(run))?.status;
  return status === 'running' || status === 'waiting';
};

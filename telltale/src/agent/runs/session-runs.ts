import { readRun } from '../../engine/read-run.ts';
import { type RuntimeError, stopWith, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { SessionEvent } from '../../log/event.ts';
import type { SessionState, StartedRun } from '../../log/state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { PerformCall } from '../../scheduler/scheduler-deps.ts';
import type { Store } from '../../store/store.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import { childId } from '../children/child-id.ts';
import type { Lineage } from '../children/child-session.ts';
import { leadRun } from '../guided/guidance.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import type { SessionLog } from '../session-log.ts';
import { isReleased, type Stop } from '../stop.ts';
import type { Runs } from './create-runs.ts';
import { workflowUnknown } from './find-workflow.ts';
import { isOver, resultOf } from './run-types.ts';
import {
  createFeedRuns,
  type FeedCall,
  type FeedRuns,
  recordFeedUsage,
  recordRunUsage,
} from './run-usage.ts';
import type { SessionCommands } from './session-commands.ts';

export interface SessionRunsDeps {
  readonly runs: Runs;
  readonly store: Store;
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly lineage: Lineage | undefined;
  readonly orders: SessionCommands;
}

/**
 * The workflow runs of one session: started by its triggers, called by its actions, and made for its feeds.
 */
export interface SessionRuns {
  /** Starts the run of a `trigger.fired` after its commit. */
  start(started: StartedRun): void;
  cancel(run: string, reason: string): void;
  /** After a restart: continues open runs and records the ends of the others. */
  reconcile(): Promise<void>;
  /** Runs the workflow that an action calls. */
  call(call: PerformCall): Promise<Json>;
  /** Runs the workflow of a feed and resolves with its output. Its usage counts for the session. */
  feed(name: string, input: JsonObject, signal: AbortSignal, feed: string): Promise<Json>;
  /** The runs of feeds. */
  readonly ofFeeds: Pick<FeedRuns, 'find' | 'end'>;
  /** Cancels the runs of triggers, because the session is cancelled. */
  cancelAll(reason: string): void;
  /**
   * Resolves once every started run exists or has failed to start, and every cancellation is sent. A session
   * that ended earlier would leave runs on its log that nobody creates. Undefined if there is nothing to wait
   * for.
   */
  settled(): Promise<unknown> | undefined;
}

export function createSessionRuns(deps: SessionRunsDeps): SessionRuns {
  const { runs, prepared, log, stop, orders } = deps;
  const { state } = log;
  const { agent } = prepared;
  const model = prepared.model.id === agent.manifest.model ? undefined : prepared.model;
  const agentSource = { agent, model, ofSession: true } as const;
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
      agentSource,
      input,
      cause: undefined,
      signal,
      onUsed: (used) => recordFeedUsage(log, feed, id, used),
      balance: state.balance,
      origin: {
        session: { id: state.id, seq: state.seq },
        chain: [workflow.name],
        agents: agentsAbove(state),
      },
      isReleased: () => isReleased(stop),
    });
  const ofFeeds = createFeedRuns({
    state,
    store: deps.store,
    call: callForFeed,
    recordMissing: (prefix, open) => recordMissingUsage(log, deps.store, prefix, open),
    end: (id, why) => keep(endForFeed(id, why)),
  });
  const endForFeed = async (id: string, why: RuntimeError) => {
    const { workflow: name, input } = await runs.state(id);
    const workflow = prepared.workflows.get(name);
    if (workflow === undefined) return runs.end(id, why.message, 'session');
    const ending = new AbortController();
    const ended = callForFeed({ id, workflow, input, feed: workflow.name }, ending.signal);
    stopWith(ending, why);
    await ended.catch(() => undefined); // the cancellation is expected
  };
  /** Runs whose streams are being created or looked up. */
  const beginning = new Map<string, Promise<void>>();

  const makeOrFind = async (started: StartedRun) => {
    const ended = await runs.begin({
      session: state.id,
      agentSource,
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
  /** A run can get messages only once its stream exists, which is after its `trigger.fired`. */
  const whenThere = (run: string, then: () => Promise<void>) => {
    void keep(Promise.resolve(beginning.get(run)).then(then));
  };
  const end = (run: string, reason: string, by: string) => whenThere(run, () => runs.end(run, reason, by));
  /** Runs that actions call. The promise settles once the stream exists or has failed. */
  const called = new Map<string, { readonly workflow: string; readonly there: Promise<boolean> }>();
  forwardAwaited({
    workflows: prepared.workflows,
    log,
    runs,
    store: deps.store,
    open: () => [
      ...state.runs,
      ...Array.from(called, ([run, { workflow }]) => ({ run, workflow })),
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
      await log.flushed(); // a run that is not on the session's log would be lost
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
          agentSource,
          input,
          cause,
          signal,
          onMade: () => settle(true),
          onUsed: (used) => recordRunUsage(log, action.id, id, used),
          balance: state.balance,
          origin: {
            session: { id: state.id, seq: state.seq },
            action: action.id,
            chain: [workflow.name],
            agents: agentsAbove(state),
          },
          isReleased: () => isReleased(stop),
        })
        .finally(over);
    },
  };
}

/** Also waits for promises that are added meanwhile. */
async function allSettled(underWay: ReadonlySet<Promise<void>>): Promise<void> {
  while (underWay.size > 0) await Promise.all(underWay);
}

const agentsAbove = ({ parent, agent }: SessionState): readonly string[] => [
  ...(parent?.agents ?? []),
  agent,
];

/** The run that guides the session, if its agent has a workflow. */
const leading = ({ agent }: PreparedAgent, { id, led }: SessionState) =>
  led === true && agent.manifest.workflow !== null
    ? [{ run: leadRun(id), workflow: agent.manifest.workflow }]
    : [];

const isThere = async (store: Pick<Store, 'info'>, run: string): Promise<boolean> => {
  const status = (await store.info(run))?.status;
  return status === 'running' || status === 'waiting';
};

/**
 * The newest runs of a session that are checked. A run with an unreported end was running when the process
 * died.
 */
const MAX_LISTED = 256;
/** How many of them may be runs of feeds. At most 16 run at a time. */
const MAX_READ = 64;
/** Events at the end of the session's log that are searched for recorded usage. */
const MAX_LOOKED_AT = 1_000;

/**
 * After a restart: records the usage of feed runs that ended without a `child.usage` on the session's log.
 * Runs in `open` are still running. Only runs that started after the first searched event count, so that none
 * is recorded twice. The feed that asked is no longer known.
 */
async function recordMissingUsage(
  log: SessionLog,
  store: Store,
  prefix: string,
  open: readonly string[],
): Promise<void> {
  const { id: session, seq: head } = log.state;
  const known = await store.list({ kind: 'run', parent: session, limit: MAX_LISTED });
  const ended = known
    .filter(({ stream, head: last }) => stream.startsWith(prefix) && last > 0 && !open.includes(stream))
    .slice(0, MAX_READ);
  if (ended.length === 0) return;
  const from = Math.max(1, head - MAX_LOOKED_AT + 1);
  const paid = await recordedFrom(store, session, from);
  for (const { stream } of ended) {
    if (paid.has(stream)) continue;
    const state = await readRun(store, stream);
    const { used } = resultOf(state);
    const isWhole = (state.origin.session?.seq ?? 0) >= from - 1;
    if (used !== undefined && isWhole && isOver(state.status))
      recordFeedUsage(log, state.workflow, stream, used);
  }
}

async function recordedFrom(store: Store, session: string, from: number): Promise<ReadonlySet<string>> {
  const paid = new Set<string>();
  for (const line of await store.read(session, { from, limit: MAX_LOOKED_AT })) {
    const event = decodeEvent(line, session);
    if (event.type === 'child.usage') paid.add(event.child.session);
  }
  return paid;
}

/** An open run of the session that events are forwarded to. */
export interface ForwardTarget {
  readonly run: string;
  readonly workflow: string;
}

export interface ForwardOptions {
  readonly workflows: ReadonlyMap<string, WorkflowManifest>;
  readonly log: Pick<SessionLog, 'state' | 'react' | 'committed'>;
  readonly runs: Pick<Runs, 'pass'>;
  readonly store: Pick<Store, 'list'>;
  /** The open runs, including those whose streams are being created. */
  readonly open: () => readonly ForwardTarget[];
  /** Calls `then` once the stream of the run exists. */
  readonly whenThere: (run: string, then: () => Promise<void>) => void;
}

const ALIVE = ['running', 'waiting'];

/** Forwards events of the session to `wait` steps of its runs and of the runs that they call. */
function forwardAwaited({ workflows, log, runs, store, open, whenThere }: ForwardOptions): void {
  const own = new Map<string, ReadonlySet<string>>();
  const all = new Map<string, ReadonlySet<string>>();
  for (const [name, workflow] of workflows) {
    own.set(name, awaitedTypes(workflow, NO_OTHERS));
    all.set(name, awaitedTypes(workflow, workflows));
  }
  if (![...all.values()].some(({ size }) => size > 0)) return;
  const { state } = log;
  const pass = async (to: ForwardTarget, event: SessionEvent, data: JsonObject): Promise<void> => {
    const { run, workflow } = to;
    const isOwn = 'run' in event && event.run === run;
    const mine = own.get(workflow)?.has(event.type) === true;
    if (mine && !isOwn) await runs.pass(run, event.type, data, state.id);
    if (!callsOneThatAwaits(workflow, event.type)) return;
    for (const below of await store.list({ kind: 'run', parent: run, status: ALIVE }))
      await pass({ run: below.stream, workflow: below.name }, event, data);
  };
  const callsOneThatAwaits = (workflow: string, type: string): boolean => {
    const manifest = workflows.get(workflow);
    if (manifest === undefined || all.get(workflow)?.has(type) !== true) return false;
    return calledBy(manifest).some((name) => all.get(name)?.has(type) === true);
  };
  log.react((event) => {
    const waiting = open().filter(({ workflow }) => all.get(workflow)?.has(event.type) === true);
    if (waiting.length === 0) return;
    log.committed(event.seq, (error) => {
      if (error !== undefined) return;
      const data = JSON.parse(JSON.stringify(event)) as JsonObject;
      for (const to of waiting) whenThere(to.run, () => pass(to, event, data));
    });
  });
}

const NO_OTHERS: ReadonlyMap<string, WorkflowManifest> = new Map();

/** The types of events that `wait` steps of a workflow, and of the workflows that it calls, wait for. */
function awaitedTypes(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): ReadonlySet<string> {
  const types = new Set<string>();
  const reached = new Set([workflow]);
  // Iterating over a Set includes values that are added on the way.
  for (const manifest of reached)
    for (const step of allSteps(manifest)) {
      if (step.type === 'wait' && 'event' in step) types.add(step.event);
      const called = step.type === 'workflow' ? all.get(step.target) : undefined;
      if (called !== undefined) reached.add(called);
    }
  return types;
}

/** The workflows that steps of a workflow call. */
const calledBy = (workflow: WorkflowManifest): readonly string[] =>
  allSteps(workflow).flatMap((step) => (step.type === 'workflow' ? [step.target] : []));

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
import { isLetGo, type Stop } from '../stop.ts';
import type { Runs } from './create-runs.ts';
import { workflowUnknown } from './find-workflow.ts';
import { createFeedRuns, type FeedCall, type FeedRuns, payAsSession, payForFeed } from './pay-for-run.ts';
import { isOver, resultOf } from './run-types.ts';
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

/** Of a session's runs, the newest: one of whose end nobody was told was under way when the process died. */
const MAX_LISTED = 256;
/** Of those, runs of feeds; 16 are under way at a time. */
const MAX_READ = 64;
/** Events at the end of the session's log that are looked through for what was paid. */
const MAX_LOOKED_AT = 1_000;

/**
 * After a restart: pays for runs of feeds that have ended without a `child.usage` on the session's log, since the process
 * died in between. Of those in `open` the end is still to be heard of. Only runs count that began behind the first event
 * that is looked at, so that none is paid for twice; which feed asked is not known any more.
 */
async function payForUnpaid(
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
  const paid = await paidFrom(store, session, from);
  for (const { stream } of ended) {
    if (paid.has(stream)) continue;
    const state = await readRun(store, stream);
    const { used } = resultOf(state);
    const isWhole = (state.origin.session?.seq ?? 0) >= from - 1;
    if (used !== undefined && isWhole && isOver(state.status)) payForFeed(log, state.workflow, stream, used);
  }
}

async function paidFrom(store: Store, session: string, from: number): Promise<ReadonlySet<string>> {
  const paid = new Set<string>();
  for (const line of await store.read(session, { from, limit: MAX_LOOKED_AT })) {
    const event = decodeEvent(line, session);
    if (event.type === 'child.usage') paid.add(event.child.session);
  }
  return paid;
}

/** A run of the session that triggers started or an action calls, and has not ended. */
export interface ForwardedTo {
  readonly run: string;
  readonly workflow: string;
}

export interface ForwardDeps {
  readonly workflows: ReadonlyMap<string, WorkflowManifest>;
  readonly log: Pick<SessionLog, 'state' | 'react' | 'committed'>;
  readonly runs: Pick<Runs, 'pass'>;
  readonly store: Pick<Store, 'list'>;
  /** Those that there are, or will be once their streams are made. */
  readonly open: () => readonly ForwardedTo[];
  /** Does it once the stream of the run is there, if it ever is. */
  readonly whenThere: (run: string, then: () => Promise<void>) => void;
}

const ALIVE = ['running', 'waiting'];

/** Passes on events of the session that steps of its runs wait for, and steps of those that they call. */
function forwardAwaited({ workflows, log, runs, store, open, whenThere }: ForwardDeps): void {
  const own = new Map<string, ReadonlySet<string>>();
  const all = new Map<string, ReadonlySet<string>>();
  for (const [name, workflow] of workflows) {
    own.set(name, awaitedTypes(workflow, NO_OTHERS));
    all.set(name, awaitedTypes(workflow, workflows));
  }
  if (![...all.values()].some(({ size }) => size > 0)) return;
  const { state } = log;
  const pass = async (to: ForwardedTo, event: SessionEvent, data: JsonObject): Promise<void> => {
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

/** The types of events that steps of a workflow, and of those that it calls, wait for. */
function awaitedTypes(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): ReadonlySet<string> {
  const types = new Set<string>();
  const reached = new Set([workflow]);
  // A Set is walked in the order of insertion, with what is added on the way.
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

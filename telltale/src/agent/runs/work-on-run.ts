import type { WorkEnd } from '../../engine/engine.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Cause } from '../../log/event.ts';
import { turnBehind } from '../../log/run-event.ts';
import type { RunState, StepState } from '../../log/run-state.ts';
import { liftingWrites, QUARANTINED } from '../../store/quarantine.ts';
import { changedFiles, codeFilesOf } from '../code-files.ts';
import { type ManualLimit, manualLimit } from '../triggers/concurrency-limit.ts';
import { type QueueResult, REPLACED, type RunQueue } from '../triggers/run-queue.ts';
import { followSession } from './accept-changes.ts';
import { acquireRun, type HeldRun } from './open-run.ts';
import {
  openRunEnvironment,
  type RunEnvironment,
  type RunsDeps,
  readAgentSource,
} from './run-environment.ts';
import { runQuarantined } from './run-errors.ts';
import { createRunInbox } from './run-inbox.ts';
import { reportRunEnd } from './run-messages.ts';
import type { CreateRunWalk, RunEntry, RunRegistry, RunWalkEnd } from './run-registry.ts';
import { isOver, type RunResult, resultOf } from './run-types.ts';
import { keepWaiting, stillWaits } from './waiting-runs.ts';

export interface WorkDeps extends RunsDeps {
  readonly registry: RunRegistry;
  readonly createRunWalk: CreateRunWalk;
  readonly runQueue: RunQueue;
}

/** When to try again if a run cannot be worked on for now and nobody waits for it here. */
const LOOK_AGAIN_MS = 60_000;
/** When to try again if another process owns the run. */
const OWNED_MS = 500;

/** Works on a run until it has ended, or has nothing to do until a time or a message. */
export async function workOnRun(
  deps: WorkDeps,
  run: string,
  signal: AbortSignal,
  taken: () => void,
): Promise<WorkEnd> {
  const { registry } = deps;
  const entry = registry.entry(run);
  try {
    const held = await take(deps, entry);
    if ('kind' in held) return held;
    let end: WorkEnd;
    try {
      end = await work(deps, entry, held, signal, taken);
    } finally {
      await held.writer.release();
    }
    const { waiting } = held.journal.state;
    // Notify only after the stream is released, because a listener may resume the run at once.
    if (end.kind !== 'waiting' || entry.suspended === undefined || waiting === undefined) return end;
    registry.notify(run, ({ onWaiting }) => onWaiting?.(waiting));
    await undefined; // lets listeners unsubscribe first
    return keepWaiting(deps, entry, held, end);
  } catch (thrown) {
    const isHeard = entry.listeners.size > 0;
    registry.notify(run, ({ onError }) => onError(thrown));
    registry.forget(run);
    if (isHeard) return { kind: 'done' };
    // A store that is full or locked may recover. The run is unchanged on its log.
    const error = toRuntimeError(thrown);
    if (error.retryable) return unable(error, deps.clock.now() + LOOK_AGAIN_MS);
    deps.onError(thrown);
    return unable(error);
  }
}

const unable = (
  { code, message, retryable }: Pick<RuntimeError, 'code' | 'message' | 'retryable'>,
  due?: number,
): WorkEnd => ({
  kind: 'unable',
  why: { code, message, retryable },
  ...(due === undefined ? {} : { due }),
});

/** Leaves a quarantined run alone. Its messages stay on its log or in its inbox. */
function stayQuarantined({ registry }: WorkDeps, { run, listeners }: RunEntry): WorkEnd {
  if (listeners.size > 0) registry.notify(run, ({ onError }) => onError(runQuarantined(run)));
  registry.forget(run);
  return { kind: 'done' };
}

/** Acquires the run's stream. If another process owns it, listeners keep waiting. */
async function take(deps: WorkDeps, entry: RunEntry): Promise<HeldRun | WorkEnd> {
  const { registry, clock } = deps;
  const { fresh } = entry;
  entry.fresh = undefined;
  if (fresh !== undefined) return fresh;
  try {
    const info = await deps.store.info(entry.run);
    if (info?.status === QUARANTINED && entry.liftsQuarantine !== true) return stayQuarantined(deps, entry);
    // An earlier resume does not lift a new quarantine.
    entry.liftsQuarantine = info?.status === QUARANTINED;
    return await acquireRun(deps, entry.run);
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || thrown.code !== 'stream_owned') throw thrown;
    registry.notify(entry.run, ({ onOwned }) => onOwned?.(thrown));
    const isFirst = entry.wasOwned !== true;
    entry.wasOwned = true;
    // Its owner may be about to release it without seeing why it was dispatched. A fleet finds that by
    // itself.
    const looksAgain = isFirst && deps.engine.remembers === 'here';
    if (entry.listeners.size > 0 || looksAgain) return { kind: 'waiting', due: clock.now() + OWNED_MS };
    if (entry.suspended === undefined) registry.forget(entry.run);
    return { kind: 'done' };
  }
}

async function work(
  deps: WorkDeps,
  entry: RunEntry,
  held: HeldRun,
  signal: AbortSignal,
  taken: () => void,
): Promise<WorkEnd> {
  const { journal, writer } = held;
  const { state } = journal;
  if (isOver(state.status)) return leave(deps, entry, resultOf(state));
  const wait = await stillWaits(deps, entry, held);
  if (wait !== undefined) {
    const waiting = state.waiting ?? { for: 'nothing' };
    deps.registry.notify(entry.run, ({ onWaiting }) => onWaiting?.(waiting));
    return wait;
  }
  deps.registry.resume(entry);
  const environment = await findEnvironment(deps, entry, held);
  if ('kind' in environment) return environment;
  taken();
  deps.registry.notify(entry.run, ({ onWork }) => onWork?.());
  if (state.seq > 1)
    journal.append(
      {
        type: 'workflow.resumed',
        by: entry.resumedBy ?? 'runtime',
        ...filesNow(state.manifest, environment),
      },
      undefined,
      entry.liftsQuarantine === true ? { writes: liftingWrites(entry.run) } : undefined,
    );
  entry.liftsQuarantine = false;
  entry.resumedBy = undefined;
  // Its session or its caller was resumed with a changed agent, so this run continues with that agent.
  if (environment.agent.hash !== state.manifest.hash)
    journal.append(followSession(state, environment.agent, environment.workflow));
  const runWalk = await deps.createRunWalk({ held, environment, entry });
  const inbox = createRunInbox({
    writer,
    journal,
    cancel: runWalk.cancel,
    onError: (error) => runWalk.release(toRuntimeError(error)),
  });
  entry.cancel = (reason, by) => {
    if (state.cancelling === undefined) journal.append({ type: 'workflow.cancelling', reason, by });
    runWalk.cancel(reason, by);
  };
  entry.live = {
    journal,
    take(message) {
      inbox.take(message);
      for (const look of [...entry.wakeListeners]) look();
    },
  };
  let isReleased = false;
  const release = () => {
    isReleased = true;
    runWalk.release();
  };
  entry.release = release;
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
  held.onLost(release);
  try {
    // Later messages wake the inbox. A new run cannot have messages yet.
    if (state.seq > 1) await inbox.now();
    else if (!held.isNew()) inbox.now().catch((thrown) => runWalk.release(toRuntimeError(thrown)));
    if (state.cancelling !== undefined) runWalk.cancel(state.cancelling.reason, state.cancelling.by);
    const gate = manualLimit(environment.workflow, state.manifest.agent, state.origin);
    const walk = async () =>
      (gate === undefined ? undefined : await waitInQueue(deps, gate, held)) ?? runWalk.run();
    const end = await walk().catch(brokenOff(held));
    return await settleWalk(deps, entry, held, end, {
      hasUnseen: () => inbox.lastDelivered() > runWalk.seen(),
      isReleased: () => isReleased,
      // Before anybody is notified of the end, because the listener may end this process.
      leaveQueue: async () => gate && deps.runQueue.leave(gate, state.id).catch(deps.onError),
    });
  } finally {
    signal.removeEventListener('abort', release);
    entry.cancel = undefined;
    entry.release = undefined;
    entry.live = undefined;
    inbox.close();
    deps.shelf.release(environment.prepared);
  }
}

/** Files of the agent that have changed since the run was pinned to them. They are recorded on the log. */
function filesNow({ files: before }: RunState['manifest'], { agent }: RunEnvironment) {
  if (before === undefined) return {};
  const files = codeFilesOf(agent);
  const changed = changedFiles(agent, before);
  return changed.length === 0 ? {} : { changed_files: changed, files: { ...before, ...files } };
}

/**
 * Opens the run's environment. If that fails and nobody waits for the run here, the log or the engine records
 * why.
 */
async function findEnvironment(
  deps: WorkDeps,
  entry: RunEntry,
  held: HeldRun,
): Promise<RunEnvironment | WorkEnd> {
  const { journal } = held;
  const { state } = journal;
  try {
    if (entry.agentSource === undefined) {
      entry.agentSource = await readAgentSource(state, deps);
      entry.isSourceRead = true;
    }
    return await openRunEnvironment(deps, entry.agentSource, state.workflow);
  } catch (thrown) {
    entry.agentSource = undefined;
    if (entry.listeners.size > 0) throw thrown;
    deps.registry.forget(entry.run);
    const error = toRuntimeError(thrown);
    const { message, hint = '' } = error;
    // In a fleet another process may be able to. If none can, the run is quarantined.
    if (deps.engine.remembers === 'here')
      journal.append({ type: 'audit', who: 'runtime', what: `It cannot go on here. ${message} ${hint}` });
    return unable(error);
  }
}

/**
 * An error that escapes from a walk is a bug, unless the log was lost. The run fails with it instead of
 * hanging.
 */
const brokenOff =
  ({ lost }: HeldRun) =>
  (thrown: unknown): RunWalkEnd =>
    lost() === undefined ? { kind: 'failed', error: toRuntimeError(thrown).toJSON() } : { kind: 'stopped' };

/**
 * The run ahead of a queued run may crash before it wakes the queued one. So a queued run checks by itself,
 * each time after twice as long.
 */
const FIRST_LOOK_MS = 60_000;
const LAST_LOOK_MS = 1_800_000;
/** When to try again after an error of the store. */
const RETRY_MS = 10_000;

/**
 * Waits in the queue of the workflow's `concurrency`. A run that has begun or is being cancelled does not
 * queue. Undefined means that the run may continue.
 */
async function waitInQueue(
  { runQueue, clock }: { readonly runQueue: RunQueue; readonly clock: Clock },
  gate: ManualLimit,
  { journal: { state } }: HeldRun,
): Promise<RunWalkEnd | undefined> {
  if (state.cancelling !== undefined || state.steps.size > 0) return undefined;
  const now = clock.now();
  const due = now + Math.min(Math.max(now - state.startedAt, FIRST_LOOK_MS), LAST_LOOK_MS);
  let taken: QueueResult;
  try {
    taken = await runQueue.enter(gate, state.id, state.origin.session?.id);
  } catch (thrown) {
    if (!toRuntimeError(thrown).retryable) throw thrown;
    return { kind: 'parked', for: turnBehind('whoever has it'), due: now + RETRY_MS };
  }
  if (state.cancelling !== undefined || taken.kind === 'in') return undefined;
  if (taken.kind === 'stuck') return { kind: 'failed', error: taken.error.toJSON() };
  if (taken.kind === 'dropped') return { kind: 'cancelled', reason: REPLACED, by: 'trigger' };
  return { kind: 'parked', for: turnBehind(taken.behind), due };
}

type SettleDeps = Pick<RunsDeps, 'store' | 'engine' | 'clock'> & { readonly registry: RunRegistry };

/** What happened during a walk, in addition to its end. */
export interface WalkLeft {
  /** Whether a message arrived that its steps have not seen. */
  readonly hasUnseen: () => boolean;
  /** Whether it was released, possibly after the walk had ended. */
  readonly isReleased: () => boolean;
  /** Removes an ended run from the queue. */
  readonly leaveQueue: () => Promise<unknown>;
}

/** Records how the walk ended and notifies the listeners. */
async function settleWalk(
  deps: SettleDeps,
  entry: RunEntry,
  held: HeldRun,
  end: RunWalkEnd,
  { hasUnseen, isReleased, leaveQueue }: WalkLeft,
): Promise<WorkEnd> {
  const { journal } = held;
  const { state } = journal;
  switch (end.kind) {
    case 'stopped':
      return releaseRun(deps, entry, held);
    case 'parked': {
      const waiting = { for: end.for, ...(end.due === undefined ? {} : { due: end.due }) };
      // The log of a run that was kept open for its client says so already.
      if (state.status !== 'waiting') journal.append({ type: 'workflow.waiting', ...waiting });
      if (!(await isWritten(held))) return releaseRun(deps, entry, held);
      // The walk is over. Messages from here on need another walk.
      entry.cancel = undefined;
      entry.release = undefined;
      if (isReleased()) return releaseRun(deps, entry, held);
      if (hasUnseen() || state.cancelling !== undefined) return { kind: 'waiting', due: deps.clock.now() };
      deps.registry.suspend(entry, { seq: state.seq });
      return { kind: 'waiting', ...(end.due === undefined ? {} : { due: end.due }) };
    }
    case 'completed':
      journal.append({ type: 'workflow.completed', output: end.output }, endOf(lastEnded(state)));
      break;
    case 'failed':
      journal.append(
        { type: 'workflow.failed', error: end.error, ...(end.step === undefined ? {} : { step: end.step }) },
        endOf(end.step === undefined ? undefined : state.steps.get(end.step)),
      );
      break;
    case 'cancelled':
      journal.append({ type: 'workflow.cancelled', reason: end.reason, by: end.by });
      break;
  }
  // An end that could not be written does not count, because the log says that the run continues.
  if (!(await isWritten(held))) return releaseRun(deps, entry, held);
  await leaveQueue();
  await reportRunEnd(deps, state);
  return leave(deps, entry, resultOf(state));
}

/** The position on the log where the step ended that ended the run. */
const endOf = (step: StepState | undefined): Cause | undefined =>
  step?.endedSeq === undefined
    ? undefined
    : { stream: step.cause.stream, seq: step.endedSeq, depth: step.cause.depth + 1 };

function lastEnded({ steps }: RunState): StepState | undefined {
  let last: StepState | undefined;
  for (const step of steps.values()) if ((step.endedSeq ?? 0) > (last?.endedSeq ?? 0)) last = step;
  return last;
}

const isWritten = ({ journal }: HeldRun): Promise<boolean> => isKept(journal.flushed());

const isKept = (promise: Promise<void>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false, // `lost` says why
  );

async function releaseRun(
  deps: SettleDeps,
  entry: RunEntry,
  { journal, lost, created }: HeldRun,
): Promise<WorkEnd> {
  const error = lost();
  journal.seal();
  // A run that could not be created was not interrupted. Its creator gets the error.
  if (created !== undefined && !(await isKept(created))) {
    deps.registry.forget(entry.run);
    return { kind: 'done' };
  }
  const told = error === undefined ? {} : { error: error.toJSON() };
  return leave(deps, entry, { run: entry.run, status: 'interrupted', ...told });
}

function leave({ registry }: SettleDeps, { run }: RunEntry, result: RunResult): WorkEnd {
  registry.notify(run, ({ onEnd }) => onEnd(result));
  registry.forget(run);
  return { kind: 'done' };
}

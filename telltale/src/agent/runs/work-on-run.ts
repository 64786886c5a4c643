import type { WorkEnd } from '../../engine/engine.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Cause } from '../../log/event.ts';
import { turnBehind } from '../../log/run-event.ts';
import type { RunState, StepState } from '../../log/run-state.ts';
import { liftingWrites, QUARANTINED } from '../../store/quarantine.ts';
import { changedFiles, codeFilesOf } from '../code-files.ts';
import { type HandGate, handGate } from '../outside/gate.ts';
import { REPLACED, type Turns, type TurnTaken } from '../outside/turns.ts';
import { followSession } from './accept-changes.ts';
import { acquireRun, type HeldRun } from './open-run.ts';
import { rest, stillWaits } from './parked-runs.ts';
import type { RunsDeps } from './run-environment.ts';
import { enterRealm, type Realm, readGround } from './run-environment.ts';
import { runQuarantined } from './run-errors.ts';
import { createRunInbox } from './run-inbox.ts';
import type { BoardEntry, DriveRun, RunBoard, RunWalkEnd } from './run-registry.ts';
import type { RunResult } from './run-types.ts';
import { isOver, resultOf } from './run-types.ts';
import { tellEnd } from './tell-end.ts';

export interface WorkDeps extends RunsDeps {
  readonly board: RunBoard;
  readonly drive: DriveRun;
  readonly turns: Turns;
}

/** Where a run cannot be taken for now, and nobody waits for it here. */
const LOOK_AGAIN_MS = 60_000;
/** Where another process has it. */
const OWNED_MS = 500;

/** Works on a run until it has ended, or has nothing to do before a time or a message. */
export async function workOnRun(
  deps: WorkDeps,
  run: string,
  signal: AbortSignal,
  taken: () => void,
): Promise<WorkEnd> {
  const { board } = deps;
  const entry = board.entry(run);
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
    // Told once nobody holds it: whoever hears of it may take it up at once.
    if (end.kind !== 'waiting' || entry.parked === undefined || waiting === undefined) return end;
    board.tell(run, ({ onWaiting }) => onWaiting?.(waiting));
    await undefined; // who leaves does so when he hears it
    return rest(deps, entry, held, end);
  } catch (thrown) {
    const isHeard = entry.listeners.size > 0;
    board.tell(run, ({ onError }) => onError(thrown));
    board.forget(run);
    if (isHeard) return { kind: 'done' };
    // A store that is full or locked may be better later; the run is on its log as it was.
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

/** What came for it stays on its log or in its inbox. */
function stayQuarantined({ board }: WorkDeps, { run, listeners }: BoardEntry): WorkEnd {
  if (listeners.size > 0) board.tell(run, ({ onError }) => onError(runQuarantined(run)));
  board.forget(run);
  return { kind: 'done' };
}

/** Where another process works on it, it is that one's: who waits for it here goes on waiting. */
async function take(deps: WorkDeps, entry: BoardEntry): Promise<HeldRun | WorkEnd> {
  const { board, clock } = deps;
  const { fresh } = entry;
  entry.fresh = undefined;
  if (fresh !== undefined) return fresh;
  try {
    const info = await deps.store.info(entry.run);
    if (info?.status === QUARANTINED && entry.isReleased !== true) return stayQuarantined(deps, entry);
    // An earlier word does not release what is quarantined again.
    entry.isReleased = info?.status === QUARANTINED;
    return await acquireRun(deps, entry.run);
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || thrown.code !== 'stream_owned') throw thrown;
    board.tell(entry.run, ({ onOwned }) => onOwned?.(thrown));
    const isFirst = entry.wasOwned !== true;
    entry.wasOwned = true;
    // Its owner may be about to let go of it, and miss what it was placed for. A fleet finds that by itself.
    const looksAgain = isFirst && deps.engine.remembers === 'here';
    if (entry.listeners.size > 0 || looksAgain) return { kind: 'waiting', due: clock.now() + OWNED_MS };
    if (entry.parked === undefined) board.forget(entry.run);
    return { kind: 'done' };
  }
}

async function work(
  deps: WorkDeps,
  entry: BoardEntry,
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
    deps.board.tell(entry.run, ({ onWaiting }) => onWaiting?.(waiting));
    return wait;
  }
  deps.board.unpark(entry);
  const realm = await findRealm(deps, entry, held);
  if ('kind' in realm) return realm;
  taken();
  deps.board.tell(entry.run, ({ onWork }) => onWork?.());
  if (state.seq > 1)
    journal.append(
      {
        type: 'workflow.resumed',
        by: entry.resumedBy ?? 'runtime',
        ...filesNow(state.manifest, realm),
      },
      undefined,
      entry.isReleased === true ? { writes: liftingWrites(entry.run) } : undefined,
    );
  entry.isReleased = false;
  entry.resumedBy = undefined;
  // Its session or its caller was resumed with a changed agent, and it goes on in that one's name.
  if (realm.agent.hash !== state.manifest.hash)
    journal.append(followSession(state, realm.agent, realm.workflow));
  const driven = await deps.drive({ held, realm, entry });
  const inbox = createRunInbox({
    writer,
    journal,
    cancel: driven.cancel,
    onError: (error) => driven.letGo(toRuntimeError(error)),
  });
  entry.cancel = (reason, by) => {
    if (state.cancelling === undefined) journal.append({ type: 'workflow.cancelling', reason, by });
    driven.cancel(reason, by);
  };
  entry.live = {
    journal,
    take(message) {
      inbox.take(message);
      for (const look of [...entry.claims]) look();
    },
  };
  let isLetGo = false;
  const letGo = () => {
    isLetGo = true;
    driven.letGo();
  };
  entry.letGo = letGo;
  signal.addEventListener('abort', letGo, { once: true });
  if (signal.aborted) letGo();
  held.onLost(letGo);
  try {
    // What comes from now on wakes the inbox. Nobody can have written to a run before it was there.
    if (state.seq > 1) await inbox.now();
    else if (!held.isNew()) inbox.now().catch((thrown) => driven.letGo(toRuntimeError(thrown)));
    if (state.cancelling !== undefined) driven.cancel(state.cancelling.reason, state.cancelling.by);
    const gate = handGate(realm.workflow, state.manifest.agent, state.origin);
    const walk = async () =>
      (gate === undefined ? undefined : await waitForTurn(deps, gate, held)) ?? driven.run();
    const end = await walk().catch(brokenOff(held));
    return await settleWalk(deps, entry, held, end, {
      hasNews: () => inbox.lastNews() > driven.seen(),
      isLetGo: () => isLetGo,
      // Before anybody hears of the end: whoever does may be about to leave with this process.
      leaveTurn: async () => gate && deps.turns.leave(gate, state.id).catch(deps.onError),
    });
  } finally {
    signal.removeEventListener('abort', letGo);
    entry.cancel = undefined;
    entry.letGo = undefined;
    entry.live = undefined;
    inbox.close();
    deps.shelf.release(realm.prepared);
  }
}

/** Files of its agent that have changed since the run was pinned to them. The log reports them. */
function filesNow({ files: before }: RunState['manifest'], { agent }: Realm) {
  if (before === undefined) return {};
  const files = codeFilesOf(agent);
  const changed = changedFiles(agent, before);
  return changed.length === 0 ? {} : { changed_files: changed, files: { ...before, ...files } };
}

/** Where nobody waits here for a run that this process cannot go on with, its log says why, or the engine is told. */
async function findRealm(deps: WorkDeps, entry: BoardEntry, held: HeldRun): Promise<Realm | WorkEnd> {
  const { journal } = held;
  const { state } = journal;
  try {
    if (entry.ground === undefined) {
      entry.ground = await readGround(state, deps);
      entry.isGroundRead = true;
    }
    return await enterRealm(deps, entry.ground, state.workflow);
  } catch (thrown) {
    entry.ground = undefined;
    if (entry.listeners.size > 0) throw thrown;
    deps.board.forget(entry.run);
    const error = toRuntimeError(thrown);
    const { message, hint = '' } = error;
    // One process of many that cannot is nothing to be kept for ever: if none can, it is laid aside.
    if (deps.engine.remembers === 'here')
      journal.append({ type: 'audit', who: 'runtime', what: `It cannot go on here. ${message} ${hint}` });
    return unable(error);
  }
}

/** What escapes from a walk is a mistake of ours, unless the log is lost: the run ends with it rather than hang. */
const brokenOff =
  ({ lost }: HeldRun) =>
  (thrown: unknown): RunWalkEnd =>
    lost() === undefined ? { kind: 'failed', error: toRuntimeError(thrown).toJSON() } : { kind: 'stopped' };

/** Whoever's end lets a run go on may die before it says so: it looks itself, each time after twice as long. */
const FIRST_LOOK_MS = 60_000;
const LAST_LOOK_MS = 1_800_000;
/** A store that cannot say is asked again after that. */
const RETRY_MS = 10_000;

/** Where it is not its turn. One that has begun has had it, and one that is to be ended needs none. */
async function waitForTurn(
  { turns, clock }: { readonly turns: Turns; readonly clock: Clock },
  gate: HandGate,
  { journal: { state } }: HeldRun,
): Promise<RunWalkEnd | undefined> {
  if (state.cancelling !== undefined || state.steps.size > 0) return undefined;
  const now = clock.now();
  const due = now + Math.min(Math.max(now - state.startedAt, FIRST_LOOK_MS), LAST_LOOK_MS);
  let taken: TurnTaken;
  try {
    taken = await turns.take(gate, state.id, state.origin.session?.id);
  } catch (thrown) {
    if (!toRuntimeError(thrown).retryable) throw thrown;
    return { kind: 'parked', for: turnBehind('whoever has it'), due: now + RETRY_MS };
  }
  if (state.cancelling !== undefined || taken.kind === 'in') return undefined;
  if (taken.kind === 'stuck') return { kind: 'failed', error: taken.error.toJSON() };
  if (taken.kind === 'dropped') return { kind: 'cancelled', reason: REPLACED, by: 'trigger' };
  return { kind: 'parked', for: turnBehind(taken.behind), due };
}

type SettleDeps = Pick<RunsDeps, 'store' | 'engine' | 'clock'> & { readonly board: RunBoard };

/** What became of a walk beside its end. */
export interface WalkLeft {
  /** Whether something came that its steps have not heard of. */
  readonly hasNews: () => boolean;
  /** Whether it was to be let go of, perhaps when it had come to its end already. */
  readonly isLetGo: () => boolean;
  /** Gives up the turn of a run that has ended. */
  readonly leaveTurn: () => Promise<unknown>;
}

/** Writes down how the walk ended, and tells who waits for it. */
async function settleWalk(
  deps: SettleDeps,
  entry: BoardEntry,
  held: HeldRun,
  end: RunWalkEnd,
  { hasNews, isLetGo, leaveTurn }: WalkLeft,
): Promise<WorkEnd> {
  const { journal } = held;
  const { state } = journal;
  switch (end.kind) {
    case 'stopped':
      return letGoOf(deps, entry, held);
    case 'parked': {
      const waiting = { for: end.for, ...(end.due === undefined ? {} : { due: end.due }) };
      // One that was held for its client says so already.
      if (state.status !== 'waiting') journal.append({ type: 'workflow.waiting', ...waiting });
      if (!(await isWritten(held))) return letGoOf(deps, entry, held);
      // The walk is over: from here on, what it cannot be told any more has to be heard of by the next.
      entry.cancel = undefined;
      entry.letGo = undefined;
      if (isLetGo()) return letGoOf(deps, entry, held);
      if (hasNews() || state.cancelling !== undefined) return { kind: 'waiting', due: deps.clock.now() };
      deps.board.park(entry, { seq: state.seq });
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
  // An end that could not be written is none: the log says that the run goes on.
  if (!(await isWritten(held))) return letGoOf(deps, entry, held);
  await leaveTurn();
  await tellEnd(deps, state);
  return leave(deps, entry, resultOf(state));
}

/** Where on the log a step ended, which brought the run to its own end. */
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
    () => false, // `lost` knows why
  );

async function letGoOf(
  deps: SettleDeps,
  entry: BoardEntry,
  { journal, lost, made }: HeldRun,
): Promise<WorkEnd> {
  const error = lost();
  journal.seal();
  // One that could not be made was not interrupted: whoever began it hears from there why there is none.
  if (made !== undefined && !(await isKept(made))) {
    deps.board.forget(entry.run);
    return { kind: 'done' };
  }
  const told = error === undefined ? {} : { error: error.toJSON() };
  return leave(deps, entry, { run: entry.run, status: 'interrupted', ...told });
}

function leave({ board }: SettleDeps, { run }: BoardEntry, result: RunResult): WorkEnd {
  board.tell(run, ({ onEnd }) => onEnd(result));
  board.forget(run);
  return { kind: 'done' };
}

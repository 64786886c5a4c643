import type { WorkEnd } from '../../engine/engine.ts';
import type { RunState } from '../../events/run-state.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { liftingWrites, QUARANTINED } from '../../store/quarantine.ts';
import { changedFiles, codeFilesOf } from '../code-files.ts';
import { handGate } from '../outside/hand-gate.ts';
import type { Turns } from '../outside/turns.ts';
import { followSession } from './accept-changes.ts';
import type { DriveRun, RunWalkEnd } from './drive-run.ts';
import { acquireRun, type HeldRun } from './open-run.ts';
import { rest, stillWaits } from './parked-runs.ts';
import { enterRealm, type Realm, readGround } from './realm.ts';
import type { BoardEntry, RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import { isOver, resultOf } from './run-end.ts';
import { runQuarantined } from './run-errors.ts';
import { createRunInbox } from './run-inbox.ts';
import { leave, settleWalk } from './settle-walk.ts';
import { waitForTurn } from './wait-for-turn.ts';

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

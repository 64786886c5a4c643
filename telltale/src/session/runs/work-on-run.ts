import type { WorkEnd } from '../../engine/engine.ts';
import type { RunState, RunStatus } from '../../events/run-state.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Drain } from '../drain-inbox.ts';
import type { DriveRun, RunWalkEnd } from './drive-run.ts';
import { acquireRun, type HeldRun } from './open-run.ts';
import { enterRealm, type Realm, readGround } from './realm.ts';
import type { BoardEntry, RunBoard } from './run-board.ts';
import type { RunsEdges } from './run-edges.ts';
import { createRunInbox } from './run-inbox.ts';
import type { RunResult } from './run-types.ts';
import { tellEnd } from './tell-end.ts';
import type { ParkedRuns } from './watch-parked.ts';

export interface WorkEdges extends RunsEdges {
  readonly board: RunBoard;
  readonly parked: ParkedRuns;
  readonly drive: DriveRun;
}

/** Works on a run until it has ended, or has nothing to do before a time or a message. */
export async function workOnRun(edges: WorkEdges, run: string, signal: AbortSignal): Promise<WorkEnd> {
  const { board } = edges;
  const entry = board.entry(run);
  try {
    const held = await take(edges, entry);
    if (held === undefined) return { kind: 'done' };
    let end: WorkEnd;
    try {
      end = await work(edges, entry, held, signal);
    } finally {
      await held.writer.release();
    }
    const { waiting } = held.journal.state;
    // Told once nobody holds it: whoever hears of it may take it up at once.
    if (end.kind === 'waiting' && waiting !== undefined)
      board.tell(run, ({ onWaiting }) => onWaiting?.(waiting));
    return end;
  } catch (thrown) {
    board.tell(run, ({ onError }) => onError(thrown));
    if (entry.listeners.size === 0) edges.onError(thrown);
    board.forget(run);
    return { kind: 'done' };
  }
}

/** Undefined where another process works on it: then it is that one's. */
async function take(edges: WorkEdges, entry: BoardEntry): Promise<HeldRun | undefined> {
  const { fresh } = entry;
  entry.fresh = undefined;
  if (fresh !== undefined) return fresh;
  try {
    return await acquireRun(edges, entry.run);
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || thrown.code !== 'stream_owned') throw thrown;
    edges.board.tell(entry.run, ({ onError }) => onError(thrown));
    edges.board.forget(entry.run);
    return undefined;
  }
}

async function work(
  edges: WorkEdges,
  entry: BoardEntry,
  held: HeldRun,
  signal: AbortSignal,
): Promise<WorkEnd> {
  const { journal, writer } = held;
  const { state } = journal;
  edges.parked.forget(entry.run);
  if (isOver(state.status)) return conclude(edges, entry, state);
  const ground = entry.ground ?? (await readGround(state, edges, entry.acceptChanges));
  entry.ground = ground;
  const realm: Realm = await enterRealm(edges, ground, state.workflow);
  edges.board.tell(entry.run, ({ onWork }) => onWork?.());
  if (state.seq > 1) journal.append({ type: 'workflow.resumed', by: 'runtime' });
  let heard = 0;
  const driven = await edges.drive({
    ...{ held, realm, entry },
    onParked() {
      heard = inbox.received;
    },
  });
  const inbox: Drain = createRunInbox({
    writer,
    journal,
    cancel: driven.cancel,
    onError: (error) => driven.letGo(toRuntimeError(error)),
  });
  entry.cancel = (reason, by) => {
    if (state.cancelling === undefined) journal.append({ type: 'workflow.cancelling', reason, by });
    driven.cancel(reason, by);
  };
  const letGo = () => driven.letGo();
  entry.letGo = letGo;
  signal.addEventListener('abort', letGo, { once: true });
  if (signal.aborted) letGo();
  held.onLost(letGo);
  try {
    const known = inbox.now();
    // Nobody can have written to a run before it was there: what comes now is taken as it comes.
    if (state.seq > 1) await known;
    else known.catch((thrown) => driven.letGo(toRuntimeError(thrown)));
    if (state.cancelling !== undefined) driven.cancel(state.cancelling.reason, state.cancelling.by);
    const end = await settle(edges, entry, held, await driven.run());
    if (end.kind === 'done') return end;
    // What came while it was being let go of is on its log, and no step has seen it.
    await inbox.now();
    await journal.flushed();
    if (inbox.received > heard) return { kind: 'waiting', due: edges.clock.now() };
    edges.parked.watch(entry.run, state.seq);
    return end;
  } finally {
    signal.removeEventListener('abort', letGo);
    entry.cancel = undefined;
    entry.letGo = undefined;
    inbox.close();
    edges.shelf.release(realm.prepared);
  }
}

/** Writes down how the walk ended, and tells who waits for it. */
async function settle(
  edges: WorkEdges,
  entry: BoardEntry,
  { journal, lost }: HeldRun,
  end: RunWalkEnd,
): Promise<WorkEnd> {
  const { state } = journal;
  switch (end.kind) {
    case 'stopped': {
      const error = lost();
      journal.seal();
      const result: RunResult = {
        run: state.id,
        status: 'interrupted',
        ...(error === undefined ? {} : { error: error.toJSON() }),
      };
      edges.board.tell(entry.run, ({ onEnd }) => onEnd(result));
      return { kind: 'done' };
    }
    case 'parked': {
      const waiting = { for: end.for, ...(end.due === undefined ? {} : { due: end.due }) };
      journal.append({ type: 'workflow.waiting', ...waiting });
      await journal.flushed();
      return { kind: 'waiting', ...(end.due === undefined ? {} : { due: end.due }) };
    }
    case 'completed':
      journal.append({ type: 'workflow.completed', output: end.output });
      break;
    case 'failed':
      journal.append({
        type: 'workflow.failed',
        error: end.error,
        ...(end.step === undefined ? {} : { step: end.step }),
      });
      break;
    case 'cancelled':
      journal.append({ type: 'workflow.cancelled', reason: end.reason, by: end.by });
      break;
  }
  await journal.flushed();
  return conclude(edges, entry, state);
}

async function conclude(edges: WorkEdges, entry: BoardEntry, state: RunState): Promise<WorkEnd> {
  await tellEnd(edges, state);
  edges.board.tell(entry.run, ({ onEnd }) => onEnd(resultOf(state)));
  edges.board.forget(entry.run);
  return { kind: 'done' };
}

export const isOver = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

export function resultOf({ id, status, output, error, waiting }: RunState): RunResult {
  return {
    run: id,
    status: status === 'running' ? 'interrupted' : status,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
    ...(waiting === undefined ? {} : { waiting }),
  };
}

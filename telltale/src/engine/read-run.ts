import { RuntimeError } from '../lib/errors.ts';
import { foldRun } from '../log/reduce-run.ts';
import { decodeRunEvent } from '../log/run-codec.ts';
import type { RunEvent } from '../log/run-event.ts';
import { emptyRun, type RunState } from '../log/run-state.ts';
import type { Store, StreamInfo } from '../store/store.ts';
import type { Engine } from './engine.ts';

/** Events read per page. */
const PAGE = 2_000;

/** The committed events of a run, from `from` on. */
export async function readRunEvents(
  store: Store,
  run: string,
  from = 1,
  signal?: AbortSignal,
): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const page of pages(store, run, from, signal)) events.push(...page);
  return events;
}

/** The state of a run after all its committed events, or after `seq`. */
export async function readRun(
  store: Store,
  run: string,
  seq = Number.POSITIVE_INFINITY,
  signal?: AbortSignal,
): Promise<RunState> {
  const state = emptyRun();
  for await (const page of pages(store, run, 1, signal)) {
    const wanted = (page.at(-1)?.seq ?? 0) <= seq ? page : page.filter((event) => event.seq <= seq);
    foldRun(wanted, state);
    if (wanted.length < page.length) break;
  }
  return state;
}

async function* pages(
  store: Store,
  run: string,
  from: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunEvent[], void> {
  signal?.throwIfAborted();
  const info = await store.info(run);
  if (info === undefined) throw runUnknown(run, store.location);
  if (info.kind !== 'run') throw noRun(run, info.kind);
  for (let next = Math.max(1, from); ; ) {
    signal?.throwIfAborted();
    const lines = await store.read(run, { from: next, limit: PAGE });
    if (lines.length > 0) yield lines.map((line) => decodeRunEvent(line, run));
    if (lines.length < PAGE) return;
    next += lines.length;
  }
}

export const runUnknown = (run: string, location: string) =>
  new RuntimeError('run_unknown', `No workflow run "${run}" is in ${location}.`, {
    hint: 'List them: telltale workflow list',
  });

const noRun = (run: string, kind: string) =>
  new RuntimeError('run_unknown', `"${run}" is the log of a ${kind}, not of a workflow run.`, {
    hint: `To see it: telltale show ${run}`,
  });

/** Logs that are read in parallel. */
const LOOKS = 32;

/**
 * How urgent a run is after a restart: it was being worked on, its time or message has come, that is unknown,
 * or it waits until a time.
 */
type RecoveryPriority = 'in hand' | 'due' | 'unknown' | { readonly until: number };

/**
 * Dispatches every run that was alive when the last process stopped, and gives their names: those that were in hand, then
 * those whose time has come, then those that wait, each oldest first. One that waits for a time that the store knows is
 * not looked at before then, unless a message has come: `onWaits` is told of it. One that waits for something else is
 * looked at; its work says for how long it goes on waiting. A run that a living process has is left to it.
 */
export async function recoverRuns(
  engine: Engine,
  store: Store,
  now: number,
  onWaits: (info: StreamInfo) => void = () => undefined,
  except: ReadonlySet<string> = new Set(),
): Promise<readonly string[]> {
  const alive = await store.list({ kind: 'run', status: ['running', 'waiting'] });
  const left = alive.filter(({ owner, stream }) => owner === undefined && !except.has(stream)).reverse();
  const found = await inTurn(left, async (info) => ({ info, priority: await priorityOf(store, info, now) }));
  const ordered = found.sort((one, other) => rankOf(one.priority) - rankOf(other.priority));
  for (const { info, priority } of ordered) {
    if (typeof priority === 'object') {
      engine.wakeAt('run', info.stream, priority.until);
      onWaits(info);
    } else engine.dispatch('run', info.stream);
  }
  return ordered.map(({ info }) => info.stream);
}

function rankOf(priority: RecoveryPriority): number {
  if (priority === 'in hand') return 0;
  return priority === 'due' ? 1 : 2;
}

async function priorityOf(
  store: Store,
  { stream, status, head, due, messages }: StreamInfo,
  now: number,
): Promise<RecoveryPriority> {
  if (status === 'running' || head === 0) return 'in hand';
  if (messages !== undefined) return 'due';
  if (due !== undefined) return due <= now ? 'due' : { until: due };
  // It waits without a time, or was written by a version that did not store the time.
  const [line] = await store.read(stream, { from: head, limit: 1 });
  const noted = line === undefined ? undefined : dueIn(line, stream);
  return noted === undefined || noted <= now ? 'due' : 'unknown';
}

/**
 * Until when a run waits whose log ends with this line. Undefined if it does not wait or the line cannot be
 * read.
 */
function dueIn(line: string, run: string): number | undefined {
  try {
    const last = decodeRunEvent(line, run);
    return last.type === 'workflow.waiting' ? (last.due ?? Number.POSITIVE_INFINITY) : undefined;
  } catch {
    return undefined; // the work on the run reports it
  }
}

async function inTurn<In, Out>(all: readonly In[], ask: (each: In) => Promise<Out>): Promise<Out[]> {
  const answers: Out[] = [];
  for (let at = 0; at < all.length; at += LOOKS)
    answers.push(...(await Promise.all(all.slice(at, at + LOOKS).map(ask))));
  return answers;
}

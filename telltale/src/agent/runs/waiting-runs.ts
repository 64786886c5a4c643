import type { WorkEnd } from '../../engine/engine.ts';
import { readRunEvents } from '../../engine/read-run.ts';
import type { StreamInfo } from '../../store/store.ts';
import type { HeldRun } from './open-run.ts';
import type { RunsDeps } from './run-environment.ts';
import type { RunEntry, RunRegistry } from './run-registry.ts';

/** Suspended runs that are watched. Further ones are resumed by whoever answers them, or after a restart. */
const MAX_WATCHED = 1_000;
/** Runs that are due this soon are timed here, because a fleet finds due runs only within two seconds. */
const SOON_MS = 30_000;

/** Events of a run that another process has resumed and suspended again without progress. */
const QUIET: ReadonlySet<string> = new Set(['workflow.resumed', 'workflow.waiting', 'audit']);

/**
 * Watches the stream of a suspended run for answers, signals and its end. While nobody owns the stream, no
 * other process is notified.
 */
function watch(
  { store, engine, registry }: Pick<RunsDeps, 'store' | 'engine'> & { readonly registry: RunRegistry },
  entry: RunEntry,
): void {
  const { run, suspended } = entry;
  if (suspended === undefined || suspended.unwatch !== undefined) return;
  const look = async () => {
    const info = await store.info(run);
    const { suspended } = entry;
    if (info === undefined || suspended === undefined) return;
    const isNew = info.head !== suspended.seq || info.messages !== undefined;
    const isHeard = entry.listeners.size > 0;
    if (isNew && (info.owner === undefined || isHeard))
      engine.dispatch('run', run, isHeard ? 'here' : undefined);
  };
  // If the store fails, the next change of the stream triggers another check.
  const unwatch = store.watch(run, () => void look().catch(() => undefined));
  registry.suspend(entry, { ...suspended, unwatch });
}

/**
 * Decides what this process remembers about a run that it has suspended and released. In a fleet it forgets
 * the run, because the fleet finds it when it is due or gets a message. A run whose agent is written in code
 * can continue only in this process.
 */
export function keepWaiting(
  deps: Pick<RunsDeps, 'store' | 'engine' | 'clock'> & { readonly registry: RunRegistry },
  entry: RunEntry,
  { journal: { state } }: HeldRun,
  end: WorkEnd & { readonly kind: 'waiting' },
): WorkEnd {
  const { engine, registry } = deps;
  if (entry.listeners.size > 0) {
    watch(deps, entry);
    return end;
  }
  if (engine.remembers === 'fleet' && state.manifest.code !== true) return leaveToFleet(deps, entry, end.due);
  if (registry.suspended() > MAX_WATCHED) registry.resume(entry);
  else watch(deps, entry);
  // The agent is read again when the run continues, so that thousands of suspended runs do not each keep one
  // in memory.
  if (entry.isSourceRead === true) entry.agentSource = undefined;
  return end;
}

/** Forgets a run that the fleet will find. Only a run that is due soon keeps its timer here. */
function leaveToFleet(
  { registry, clock }: Pick<RunsDeps, 'clock'> & { readonly registry: RunRegistry },
  { run }: RunEntry,
  due: number | undefined,
): WorkEnd {
  registry.forget(run);
  return { kind: 'waiting', ...(due === undefined || due > clock.now() + SOON_MS ? {} : { due }) };
}

/** Watches a run that was found suspended after a restart. */
export function watchWaitingRun(
  deps: Pick<RunsDeps, 'store' | 'engine'> & { readonly registry: RunRegistry },
  { stream, head }: Pick<StreamInfo, 'stream' | 'head'>,
): void {
  if (deps.engine.remembers === 'fleet' || deps.registry.suspended() >= MAX_WATCHED) return;
  const entry = deps.registry.entry(stream);
  if (entry.suspended === undefined) deps.registry.suspend(entry, { seq: head });
  watch(deps, entry);
}

/** The message that a run waits for may be in the inbox of an agent that it called. */
const WAITS_FOR_AGENT = /\bagent\b/;

/**
 * Whether the fleet offered a run before it is due: nothing has been written since it was suspended with a
 * due time. Resuming it would write two events each time.
 */
async function isEarly(
  { store, engine }: Pick<RunsDeps, 'store' | 'engine'>,
  { listeners }: RunEntry,
  { journal: { state } }: HeldRun,
): Promise<boolean> {
  const { status, waiting, seq, id } = state;
  if (engine.remembers !== 'fleet' || status !== 'waiting' || waiting?.due === undefined) return false;
  if (listeners.size > 0 || WAITS_FOR_AGENT.test(waiting.for)) return false;
  const [last] = await readRunEvents(store, id, seq);
  return last?.type === 'workflow.waiting';
}

/**
 * Returns how long the run keeps waiting if nothing has arrived since it was suspended or released. Undefined
 * means that it has to be resumed.
 */
export async function stillWaits(
  deps: Pick<RunsDeps, 'store' | 'engine' | 'clock'> & { readonly registry: RunRegistry },
  entry: RunEntry,
  held: HeldRun,
): Promise<WorkEnd | undefined> {
  const { store, clock, registry } = deps;
  const {
    journal: { state },
    writer,
  } = held;
  const { suspended, wasOwned = false, isRequested = false } = entry;
  const { status, waiting, seq, cancelling } = state;
  entry.wasOwned = false;
  entry.isRequested = false;
  if (cancelling !== undefined) return undefined; // the request came too late for the last walk
  if (suspended === undefined && !wasOwned && (isRequested || !(await isEarly(deps, entry, held))))
    return undefined;
  if (status !== 'waiting' || (waiting?.due ?? Number.POSITIVE_INFINITY) <= clock.now()) return undefined;
  if ((await writer.inbox()).length > 0) return undefined;
  if (suspended !== undefined) {
    const since = await readRunEvents(store, state.id, suspended.seq + 1);
    if (!since.every(({ type }) => QUIET.has(type))) return undefined;
    registry.suspend(entry, { ...suspended, seq });
  } else if (entry.listeners.size > 0) return undefined;
  else if (!wasOwned) return leaveToFleet(deps, entry, waiting?.due);
  return { kind: 'waiting', ...(waiting?.due === undefined ? {} : { due: waiting.due }) };
}

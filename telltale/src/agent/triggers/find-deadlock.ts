import { readRun } from '../../engine/read-run.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import { readSession } from '../read-session.ts';
import { createLimitTable, manualLimitName } from './concurrency-limit.ts';

/** Streams that are checked before the search gives up and assumes no deadlock. Each check reads a log. */
const MAX_LOOKED_AT = 200;

/** A running run, and the run below it that waits for its turn. */
export interface DeadlockLink {
  readonly holder: string;
  readonly waits: string;
}

/**
 * Detects whether a queued run waits for itself: all runs ahead of it (`under`) are blocked by it, or by runs
 * that are queued in the same way. Returns who waits for whom, starting with the first of `under`, or
 * undefined if one of them can end. The last run to queue sees the whole cycle, because runs are queued in
 * the store before they check.
 */
export async function findDeadlock(
  store: Store,
  run: string,
  under: readonly string[],
): Promise<readonly DeadlockLink[] | undefined> {
  const search: Search = { store, left: MAX_LOOKED_AT, open: new Set() };
  return allHeldUp(search, await heldUpBy(search, run), under);
}

interface Search {
  readonly store: Store;
  left: number;
  /** Runs that are being checked. A cycle that does not include this run is found by the runs in it. */
  readonly open: Set<string>;
}

/** The ancestors of a run that cannot end before it does. */
async function heldUpBy(search: Search, run: string): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  let stream = await search.store.info(run);
  while (stream?.parent !== undefined && search.left-- > 0) {
    const above = await search.store.info(stream.parent);
    if (above === undefined || !(await isAwaited(search, stream, above))) break;
    held.add(above.stream);
    stream = above;
  }
  return held;
}

async function allHeldUp(
  search: Search,
  held: ReadonlySet<string>,
  under: readonly string[],
): Promise<readonly DeadlockLink[] | undefined> {
  const deadlock: DeadlockLink[] = [];
  for (const holder of under) {
    if (held.has(holder)) continue;
    const found = await isHeldUp(search, held, holder);
    if (found === undefined) return undefined;
    deadlock.push(...found);
  }
  return under.length === 0 ? undefined : deadlock;
}

async function isHeldUp(
  search: Search,
  held: ReadonlySet<string>,
  holder: string,
): Promise<readonly DeadlockLink[] | undefined> {
  if (search.open.has(holder)) return undefined;
  search.open.add(holder);
  for await (const { waits, under } of waitingBelow(search, holder)) {
    const found = await allHeldUp(search, held, under);
    if (found !== undefined) return [{ holder, waits }, ...found];
  }
  search.open.delete(holder);
  return undefined;
}

/** The queued runs below a stream that block it, each with the runs ahead of it. */
async function* waitingBelow(
  search: Search,
  stream: string,
): AsyncGenerator<{ readonly waits: string; readonly under: readonly string[] }> {
  const { store } = search;
  const above = await store.info(stream);
  if (above === undefined) return;
  for (const below of await store.list({ parent: stream, limit: MAX_LOOKED_AT })) {
    if (hasEnded(below.status) || search.left-- <= 0 || !(await isAwaited(search, below, above))) continue;
    if (below.kind === 'run') {
      const { manifest, workflow } = await readRun(store, below.stream);
      const row = await createLimitTable(store.tables, manualLimitName(manifest.agent, workflow)).read();
      if (row.queue.includes(below.stream)) {
        yield { waits: below.stream, under: row.under.map(({ run }) => run) };
        continue;
      }
    }
    yield* waitingBelow(search, below.stream);
  }
}

/**
 * Whether `above` waits for `below`. It does not if a trigger started `below`, or nobody waits for the
 * action.
 */
async function isAwaited({ store }: Search, below: StreamInfo, above: StreamInfo): Promise<boolean> {
  if (above.kind === 'run') return true;
  const [action, leads] = await actionOf(store, below);
  if (leads || action === undefined) return leads;
  const mode = (await readSession(store, above.stream)).actions.get(action)?.action.mode;
  return mode !== undefined && mode !== 'fire_and_forget';
}

async function actionOf(
  store: Store,
  { stream, kind }: StreamInfo,
): Promise<readonly [action: string | undefined, leads: boolean]> {
  if (kind === 'session') return [(await readSession(store, stream)).parent?.action, false];
  const { origin } = await readRun(store, stream);
  return [origin.action, origin.leads === true];
}

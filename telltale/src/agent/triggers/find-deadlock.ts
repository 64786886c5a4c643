import { readRun } from '../../engine/read-run.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import { readSession } from '../read-session.ts';
import { createLimitTable, manualLimitName } from './concurrency-limit.ts';

/** Streams that are looked at before it is taken that there is none: each look reads a log. */
const MAX_LOOKED_AT = 200;

/** A run that is under way, and the run below it that waits for its turn. */
export interface DeadlockLink {
  readonly holder: string;
  readonly waits: string;
}

/**
 * Whether a run that waits for its turn could only have it once it has ended itself: all that have it (`under`) are held
 * up by it, or by runs that wait in the same way for what it holds up. Undefined where one of them may end; else who
 * waits, from the first of `under` on. The last to come sees the whole circle: who waits is in the store before it looks.
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
  /** Runs that are being looked at: a circle that is not this run's is found by those who are in it. */
  readonly open: Set<string>;
}

/** The streams above a run that cannot end before it does. */
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

/** The runs below a stream that wait for their turn and hold it up, each with those that have theirs. */
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

/** Whether `above` cannot end before `below` has: not where a trigger set it off, or nobody waits for the action. */
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

import { foldRun } from '../events/reduce-run.ts';
import { decodeRunEvent } from '../events/run-codec.ts';
import type { RunEvent } from '../events/run-event.ts';
import { emptyRun, type RunState } from '../events/run-state.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Store } from '../store/store.ts';

/** Events that are read at a time. */
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

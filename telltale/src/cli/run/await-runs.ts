import { leadRun } from '../../agent/guided/guidance.ts';
import type { Runtime } from '../../agent/runtime-types.ts';
import { readRun } from '../../engine/read-run.ts';
import type { RunState } from '../../log/run-state.ts';
import { displayWidth, type Palette } from '../../manifest/format-diagnostic.ts';
import type { Store } from '../../store/store.ts';
import { type Io, paletteFor } from '../io.ts';
import { startProgress } from '../progress.ts';
import { errorText } from '../view/describe-event.ts';
import { waitingText } from '../view/describe-run-event.ts';
import { countText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { brief } from '../view/text-width.ts';
import type { StartedWorkflow } from './follow-session.ts';
import type { RunMode } from './run-mode.ts';

export interface AwaitRunsOptions {
  readonly mode: RunMode;
  /** ` --store X`, if commands about a run need it. Undefined if the runs are gone when this process ends. */
  readonly storeFlag: string | undefined;
  /** Whether a person is being asked a question: then no progress line is drawn. */
  readonly isAsking?: () => boolean;
}

/** Columns for a run's result without a terminal. Its log has the rest. */
const SAID = 200;
const DEFAULT_COLUMNS = 80;

/** How often a run of another process is read. Notifications usually come earlier. */
const LOOK_MS = 500;

/** The triggered runs of this process: workflow names by run id. They include runs that agents of such runs trigger. */
export interface TriggeredRuns {
  /** Those that have not ended, as far as is known. */
  open(): ReadonlyMap<string, string>;
  /** Starts a collection: every run triggered from now on is in the returned map. */
  since(): ReadonlyMap<string, string>;
  stop(): void;
}

export function watchTriggered({ watch }: Pick<Runtime, 'watch'>): TriggeredRuns {
  const open = new Map<string, string>();
  const late: Map<string, string>[] = [];
  const stop = watch((event) => {
    if (event.type === 'trigger.fired') {
      open.set(event.run, event.workflow);
      for (const runs of late) runs.set(event.run, event.workflow);
    } else if (ENDS.has(event.type) && 'run' in event) open.delete(String(event.run));
  });
  return {
    open: () => new Map(open),
    since() {
      const runs = new Map<string, string>();
      late.push(runs);
      return runs;
    },
    stop,
  };
}

const ENDS: ReadonlySet<string> = new Set(['workflow.completed', 'workflow.failed', 'workflow.cancelled']);

/**
 * Waits for the workflows that are still running when a session or run has ended, here or in another process, and
 * reports how they end. It does not wait for those that only wait themselves. After Ctrl-C all of them can be resumed.
 * Returns whether any is left that had work to do.
 */
export async function awaitRuns(
  { store, workflows }: Pick<Runtime, 'store' | 'workflows'>,
  /** The session or run that has ended. */
  top: string,
  /** The runs that it triggered and whose end is not on its log. */
  runs: readonly StartedWorkflow[],
  triggered: Pick<TriggeredRuns, 'open' | 'since'>,
  io: Io,
  { mode, storeFlag, isAsking = () => false }: AwaitRunsOptions,
): Promise<{ readonly isLeft: boolean }> {
  const { stdout, stderr, signal } = io;
  // The guiding run continues with the session, so it does not count.
  const working = workflows.active().filter((run) => run !== leadRun(top) && run !== top);
  const all = new Map(runs.map(({ run, workflow }) => [run, workflow]));
  for (const [run, workflow] of triggered.open()) all.set(run, workflow);
  for (const run of working) if (!all.has(run)) all.set(run, (await store.info(run))?.name ?? run);
  if (all.size === 0) return { isLeft: false };
  const later = triggered.since();
  const names = working.map((run) => harmlessLine(all.get(run) ?? run));
  const output = mode === 'quiet' ? stderr : stdout;
  const isTold = mode !== 'events' && mode !== 'json';
  const atWork = `${countText(names.length, 'workflow')} still running: ${names.join(', ')}`;
  if (names.length > 0 && isTold && !output.isTerminal) await output.write(`${atWork}\n`);
  const stopProgress = startProgress(io, () => {
    if (isAsking()) return undefined;
    return names.length === 0
      ? 'Waiting for workflows that another process works on'
      : `${atWork}; Ctrl-C leaves, and you can resume them later`;
  });
  try {
    await Promise.race([workflows.idle(), aborted(signal)]);
    for (const [run, workflow] of later) all.set(run, workflow);
    await Promise.all([...all.keys()].map((run) => workedElsewhere(store, run, io)));
  } finally {
    await stopProgress();
  }
  const states: RunState[] = [];
  for (const run of all.keys())
    if (((await store.info(run))?.head ?? 0) > 0) states.push(await readRun(store, run));
  const isLeft = states.some(({ status }) => status === 'running');
  if (!isTold) return { isLeft };
  const paint = paletteFor(output);
  const columns = output.isTerminal ? (output.columns ?? DEFAULT_COLUMNS) - 1 : undefined;
  const lines = states.map((state) => lineOf(state, { program: io.program, storeFlag, paint, columns }));
  if (lines.length > 0) await output.write(`${lines.join('\n')}\n`);
  return { isLeft };
}

/** Resolves when no process works on a run, or when the command must stop. */
async function workedElsewhere(store: Store, run: string, { signal, clock }: Io): Promise<void> {
  for (;;) {
    const info = await store.info(run);
    if (signal.aborted || info?.status !== 'running' || info.owner === undefined) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        cancel();
        unwatch();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const unwatch = store.watch(run, end);
      const cancel = clock.after(LOOK_MS, end);
      signal.addEventListener('abort', end, { once: true });
    });
  }
}

interface LineOptions {
  readonly program: string;
  readonly storeFlag: string | undefined;
  readonly paint: Palette;
  /** The terminal's width; undefined without one. */
  readonly columns: number | undefined;
}

/** A run's result is cut to one row. What to do about it is shown in full. */
function lineOf(state: RunState, { program, storeFlag, paint, columns }: LineOptions): string {
  const { id, workflow, status, output = null, error, waiting } = state;
  const name = harmlessLine(workflow);
  const resume =
    storeFlag === undefined
      ? 'its store was in memory, so it cannot be resumed'
      : `continue with: ${program} workflow resume ${id}${storeFlag}`;
  switch (status) {
    case 'completed': {
      const said = `⚙ ✓ ${name} completed: `;
      const room = columns === undefined ? SAID : Math.max(1, columns - displayWidth(said));
      return `${paint.green('⚙ ✓')} ${name} completed${output === null ? '' : `: ${brief(output, room)}`}`;
    }
    case 'failed':
      return `${paint.red('⚙ ✗')} ${name} failed: ${error === undefined ? 'no reason was given' : errorText(error)} (${id})`;
    case 'cancelled':
      return `${paint.yellow('⚙ –')} ${name} was cancelled: ${harmlessLine(error?.message ?? 'no reason was given')}`;
    case 'waiting':
      return `${paint.yellow('⚙ …')} ${name} waits for ${harmlessLine(waiting === undefined ? 'something' : waitingText(waiting))}; ${resume}`;
    case 'running':
      return `${paint.yellow('⚙ –')} ${name} was interrupted; ${resume}`;
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

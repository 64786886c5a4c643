import { readRun } from '../../engine/read-run.ts';
import type { RunState } from '../../events/run-state.ts';
import { displayWidth } from '../../manifest/display-width.ts';
import type { Palette } from '../../manifest/palette.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { startProgress } from '../progress.ts';
import { brief } from '../view/brief.ts';
import { errorText } from '../view/describe-event.ts';
import { waitingText } from '../view/describe-run-event.ts';
import { countText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import type { SetOff } from './follow-session.ts';
import type { RunMode } from './run-mode.ts';

export interface AwaitRunsOptions {
  readonly mode: RunMode;
  /** ` --store X` where commands about a run need it; undefined where they are gone with this process. */
  readonly storeFlag: string | undefined;
}

/** Columns of what a run brought, where no terminal says how many there are: its log has the rest. */
const SAID = 200;
const DEFAULT_COLUMNS = 80;

/**
 * Waits for the workflows of a session that are still at work when it has ended, and says what becomes of them. Those
 * that only wait are not waited for. Ctrl-C leaves all of them to be resumed.
 */
export async function awaitRuns(
  { store, workflows }: Pick<Runtime, 'store' | 'workflows'>,
  session: string,
  /** Those that the session set off and whose end is not on its log. */
  runs: readonly SetOff[],
  io: Io,
  { mode, storeFlag }: AwaitRunsOptions,
): Promise<void> {
  const { stdout, stderr, signal } = io;
  // The run that leads the session goes on with it, and is no other work.
  const working = workflows.under().filter((run) => run !== leadRun(session));
  const all = new Map(runs.map(({ run, workflow }) => [run, workflow]));
  for (const run of working) if (!all.has(run)) all.set(run, (await store.info(run))?.name ?? run);
  if (all.size === 0 || signal.aborted) return;
  const names = working.map((run) => harmlessLine(all.get(run) ?? run));
  const output = mode === 'quiet' ? stderr : stdout;
  const isTold = mode !== 'events' && mode !== 'json';
  const atWork = `${countText(names.length, 'workflow')} still at work: ${names.join(', ')}`;
  if (names.length > 0) {
    if (isTold && !output.isTerminal) await output.write(`${atWork}\n`);
    const stopProgress = startProgress(io, () => `${atWork}; Ctrl-C leaves them to be resumed`);
    await Promise.race([workflows.idle(), aborted(signal)]);
    await stopProgress();
  }
  if (!isTold) return;
  const paint = paletteFor(output);
  const columns = output.isTerminal ? (output.columns ?? DEFAULT_COLUMNS) - 1 : undefined;
  const lines: string[] = [];
  for (const run of all.keys())
    if ((await store.info(run)) !== undefined)
      lines.push(lineOf(await readRun(store, run), { storeFlag, paint, columns }));
  if (lines.length > 0) await output.write(`${lines.join('\n')}\n`);
}

interface LineOptions {
  readonly storeFlag: string | undefined;
  readonly paint: Palette;
  /** Of the terminal; undefined where there is none. */
  readonly columns: number | undefined;
}

/** What a run brought is cut to one row; what there is to do about it is whole. */
function lineOf(state: RunState, { storeFlag, paint, columns }: LineOptions): string {
  const { id, workflow, status, output = null, error, waiting } = state;
  const name = harmlessLine(workflow);
  const resume =
    storeFlag === undefined
      ? 'it is gone with its store, which was in memory'
      : `go on with: telltale workflow resume ${id}${storeFlag}`;
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

import type { RunResult, WorkflowRun } from '../../agent/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from '../../agent/runtime-types.ts';
import { readRun } from '../../engine/read-run.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { askPerson, askRuns, asksPerson, oneAtATime } from '../run/ask-person.ts';
import { awaitRuns, watchTriggered } from '../run/await-runs.ts';
import { type ConcludedWork, concludeEnd, outputLost, type Unshown, waitsFor } from '../run/conclude.ts';
import { startSilentProgress } from '../run/create-run-view.ts';
import { reportSlowStop, STOPPING } from '../run/report-slow-stop.ts';
import { type ModeOptions, type RunMode, runMode } from '../run/run-mode.ts';
import { createTerminalFrames, showingWhole } from '../run/terminal-view.ts';
import { eventAsTyped, isInMemory, storeFlag, storeLocation } from '../session/store-options.ts';
import { type EarlyStore, withRuntime } from '../session/with-runtime.ts';
import type { Debug } from '../view/describe-event.ts';
import { costText, countText, spanText } from '../view/figures.ts';
import { harmlessLines } from '../view/harmless.ts';
import { eventJson, jsonRows, jsonText } from '../view/json-text.ts';
import { resultText } from '../view/note-line.ts';
import { createRootCauseFold, type RootCause, withRootCause } from '../view/root-cause.ts';
import { plainRunLine } from '../view/run-note.ts';
import { createRunScreen } from '../view/run-screen.ts';
import { createStepLog, type StepView } from '../view/step-log.ts';
import { brief, clip } from '../view/text-width.ts';
import { waitingLines } from './waiting-lines.ts';

export interface WorkRunOptions extends ModeOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly debug?: 'invoke';
  /** Stays while the run only waits. */
  readonly wait?: true;
  /** The store, if it is already being opened. */
  readonly early?: EarlyStore;
}

/** A run that was started or resumed, and how much of its log was seen before. */
export interface ShownRun {
  readonly run: WorkflowRun;
  readonly seen: number;
}

/** Works on one run in this process and shows it. `workflow run` and `workflow resume` share it. */
export async function workRun(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkRunOptions,
  begin: (runtime: Runtime) => Promise<ShownRun>,
): Promise<ExitCode> {
  let unshown: Unshown | undefined;
  try {
    return await workAndShow(context, options, async (runtime) => {
      const begun = await begin(runtime);
      unshown = unshownOf(begun, options, context.io);
      return begun;
    });
  } catch (thrown) {
    throw await outputLost(thrown, context.io, unshown);
  }
}

function unshownOf({ run }: ShownRun, { store }: WorkRunOptions, io: Io): Unshown {
  const about = (command: string) => `${io.program} workflow ${command} ${run.id}${storeFlag(store)}`;
  const commands = { show: about('show'), resume: about('resume') };
  const isGone = isInMemory(storeLocation(store, io));
  return { kind: 'run', result: run.result, commands: isGone ? undefined : commands };
}

async function workAndShow(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkRunOptions,
  begin: (runtime: Runtime) => Promise<ShownRun>,
): Promise<ExitCode> {
  const { io } = context;
  const mode = runMode(options, io);
  const isGone = isInMemory(storeLocation(options.store, io));
  const flag = isGone ? undefined : storeFlag(options.store);
  const drawn = createWorkflowView(mode, io, { invoke: options.debug === 'invoke' }, flag);
  const asides = oneAtATime(drawn.aside);
  const view: WorkflowView = {
    ...drawn,
    aside: asides.aside,
    async end(...given) {
      await asides.idle();
      await drawn.end(...given);
    },
  };
  const approve = askPerson(io, view);
  const ask = askRuns(io, view, flag);
  const settings: Pick<RuntimeOptions, 'durability' | 'approve' | 'ask'> = {
    ...(options.durability === undefined ? {} : { durability: options.durability }),
    ...(approve === undefined ? {} : { approve }),
    ...(ask === undefined ? {} : { ask }),
  };
  const store = {
    ...(options.store === undefined ? {} : { store: options.store }),
    ...(options.early === undefined ? {} : { early: options.early }),
  };
  const told = { mode, storeFlag: flag };
  const outcome: { followed?: FollowedRun; state?: RunState; isLeft?: boolean } = {};
  const stopTelling = reportSlowStop(io, mode);
  try {
    await withRuntime(context, { ...store, ...settings }, async (runtime) => {
      const triggered = watchTriggered(runtime);
      const { run, seen } = await begin(runtime);
      outcome.followed = await followWorkflow(run, io, { view, seen });
      const { status } = outcome.followed.result;
      if (status === 'waiting') outcome.state = await readRun(runtime.store, run.id);
      if (status !== 'interrupted')
        outcome.isLeft = (
          await awaitRuns(runtime, run.id, [], triggered, io, { ...told, isAsking: asides.isAsking })
        ).isLeft;
      triggered.stop();
    });
  } catch (thrown) {
    // A lost store cannot be closed either. Report the loss, not the failed close.
    const result = outcome.followed?.result;
    if (result?.status !== 'interrupted' || result.error === undefined) throw thrown;
  } finally {
    stopTelling();
    if (outcome.followed === undefined) await view.leave();
  }
  if (outcome.followed === undefined) return EXIT.failed;
  const code = await concludeRun(outcome.followed, io, { ...told, state: outcome.state });
  return code === EXIT.ok && outcome.isLeft === true ? EXIT.interrupted : code;
}

export interface ConcludeRunOptions {
  readonly mode: RunMode;
  /** ` --store X`, if commands about this run need it. Undefined if the run is gone when this process ends. */
  readonly storeFlag: string | undefined;
  /** The run's state on the log. */
  readonly state: Pick<RunState, 'reviews' | 'steps'> | undefined;
}

/** Says on stderr what a person must know about a run that did not end well, and returns the exit code. */
function concludeRun(
  { result, cutOff, unread, rootCause }: FollowedRun,
  io: Pick<Io, 'stderr' | 'clock' | 'program'>,
  { mode, storeFlag, state }: ConcludeRunOptions,
): Promise<ExitCode> {
  const { run, status, error } = result;
  const end: ConcludedWork = {
    status,
    error,
    unread,
    rootCause,
    about: `run ${run}`,
    commands: { see: `workflow show ${run}`, resume: `workflow resume ${run}` },
    running: cutOff.map(({ step, startedAt }) => ({ what: step, startedAt })),
    cancelled: `The run ${run} was cancelled: ${error?.message ?? 'no reason was given'}`,
  };
  return concludeEnd(end, io, {
    mode,
    storeFlag,
    interrupted: '',
    waiting: () => [
      `The run is waiting for ${waitsFor(result)}.`,
      ...(state === undefined ? [] : waitingLines(run, state, storeFlag, paletteFor(io.stderr), io)),
    ],
  });
}

export interface FollowedRun {
  readonly result: RunResult;
  /** The steps that were running when the run was interrupted here. */
  readonly cutOff: readonly StepView[];
  /** Whether the reader of our output has gone. */
  readonly unread: boolean;
  /** What somebody must fix, if anything. */
  readonly rootCause: RootCause | undefined;
}

/** Shows a run until it ends or only waits. Ctrl-C interrupts it, and so does a reader who goes away. */
export async function followWorkflow(
  run: WorkflowRun,
  { stdout, signal, clock }: Pick<Io, 'stdout' | 'signal' | 'clock'>,
  { view, seen }: { readonly view: WorkflowView; readonly seen: number },
): Promise<FollowedRun> {
  const steps = createStepLog();
  const causes = createRootCauseFold();
  const totals = { steps: 0, cost_usd: 0 };
  const began = clock.monotonic();
  let cutOff: readonly StepView[] = [];
  let stopped: Promise<void> | undefined;
  const stop = () => {
    cutOff = steps.running().map((step) => ({ ...step }));
    stopped ??= run.interrupt();
    // It is awaited below. Until then, Node must not report it as unhandled.
    stopped.catch(() => undefined);
  };
  const count = (event: RunEvent) => {
    if (event.type === 'step.completed' || event.type === 'step.failed') totals.steps++;
    if (event.type === 'model.used') totals.cost_usd += event.cost_usd;
  };
  const watch = async () => {
    for await (const event of run.events) {
      steps.take(event);
      if (event.seq <= seen) view.recall(event);
      else {
        count(event);
        causes.take(event);
        await view.show(event);
      }
      if (stdout.closed && stopped === undefined) stop();
    }
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    view.waits?.();
    const [result] = await Promise.all([run.result, watch()]);
    await stopped;
    const took: RunTotals = { ...totals, ms: clock.monotonic() - began };
    const rootCause = causes.of(result);
    await view.end(result, took, rootCause);
    return { result, cutOff, unread: stdout.closed, rootCause };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Shows the events of a workflow run. */
export interface WorkflowView {
  show(event: RunEvent): Promise<void>;
  /** Says that work has started, because the first event may take a while. Only for views with a status line. */
  waits?(): void;
  /** Takes in an event that was shown before. */
  recall(event: RunEvent): void;
  end(result: RunResult, totals: RunTotals, rootCause?: RootCause): Promise<void>;
  /** Ends the view when there is no result to show. */
  leave(): Promise<void>;
  /** Gives the terminal to `ask` until it is done. */
  aside<T>(ask: (draft: string) => Promise<T>): Promise<T>;
}

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

export function createWorkflowView(
  mode: RunMode,
  io: Io,
  debug: Debug = {},
  storeFlag?: string,
): WorkflowView {
  const { stdout } = io;
  switch (mode) {
    case 'live':
      return liveView(io, debug, storeFlag);
    case 'plain':
      return {
        ...inPipe,
        async show(event) {
          const line = plainRunLine(eventAsTyped(event, io, storeFlag), undefined, debug);
          if (line !== undefined) await stdout.write(`${line}\n`);
        },
        end: (result, totals) =>
          stdout.write(`${closingRunLines(result, totals, paletteFor(stdout)).join('\n')}\n`),
      };
    case 'events':
      return { ...inPipe, show: (event) => stdout.write(eventJson(event)), end: async () => {} };
    case 'quiet':
      return silentView(io, ({ output }) => (output === undefined ? '' : resultText(output, stdout)));
    case 'json':
      return silentView(io, (result, rootCause) => jsonText(withRootCause(result, rootCause), 2));
  }
}

const inPipe: Pick<WorkflowView, 'recall' | 'leave' | 'aside'> = {
  recall: () => {},
  leave: async () => {},
  aside: (ask) => ask(''),
};

function liveView(io: Io, debug: Debug, storeFlag: string | undefined): WorkflowView {
  const { stdout, signal } = io;
  const paint = paletteFor(stdout);
  const columns = () => stdout.columns ?? DEFAULT_COLUMNS;
  const screen = createRunScreen({
    paint,
    debug,
    asks: asksPerson(io),
    whole: showingWhole(io, storeFlag),
    size: () => ({ columns: columns(), rows: stdout.rows ?? DEFAULT_ROWS }),
    status: () => (signal.aborted ? paint.yellow(clip(STOPPING, columns() - 1)) : undefined),
  });
  const frames = createTerminalFrames(io, screen);
  let hasEnded = false;
  return {
    async show(event) {
      screen.show(eventAsTyped(event, io, storeFlag));
      frames.changed();
    },
    waits: frames.waits,
    recall: (event) => screen.recall(eventAsTyped(event, io, storeFlag)),
    async end(result, totals) {
      hasEnded = true;
      await frames.leave();
      await stdout.write(`\n${closingRunLines(result, totals, paint, columns() - 1).join('\n')}\n`);
    },
    leave: () => frames.leave(),
    aside: (ask) => (hasEnded ? ask('') : frames.aside(ask)),
  };
}

/** Prints only how it ended. Until then a terminal shows a progress line. */
function silentView(
  io: Io,
  print: (result: RunResult, rootCause: RootCause | undefined) => string,
): WorkflowView {
  let step = '';
  const progress = startSilentProgress(io, () => (step === '' ? 'Starting…' : `At ${step}…`));
  return {
    ...progress,
    async show(event) {
      if (event.type === 'step.started') step = event.step;
    },
    recall: () => {},
    async end(result, _totals, rootCause) {
      await progress.leave();
      await io.stdout.write(print(result, rootCause));
    },
  };
}

/** The cost and duration of a run, as far as they were seen here. */
export interface RunTotals {
  readonly steps: number;
  readonly ms: number;
  readonly cost_usd: number;
}

const SIGNS: Readonly<Record<RunResult['status'], { readonly sign: string; readonly paint: keyof Palette }>> =
  {
    completed: { sign: '✓', paint: 'green' },
    failed: { sign: '✗', paint: 'red' },
    waiting: { sign: '…', paint: 'yellow' },
    cancelled: { sign: '–', paint: 'yellow' },
    interrupted: { sign: '–', paint: 'yellow' },
  };

/** How many lines of an output are shown; --json and --quiet show all. */
const MAX_LINES = 20;
const MAX_COLUMNS = 400;

const isColored = (paint: Palette): boolean => paint.bold('x') !== 'x';

/** The last lines of a workflow run: how it ended, what it took, and its output. */
function closingRunLines(
  { status, output }: RunResult,
  { steps, ms, cost_usd }: RunTotals,
  paint: Palette,
  columns = MAX_COLUMNS,
): readonly string[] {
  const { sign, paint: color } = SIGNS[status];
  const parts = [countText(steps, 'step'), ...(cost_usd > 0 ? [costText(cost_usd)] : []), spanText(ms)];
  const lines = [`${paint[color](`${sign} ${status}`)}  ${parts.join(' · ')}`];
  if (status !== 'completed' || output === undefined || output === null) return lines;
  const folded = { paint, more: '--json shows all' };
  const rows =
    isColored(paint) && typeof output !== 'string' ? jsonRows(output, columns, MAX_LINES, folded) : undefined;
  if (rows !== undefined) return [...lines, ...rows];
  const text = harmlessLines(typeof output === 'string' ? output : jsonText(output, 2).trimEnd());
  const more = text.length - MAX_LINES;
  return [
    ...lines,
    ...text.slice(0, MAX_LINES).map((line) => line.match(/^ */)?.[0] + brief(line, columns)),
    ...(more > 0 ? [paint.dim(`… ${countText(more, 'more line')}: --json shows all`)] : []),
  ];
}

import type { RunEvent } from '../../events/run-event.ts';
import type { RunResult } from '../../session/runs/run-types.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import type { RunMode } from '../run/run-mode.ts';
import { startSilentProgress } from '../run/silent-progress.ts';
import { STOPPING } from '../run/tell-slow-stop.ts';
import { createTerminalFrames } from '../run/terminal-frames.ts';
import { showingWhole } from '../run/terminal-view.ts';
import { eventAsTyped } from '../session/naming-store.ts';
import { clip } from '../view/columns.ts';
import type { Debug } from '../view/debug.ts';
import { eventJson, jsonText } from '../view/json-line.ts';
import { plainRunLine } from '../view/plain-run-lines.ts';
import { resultText } from '../view/result-text.ts';
import { type RootCause, withRootCause } from '../view/root-cause.ts';
import { createRunScreen } from '../view/run-screen.ts';
import { closingRunLines, type RunTotals } from './closing-run-lines.ts';

/** Where the events of a workflow run go. */
export interface WorkflowView {
  show(event: RunEvent): Promise<void>;
  /** It is under way, and its first event may take its time: said where there is a line for it. */
  waits?(): void;
  /** Takes in an event that has been seen before. */
  recall(event: RunEvent): void;
  end(result: RunResult, totals: RunTotals, rootCause?: RootCause): Promise<void>;
  /** Ends it where there is no result to show. */
  leave(): Promise<void>;
  /** Leaves the terminal to `ask` while it lasts. */
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

/** Prints only how it ended. While it lasts, a terminal sees that something goes on. */
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

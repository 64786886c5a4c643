import type { SessionResult } from '../../agent/runtime-types.ts';
import type { ObservedEvent } from '../../log/event.ts';
import { speakerOf } from '../../log/fold-handoffs.ts';
import type { RunEvent } from '../../log/run-event.ts';
import { type Io, paletteFor } from '../io.ts';
import { startProgress } from '../progress.ts';
import { eventAsTyped } from '../session/store-options.ts';
import { closingLines } from '../view/closing-lines.ts';
import type { Debug } from '../view/describe-event.ts';
import { eventJson, jsonText } from '../view/json-text.ts';
import { resultText } from '../view/note-line.ts';
import { createPlainLines } from '../view/plain-lines.ts';
import { type RootCause, withRootCause } from '../view/root-cause.ts';
import { plainRunLine } from '../view/run-note.ts';
import { createModelPhase } from '../view/run-progress.ts';
import { asksPerson } from './ask-person.ts';
import { endsInterruptedTurn, STOPPING, STOPPING_TURN } from './report-slow-stop.ts';
import type { RunMode } from './run-mode.ts';
import type { RunView } from './run-view.ts';

/** The view of a mode. */
export async function createRunView(
  mode: RunMode,
  io: Io,
  debug: Debug = {},
  storeFlag?: string,
): Promise<RunView> {
  switch (mode) {
    case 'live':
      return (await import('./terminal-view.ts')).createTerminalView(io, {
        debug,
        storeFlag,
        asks: asksPerson(io),
      });
    case 'plain':
      return plainView(io, debug, storeFlag);
    case 'quiet':
      return quietView(io);
    case 'json':
      return silentView(io, (result, rootCause) => jsonText(withRootCause(result, rootCause), 2));
    case 'events':
      return {
        show: (event) => io.stdout.write(eventJson(event)),
        recall: () => {},
        showRunEvent: (event) => io.stdout.write(eventJson(event)),
        showGuidingRun: async () => {},
        end: async () => {},
        leave: async () => {},
        aside: (ask) => ask(''),
      };
  }
}

function plainView(io: Io, debug: Debug, storeFlag: string | undefined): RunView {
  const { stdout } = io;
  const lines = createPlainLines(debug);
  return {
    show: (event) =>
      stdout.write(
        lines(eventAsTyped(event, io, storeFlag))
          .map((line) => `${line}\n`)
          .join(''),
      ),
    recall: (event) => void lines(event),
    async showRunEvent(event) {
      const line = plainRunLine(eventAsTyped(event, io, storeFlag), event.run, debug);
      if (line !== undefined) await stdout.write(`${line}\n`);
    },
    async showGuidingRun(event) {
      // A task's start and end are on the session's own log, and only the end tells whether a step is a task.
      if (event.type === 'step.started' || isTaskEnd(event)) return;
      const line = plainRunLine(eventAsTyped(event, io, storeFlag));
      if (line !== undefined) await stdout.write(`${line}\n`);
    },
    end: (result, times) => stdout.write(`${closingLines(result, times, paletteFor(stdout)).join('\n')}\n`),
    leave: async () => {},
    aside: (ask) => ask(''),
  };
}

/** Whether a step ended that an agent worked on. */
const isTaskEnd = (event: RunEvent): boolean => event.type === 'step.completed' && event.notes !== undefined;

/** Prints only a run's result, or each answer of a chat. */
function quietView(io: Io): RunView {
  const { stdout } = io;
  let isChat = false;
  const view = silentView(io, ({ result }) =>
    isChat || result === undefined ? '' : resultText(result, stdout),
  );
  const note = (event: ObservedEvent) => {
    isChat ||= (event.type === 'session.started' || event.type === 'session.resumed') && event.chat === true;
  };
  return {
    ...view,
    async show(event) {
      note(event);
      await view.show(event);
      const answer = isChat ? answerOf(event) : undefined;
      if (answer === undefined) return;
      await view.leave();
      await stdout.write(resultText(answer, stdout));
    },
    recall: note,
  };
}

/** A final response of any agent in the conversation. */
function answerOf(event: ObservedEvent): string | undefined {
  if (event.type === 'response') return event.final ? event.text : undefined;
  if (event.type !== 'child.response' || speakerOf(event.action) === undefined) return undefined;
  return event.event.final ? event.event.text : undefined;
}

/** Prints only how it ended. Until then a terminal shows a progress line. */
function silentView(
  io: Io,
  print: (result: SessionResult, rootCause: RootCause | undefined) => string,
): RunView {
  const model = createModelPhase();
  let turn = 0;
  let isBreakingOff = false;
  const progress = startSilentProgress(io, () => {
    if (isBreakingOff) return STOPPING_TURN;
    if (turn === 0) return 'Starting…';
    return `Turn ${turn}: ${model.text() ?? 'actions are running'}…`;
  });
  return {
    ...progress,
    async show(event) {
      turn = event.turn;
      model.follow(event);
      if (endsInterruptedTurn(event)) isBreakingOff = false;
    },
    showInterrupting() {
      isBreakingOff = true;
    },
    recall: () => {},
    showRunEvent: async () => {},
    showGuidingRun: async () => {},
    async end(result, _times, rootCause) {
      await progress.leave();
      await io.stdout.write(print(result, rootCause));
    },
  };
}

/** The progress line of a command that prints nothing until it ends. */
export interface SilentProgress {
  leave(): Promise<void>;
  /** Gives the terminal to `ask` until it is done. */
  aside<T>(ask: (draft: string) => Promise<T>): Promise<T>;
}

export function startSilentProgress(io: Io, doing: () => string): SilentProgress {
  const start = () => startProgress(io, () => (io.signal.aborted ? STOPPING : doing()));
  let leave = start();
  return {
    leave: () => leave(),
    async aside(ask) {
      await leave();
      try {
        return await ask('');
      } finally {
        leave = start();
      }
    },
  };
}

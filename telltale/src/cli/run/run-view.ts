import type { ObservedEvent } from '../../events/event.ts';
import type { SessionResult } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { closingLines } from '../view/closing-lines.ts';
import { eventJson, jsonText } from '../view/json-line.ts';
import type { Overlap } from '../view/overlap.ts';
import { createPlainLines } from '../view/plain-lines.ts';
import { resultText } from '../view/result-text.ts';
import type { RunMode } from './run-mode.ts';
import { createTerminalView } from './terminal-view.ts';

/** Where the events of a run go. */
export interface RunView {
  /** Resolves when the reader can take more. */
  show(event: ObservedEvent): Promise<void>;
  /** Takes in an event that is not shown: it has been seen before, and what follows may be about it. */
  recall(event: ObservedEvent): void;
  /** After the last event. */
  end(result: SessionResult, overlap: Overlap): Promise<void>;
  /** Leaves the terminal to `ask` while it lasts. */
  aside<T>(ask: () => Promise<T>): Promise<T>;
}

export function createRunView(mode: RunMode, io: Io): RunView {
  const { stdout } = io;
  const aside = <T>(ask: () => Promise<T>) => ask();
  const nothing = async () => {};
  const recall = () => {};
  switch (mode) {
    case 'live':
      return createTerminalView(io);
    case 'plain': {
      const lines = createPlainLines();
      return {
        show: (event) =>
          stdout.write(
            lines(event)
              .map((line) => `${line}\n`)
              .join(''),
          ),
        recall: (event) => void lines(event),
        end: (result, overlap) =>
          stdout.write(`${closingLines(result, overlap, paletteFor(stdout)).join('\n')}\n`),
        aside,
      };
    }
    case 'quiet':
      return {
        show: nothing,
        end: ({ result }) => stdout.write(result === undefined ? '' : resultText(result, stdout)),
        recall,
        aside,
      };
    case 'events':
      return { show: (event) => stdout.write(eventJson(event)), end: nothing, recall, aside };
    case 'json':
      return { show: nothing, end: (result) => stdout.write(jsonText(result, 2)), recall, aside };
  }
}

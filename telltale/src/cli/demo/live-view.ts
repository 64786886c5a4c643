import type { Palette } from '../../manifest/palette.ts';
import type { ActionIntent, ParserEvent } from '../../protocol/index.ts';

export interface LiveView {
  /** What to print for an event that became certain `seconds` into the stream. */
  show(event: ParserEvent, seconds: number): string;
}

const MARGIN = '  ';
/** Of the time in front of a line: `  0.22 s`. */
const STAMP_COLUMNS = 8;
/** What is left of a text on the narrowest terminal. */
const SHORTEST = 10;

/** Turns parser events into lines for a terminal, as they come. */
export function createLiveView(paint: Palette, columns: number): LiveView {
  /** Whether the cursor stands at the start of a line. */
  let atLineStart = true;
  const write = (text: string): string => {
    atLineStart = text.endsWith('\n');
    return text;
  };
  const line = (text: string): string => write(`${atLineStart ? '' : '\n'}${text}\n`);
  const stamp = (seconds: number) => paint.dim(`${seconds.toFixed(2).padStart(6)} s`);
  const prose = (text: string, colour: (text: string) => string): string => {
    const painted = text
      .split('\n')
      .map((part, index) => (part === '' ? '' : `${index > 0 || atLineStart ? MARGIN : ''}${colour(part)}`))
      .join('\n');
    return write(painted);
  };
  /** `before` is what stands on the line in front of it, behind the stamp. */
  const clip = (text: string, before: string) => {
    const room = Math.max(SHORTEST, columns - STAMP_COLUMNS - before.length - 1);
    return text.length > room ? `${text.slice(0, room - 1)}…` : text;
  };

  return {
    show(event, seconds) {
      switch (event.type) {
        case 'text':
          return prose(event.text, (text) => text);
        case 'delta':
          return prose(event.text, event.tag === 'thought' ? paint.dim : (text) => text);
        case 'open':
          return line(
            event.tag === 'thought'
              ? paint.dim('thought')
              : paint.bold(event.final ? 'response' : 'response, more to come'),
          );
        case 'close':
          return atLineStart ? '' : write('\n');
        case 'action':
          return line(`${stamp(seconds)} ${paint.green('▶')} ${clip(describe(event), ' ▶ ')}`);
        case 'foreach':
          return line(
            `${stamp(seconds)} ${paint.green('▶')} for each of ${event.in}: ${event.actions.length} actions`,
          );
        case 'metadata':
          return line(`${stamp(seconds)} ${paint.cyan('●')} ${clip(fields(event.value), ' ● ')}`);
        case 'if':
          return line(`${stamp(seconds)} ${paint.dim(`if ${event.test}: ${event.body}`)}`);
        case 'parallel':
          return line(`${stamp(seconds)} ${paint.dim(`parallel ${event.id ?? ''}: ${event.body}`)}`);
        case 'fault':
          return line(
            `${stamp(seconds)} ${paint.yellow(`! ${event.code}`)} ${clip(event.message, ` ! ${event.code} `)}`,
          );
      }
    },
  };
}

function describe(action: ActionIntent): string {
  const waits = action.depends_on === undefined ? '' : ` after ${action.depends_on.join(', ')}`;
  return `${action.id}: ${action.name ?? action.template} ${fields(action.parameters)}${waits}`;
}

const fields = (value: object): string =>
  Object.entries(value)
    .map(([name, each]) => `${name}=${JSON.stringify(each)}`)
    .join(' ');

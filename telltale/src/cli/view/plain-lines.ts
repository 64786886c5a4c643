import { stripVTControlCharacters } from 'node:util';
import { isRunEvent, type StreamEvent } from '../../agent/log/read-log.ts';
import type { EventType, ObservedEvent } from '../../log/event.ts';
import { speakerOf } from '../../log/fold-handoffs.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { displayWidth } from '../../manifest/format-diagnostic.ts';
import { createActionLog } from './action-log.ts';
import { describeEvent, describeLogged } from './describe-event.ts';
import { describeRunEvent } from './describe-run-event.ts';
import { harmlessLines } from './harmless.ts';
import type { Frame } from './live-screen.ts';
import { isToFix } from './root-cause.ts';
import { padded } from './text-width.ts';

/** Turns events into lines for a pipe, as they come: the event's type, then what it says. */
export type PlainLines = (event: ObservedEvent) => readonly string[];

/** Of the longest type that is shown often: `metadata.changed`. */
const LABEL = 18;
/** Columns of a result or a value: what is longer is in the log. */
const SAID = 200;
/** Of an error that somebody has to fix: all of it. */
const WHOLE = 4_000;

/** What says nothing that another line does not say. */
const SILENT: ReadonlySet<EventType> = new Set([
  'model.output',
  'action.started',
  'budget.charged',
  'timer.set',
  'timer.fired',
  'child.thought',
  'child.text',
  'child.turn.completed',
  'child.usage',
  'handoff.requested',
  'session.completed',
]);

export function createPlainLines({ invoke = false }: { readonly invoke?: boolean } = {}): PlainLines {
  const actions = createActionLog();
  return (event) => {
    actions.take(event);
    if (!('seq' in event) || SILENT.has(event.type) || (event.type === 'invoke' && !invoke)) return [];
    const label = `${event.type} `.padEnd(LABEL);
    switch (event.type) {
      case 'thought':
      case 'text':
      case 'response':
        return harmlessLines(event.text.trim()).map((line, index) =>
          `${index === 0 ? label : ' '.repeat(LABEL)}${line}`.trimEnd(),
        );
      case 'child.response': {
        const speaker = speakerOf(event.action);
        if (speaker === undefined) break;
        return harmlessLines(`${speaker}: ${event.event.text.trim()}`).map((line, index) =>
          `${index === 0 ? 'response '.padEnd(LABEL) : ' '.repeat(LABEL)}${line}`.trimEnd(),
        );
      }
      case 'session.started':
        return [`${label}${event.session} ${describeEvent(event, SAID)}`];
    }
    const isWhole = event.type === 'action.failed' && isToFix(event.error);
    return [`${label}${describeEvent(event, isWhole ? WHOLE : SAID, actions.nameOf)}`.trimEnd()];
  };
}

/** Remembers what stands at the bottom of a terminal, and says what to write so that something else does. */
export interface Painter {
  /** The sequence that turns what the last frame left into this one. The cursor stays at the end of its last line. */
  paint(frame: Frame, columns: number): string;
  /** The sequence that takes the live lines away; the cursor is then at the start of an empty line. */
  clear(columns: number): string;
  /** Tells that a person ended the last line by pressing Enter. */
  entered(): void;
}

const LINE_END = '\u001b[K';
const BELOW = '\u001b[J';
const up = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '');

export function createPainter(): Painter {
  /** Columns of each live line as it was drawn. */
  let drawn: readonly number[] = [];
  let entered = 0;

  /** To the start of the first live line; a terminal that was made narrower has wrapped some of them. */
  const home = (columns: number): string => {
    const rows = drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return `\r${up(Math.max(0, rows - 1) + entered)}`;
  };

  return {
    paint({ done, live }, columns) {
      const start = home(columns);
      drawn = live.map((line) => displayWidth(stripVTControlCharacters(line)));
      entered = 0;
      const ended = done.map((line) => `${line}${LINE_END}\n`).join('');
      return `${start}${ended}${live.join(`${LINE_END}\n`)}${BELOW}`;
    },
    clear(columns) {
      const start = home(columns);
      drawn = [];
      entered = 0;
      return `${start}${BELOW}`;
    },
    entered() {
      entered++;
    },
  };
}

/** Turns a log into lines, event by event: seq, seconds since it began, type, what it says. */
export type EventLines = (event: StreamEvent) => string;

export interface EventLinesOptions {
  readonly columns: number;
  readonly paint: Palette;
}

const SEQ = 5;
const TIME = 10;
const TYPE = 18;
/** Where there are fewer columns, the time and the padding make room for what an event says. */
const NARROW = 60;

export function createEventLines({ columns, paint }: EventLinesOptions): EventLines {
  const actions = createActionLog();
  let startedAt: number | undefined;
  return (event) => {
    if (!isRunEvent(event)) actions.take(event);
    startedAt ??= event.at;
    const isNarrow = columns < NARROW;
    const seq = String(event.seq).padStart(SEQ);
    const time = isNarrow ? '' : ` ${`+${((event.at - startedAt) / 1000).toFixed(3)}`.padStart(TIME)}`;
    const type = isNarrow ? event.type : padded(event.type, TYPE);
    const room = columns - SEQ - time.length - type.length - 5;
    const text = isRunEvent(event)
      ? describeRunEvent(event, room)
      : describeLogged(event, Math.max(1, room), actions.nameOf);
    const colour = colourOf(event);
    return `${paint.dim(`${seq}${time}`)}  ${colour === undefined ? type : paint[colour](type)}  ${text}`.trimEnd();
  };
}

/** What one looks for in a log stands out. */
function colourOf({ type }: StreamEvent): keyof Palette | undefined {
  if (type.endsWith('.failed') || type === 'session.stalled') return 'red';
  if (type === 'fault' || type.endsWith('.rejected') || type.endsWith('.interrupted')) return 'yellow';
  if (/^(?:action|session|step|workflow)\.completed$/.test(type)) return 'green';
  if (type === 'metadata.changed' || type === 'state.entered' || type === 'trigger.fired') return 'cyan';
  return type === 'model.output' ? 'dim' : undefined;
}

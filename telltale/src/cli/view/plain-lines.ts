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

/** Turns events into lines for a pipe: the event's type, then its content. */
export type PlainLines = (event: ObservedEvent) => readonly string[];

/** The width of `metadata.changed`, the longest common type. */
const LABEL = 18;
/** Columns for a result or a value. The log has longer ones. */
const SAID = 200;
/** Columns for an error that somebody must fix: all of it. */
const WHOLE = 4_000;

/** Types that repeat what another line says. */
const SILENT: ReadonlySet<EventType> = new Set([
  'model.output',
  'action.started',
  'budget.charged',
  'timer.set',
  'timer.fired',
  'child.thought',
  'child.text',
  'child.turn.started',
  'child.turn.completed',
  'child.action.declared',
  'child.action.started',
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

/** Remembers the lines at the bottom of a terminal and computes the output that replaces them. */
export interface Painter {
  /** The sequence that replaces the last frame with this one. The cursor ends up at the end of the last line. */
  paint(frame: Frame, columns: number): string;
  /** The sequence that removes the changing lines. The cursor ends up at the start of an empty line. */
  clear(columns: number): string;
  /** Reports that a person ended the last line with Enter. */
  entered(): void;
}

const LINE_END = '\u001b[K';
const BELOW = '\u001b[J';
const up = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '');

export function createPainter(): Painter {
  /** The width of each changing line as it was drawn. */
  let drawn: readonly number[] = [];
  let entered = 0;

  /** Moves to the start of the first changing line. If the terminal became narrower, it has wrapped some of them. */
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

/** Turns a log into lines: sequence number, seconds since the start, type, content. */
export type EventLines = (event: StreamEvent) => string;

export interface EventLinesOptions {
  readonly columns: number;
  readonly paint: Palette;
}

const SEQ = 5;
const TIME = 10;
const TYPE = 18;
/** On a narrower terminal, the time and the padding make room for the content. */
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
    const color = colorOf(event);
    return `${paint.dim(`${seq}${time}`)}  ${color === undefined ? type : paint[color](type)}  ${text}`.trimEnd();
  };
}

/** Highlights the types that people look for in a log. */
function colorOf({ type }: StreamEvent): keyof Palette | undefined {
  if (type.endsWith('.failed') || type === 'session.stalled') return 'red';
  if (type === 'fault' || type.endsWith('.rejected') || type.endsWith('.interrupted')) return 'yellow';
  if (/^(?:action|session|step|workflow)\.completed$/.test(type)) return 'green';
  if (type === 'metadata.changed' || type === 'state.entered' || type === 'trigger.fired') return 'cyan';
  return type === 'model.output' ? 'dim' : undefined;
}

import type { SessionEvent } from '../../events/event.ts';
import type { Palette } from '../../manifest/palette.ts';
import { createActionLog } from './action-log.ts';
import { padded } from './columns.ts';
import { describeEvent } from './describe-event.ts';

/** Turns a log into lines, event by event: seq, seconds since the session began, type, what it says. */
export type EventLines = (event: SessionEvent) => string;

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
    actions.take(event);
    startedAt ??= event.at;
    const isNarrow = columns < NARROW;
    const seq = String(event.seq).padStart(SEQ);
    const time = isNarrow ? '' : ` ${`+${((event.at - startedAt) / 1000).toFixed(3)}`.padStart(TIME)}`;
    const type = isNarrow ? event.type : padded(event.type, TYPE);
    const room = columns - SEQ - time.length - type.length - 5;
    const text = describeEvent(event, Math.max(1, room), actions.nameOf);
    const colour = colourOf(event);
    return `${paint.dim(`${seq}${time}`)}  ${colour === undefined ? type : paint[colour](type)}  ${text}`.trimEnd();
  };
}

/** What one looks for in a log stands out. */
function colourOf({ type }: SessionEvent): keyof Palette | undefined {
  if (type.endsWith('.failed') || type === 'session.stalled') return 'red';
  if (type === 'fault' || type.endsWith('.rejected') || type.endsWith('.interrupted')) return 'yellow';
  if (type === 'action.completed' || type === 'session.completed') return 'green';
  if (type === 'metadata.changed') return 'cyan';
  return type === 'model.output' ? 'dim' : undefined;
}

import type { Palette } from '../../manifest/palette.ts';
import { isRunEvent, type StreamEvent } from '../../session/log/stream-event.ts';
import { createActionLog } from './action-log.ts';
import { padded } from './columns.ts';
import { describeLogged } from './describe-event.ts';
import { describeRunEvent } from './describe-run-event.ts';

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

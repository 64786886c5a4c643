import { type CauseChain, isRunEvent, streamOf } from '../../agent/log/read-log.ts';
import type { SessionResult } from '../../agent/runtime-types.ts';
import type { SessionState } from '../../log/state.ts';
import { type TimeSaved, timeSavedText } from '../../log/time-saved.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { describeLogged } from './describe-event.ts';
import { describeRunEvent } from './describe-run-event.ts';
import { costText, countText, spanText, tokensText } from './figures.ts';
import { brief, briefFields, clip, wrap } from './text-width.ts';

const SIGNS: Readonly<
  Record<SessionResult['status'], { readonly sign: string; readonly paint: keyof Palette }>
> = {
  completed: { sign: '✓', paint: 'green' },
  failed: { sign: '✗', paint: 'red' },
  stalled: { sign: '✗', paint: 'yellow' },
  waiting: { sign: '…', paint: 'yellow' },
  cancelled: { sign: '–', paint: 'yellow' },
  interrupted: { sign: '–', paint: 'yellow' },
};

/** The durations of a session. */
export interface Times {
  /** How many milliseconds it was worked on. */
  readonly workedMs: number;
  readonly saved: TimeSaved;
  /** A chat that was left while it waited for the next message. */
  readonly isIdle?: boolean;
}

/** The last lines of a run: how it ended, what it took, and the time saved. They wrap if `columns` is given. */
export function closingLines(
  result: SessionResult,
  { workedMs, saved, isIdle = false }: Times,
  paint: Palette,
  columns = Number.POSITIVE_INFINITY,
): readonly string[] {
  const { sign, paint: color } = SIGNS[result.status];
  const status = result.status === 'interrupted' && isIdle ? 'paused' : result.status;
  const parts = [
    ...(result.turns === 0 && result.usage.output === 0
      ? []
      : [countText(result.turns, 'turn'), tokensText(result.usage)]),
    ...(result.cost_usd > 0 ? [costText(result.cost_usd)] : []),
    spanText(workedMs),
  ];
  const lines = [`${paint[color](`${sign} ${status}`)}  ${parts.join(' · ')}`];
  const told = timeSavedText(saved);
  if (told !== undefined) lines.push(...wrap(told, columns).map(paint.dim));
  return lines;
}

/** Where a replay is in the log, and the state of the session at that point. */
export function positionLine(state: SessionState, head: number, columns: number, paint: Palette): string {
  const where = `event ${state.seq} of ${head}`;
  const what = `turn ${state.turn} · ${state.status} · ${briefFields(state.metadata, columns)}`;
  return `${paint.bold(where)} ${paint.dim(clip(what.replace(/ · $/, ''), Math.max(1, columns - where.length - 2)))}`;
}

/** The maximum indentation, so that a long chain stays on the screen. */
const MAX_INDENT = 12;

/** A chain of causes, starting with the event in question. A stream is named where the chain enters it. */
export function causeLines(
  { events, lost }: CauseChain,
  { columns, paint }: { readonly columns: number; readonly paint: Palette },
): readonly string[] {
  const indent = (step: number) => ' '.repeat(Math.min(step, MAX_INDENT) * 2);
  const lines = events.map((event, step) => {
    const before = `${indent(step)}${step === 0 ? '' : '└ because '}`;
    const effect = events[step - 1];
    const isElsewhere = effect !== undefined && streamOf(effect) !== streamOf(event);
    const where = isElsewhere ? `${brief(streamOf(event), columns)} ` : '';
    const head = `${where}${event.seq} ${event.type}`;
    const room = Math.max(1, columns - before.length - head.length - 3);
    const text = isRunEvent(event)
      ? describeRunEvent(event, room)
      : describeLogged(event, room, () => undefined);
    return `${paint.dim(before)}${paint.bold(head)}  ${text}`.trimEnd();
  });
  const last = `${indent(events.length)}└ ${
    lost === undefined
      ? 'from outside: started by a person or a program'
      : `because of event ${lost.seq} of ${brief(lost.stream, columns)}, which is no longer in this store`
  }`;
  return [...lines, paint.dim(clip(last, columns))];
}

import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { brief } from './brief-value.ts';

/** A place where somebody may want to fork. */
export interface ForkPoint {
  readonly seq: number;
  readonly label: string;
}

const MAX_WORDS = 50;

/** The text of an event, if it is a person's message: a fork from there can change it. */
export function saidIn(event: SessionEvent | undefined): string | undefined {
  if (event?.type === 'session.started') return event.input;
  if (event?.type !== 'message.received') return undefined;
  return event.from === 'user' || event.from === 'steer' ? event.text : undefined;
}

/** The last event that a session can be forked from. Its final event is not one. */
export function lastForkable(events: readonly SessionEvent[]): number {
  const last = events.at(-1);
  return last?.type === 'session.completed' ? last.seq - 1 : events.length;
}

/** Every message and every turn, in order, and the newest event. */
export function forkPoints(events: readonly SessionEvent[]): readonly ForkPoint[] {
  const last = lastForkable(events);
  const points = events.flatMap((event): readonly ForkPoint[] => {
    const said = saidIn(event);
    if (said !== undefined) {
      const what = event.type === 'session.started' ? 'The start' : 'Your message';
      return [{ seq: event.seq, label: `${what}: ${brief(said, MAX_WORDS)}` }];
    }
    return event.type === 'turn.started' && event.turn > 1
      ? [{ seq: event.seq - 1, label: `Before turn ${event.turn}` }]
      : [];
  });
  const known = new Map(points.map((point) => [point.seq, point]));
  if (!known.has(last)) known.set(last, { seq: last, label: 'The last event' });
  return [...known.values()];
}

/** The default place for a fork: now, or, if the session has ended, before its last turn. */
export function usualFork(events: readonly SessionEvent[], isOver: boolean): number {
  const turn = events.findLast(({ type }) => type === 'turn.started');
  return isOver && turn !== undefined ? Math.max(1, turn.seq - 1) : lastForkable(events);
}

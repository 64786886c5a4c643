import type { SessionEvent } from '../events/event.ts';
import type { RunEvent } from '../events/run-event.ts';
import type { Clock } from '../kernel/clock.ts';
import { within } from '../kernel/within.ts';

type AnyEvent = SessionEvent | RunEvent;

/** The first event of a session or run, as its log has it; undefined where there is none. */
export type Recall = (stream: string) => Promise<AnyEvent | undefined>;

export interface RecallerDeps {
  readonly recall: Recall;
  isKnown(stream: string): boolean;
  takeUp(first: AnyEvent): void;
  take(event: AnyEvent): void;
}

export interface Recaller {
  /** Whether the event is kept back until it is known how its stream began. */
  holds(event: AnyEvent): boolean;
  /** What is kept back has been taken, or it is too late to wait for it. */
  settled(clock: Clock): Promise<void>;
}

/** Events of one stream that wait for its first; where there are more, they are taken without it. */
const MAX_HELD = 1_000;
const SETTLE_MS = 500;

export function createRecaller({ recall, isKnown, takeUp, take }: RecallerDeps): Recaller {
  const held = new Map<string, AnyEvent[]>();
  const asked = new Set<Promise<void>>();

  const release = (stream: string, first: AnyEvent | undefined) => {
    const events = held.get(stream);
    if (events === undefined) return;
    held.delete(stream);
    if (first !== undefined) takeUp(first);
    for (const event of events) take(event);
  };

  const ask = (stream: string) => {
    const answer: Promise<void> = recall(stream)
      // A log that cannot be read is told of by whoever works on it.
      .catch(() => undefined)
      .then((first) => release(stream, first))
      .finally(() => asked.delete(answer));
    asked.add(answer);
  };

  return {
    holds(event) {
      const isBack = event.type === 'session.resumed' || event.type === 'workflow.resumed';
      if (!isBack && held.size === 0) return false;
      const stream = 'session' in event ? event.session : event.run;
      const events = held.get(stream);
      if (events !== undefined) {
        events.push(event);
        if (events.length > MAX_HELD) release(stream, undefined);
        return true;
      }
      if (!isBack || isKnown(stream)) return false;
      held.set(stream, [event]);
      ask(stream);
      return true;
    },
    async settled(clock) {
      await within(clock, SETTLE_MS, Promise.all(asked));
      for (const stream of [...held.keys()]) release(stream, undefined);
    },
  };
}

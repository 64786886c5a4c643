import type { Review, SessionState } from '../../events/state.ts';
import { openChildren } from './child-id.ts';

/** Where a session says to whoever called it that there is nothing to do in it but wait for people. */
export interface Rest {
  /** The reviews that it waits for, those of what it calls included; undefined where there is something to do. */
  reviews: () => readonly Review[] | undefined;
  /** It may have come to rest, or begun again. */
  moved(): void;
  onMoved(then: () => void): () => void;
}

export function createRest(): Rest {
  const listeners = new Set<() => void>();
  return {
    reviews: () => undefined,
    moved() {
      for (const then of [...listeners]) then();
    },
    onMoved(then) {
      listeners.add(then);
      return () => listeners.delete(then);
    },
  };
}

/** What says of itself that it rests. */
interface Resting {
  readonly rest: Pick<Rest, 'reviews' | 'onMoved'>;
}

/** The agents that a session calls, as far as their sessions are at rest. */
export interface CalledAtRest {
  /** Until the returned function is called. */
  add(action: string, session: Resting): () => void;
  has(action: string): boolean;
  /** Whether there may be any. */
  isEmpty(): boolean;
  /** What they wait for. */
  reviews(): readonly Review[];
}

/** `moved` is told when one may have come to rest. */
export function createCalledAtRest(moved: () => void): CalledAtRest {
  const called = new Map<string, Resting>();
  return {
    add(action, session) {
      called.set(action, session);
      const deaf = session.rest.onMoved(moved);
      return () => {
        deaf();
        if (called.get(action) === session) called.delete(action);
      };
    },
    has: (action) => called.get(action)?.rest.reviews() !== undefined,
    isEmpty: () => called.size === 0,
    reviews: () => [...called.values()].flatMap(({ rest }) => rest.reviews() ?? []),
  };
}

/** What the log of a session that is let go of says that it waits for. */
export function waitsFor(state: SessionState, own: readonly Review[]): string {
  const called = openChildren(state);
  return [
    ...(own.length === 0 ? [] : [`review ${own.map(({ review }) => review).join(', ')}`]),
    ...(called.length === 0 ? [] : [`agent ${called.join(', ')}`]),
  ].join('; ');
}

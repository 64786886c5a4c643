import { speakerOf } from '../../log/fold-handoffs.ts';
import type { Review, SessionState } from '../../log/state.ts';
import { openChildren } from './child-id.ts';

/** Where a session says to whoever called it that there is nothing to do in it but wait for people. */
export interface IdleStatus {
  /** The reviews that it waits for, those of what it calls included; undefined where there is something to do. */
  reviews(): readonly Review[] | undefined;
  /** How that is found out: set by the session once it is at work. */
  resting: { waitsNow(): readonly Review[] | undefined } | undefined;
  /** It may have come to rest, or begun again. */
  moved(): void;
  onMoved(then: () => void): () => void;
}

export const createIdleStatus = (): IdleStatus => new SessionRest();

class SessionRest implements IdleStatus {
  resting: IdleStatus['resting'];
  private readonly listeners = new Set<() => void>();

  reviews(): readonly Review[] | undefined {
    return this.resting?.waitsNow();
  }

  moved(): void {
    for (const then of [...this.listeners]) then();
  }

  onMoved(then: () => void): () => void {
    this.listeners.add(then);
    return () => this.listeners.delete(then);
  }
}

/** What says of itself that it rests. */
interface Resting {
  readonly rest: Pick<IdleStatus, 'reviews' | 'onMoved'>;
}

/** The agents that a session calls, as far as their sessions are at rest. */
export interface IdleCallees {
  /** Until the returned function is called. */
  add(action: string, session: Resting): () => void;
  has(action: string): boolean;
  /** Whether there may be any. */
  isEmpty(): boolean;
  /** What they wait for. */
  reviews(): readonly Review[];
  /** The one that has the conversation, if another session than this one has it. */
  speaker(): Resting | undefined;
}

/** Who is told when one may have come to rest. */
interface Above {
  readonly reviews: { moved(): void };
}

export const createIdleCallees = (above: Above): IdleCallees => new CalledAgents(above);

class CalledAgents implements IdleCallees {
  private readonly above: Above;
  private readonly called = new Map<string, Resting>();

  constructor(above: Above) {
    this.above = above;
  }

  add(action: string, session: Resting): () => void {
    this.called.set(action, session);
    const deaf = session.rest.onMoved(() => this.above.reviews.moved());
    return () => {
      deaf();
      if (this.called.get(action) === session) this.called.delete(action);
    };
  }

  has(action: string): boolean {
    return this.called.get(action)?.rest.reviews() !== undefined;
  }

  isEmpty(): boolean {
    return this.called.size === 0;
  }

  reviews(): readonly Review[] {
    return [...this.called.values()].flatMap(({ rest }) => rest.reviews() ?? []);
  }

  speaker(): Resting | undefined {
    for (const [action, session] of this.called) if (speakerOf(action) !== undefined) return session;
    return undefined;
  }
}

/** What the log of a session that is let go of says that it waits for. */
export function waitsFor(state: SessionState, own: readonly Review[]): string {
  const called = openChildren(state);
  return [
    ...(own.length === 0 ? [] : [`review ${own.map(({ review }) => review).join(', ')}`]),
    ...(called.length === 0 ? [] : [`agent ${called.join(', ')}`]),
  ].join('; ');
}

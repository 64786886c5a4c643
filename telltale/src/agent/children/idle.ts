import { withMethods } from '../../lib/with-methods.ts';
import { speakerOf } from '../../log/fold-handoffs.ts';
import type { Review, SessionState } from '../../log/state.ts';
import { openChildren } from './child-id.ts';

/** Where a session says to whoever called it that there is nothing to do in it but wait for people. */
export interface Rest {
  /** The reviews that it waits for, those of what it calls included; undefined where there is something to do. */
  reviews(): readonly Review[] | undefined;
  /** How that is found out: set by the session once it is at work. */
  resting: { waitsNow(): readonly Review[] | undefined } | undefined;
  /** It may have come to rest, or begun again. */
  moved(): void;
  onMoved(then: () => void): () => void;
}

interface OwnRest extends Rest {
  /** Made for the first. */
  listeners: Set<() => void> | undefined;
}

const REST = { reviews, moved, onMoved };

export const createRest = (): Rest =>
  // A copy: docs/decisions/copies.md
  withMethods<OwnRest, keyof typeof REST>(REST, { listeners: undefined, resting: undefined });

function reviews(this: OwnRest): readonly Review[] | undefined {
  return this.resting?.waitsNow();
}

function moved(this: OwnRest): void {
  for (const then of [...(this.listeners ?? [])]) then();
}

function onMoved(this: OwnRest, then: () => void): () => void {
  this.listeners ??= new Set();
  this.listeners.add(then);
  return () => this.listeners?.delete(then);
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
  /** The one that has the conversation, if another session than this one has it. */
  speaker(): Resting | undefined;
}

/** Who is told when one may have come to rest. */
interface Above {
  readonly reviews: { moved(): void };
}

interface OwnCalled extends CalledAtRest {
  readonly above: Above;
  /** Most sessions call no agent: made for the first. */
  called: Map<string, Resting> | undefined;
}

const CALLED = { add, has, isEmpty, reviews: reviewsOfCalled, speaker };

export const createCalledAtRest = (above: Above): CalledAtRest =>
  // A copy: docs/decisions/copies.md
  withMethods<OwnCalled, keyof typeof CALLED>(CALLED, { above, called: undefined });

function add(this: OwnCalled, action: string, session: Resting): () => void {
  this.called ??= new Map();
  const { called, above } = this;
  called.set(action, session);
  const deaf = session.rest.onMoved(() => above.reviews.moved());
  return () => {
    deaf();
    if (called.get(action) === session) called.delete(action);
  };
}

function has(this: OwnCalled, action: string): boolean {
  return this.called?.get(action)?.rest.reviews() !== undefined;
}

function isEmpty(this: OwnCalled): boolean {
  return this.called === undefined || this.called.size === 0;
}

function speaker(this: OwnCalled): Resting | undefined {
  for (const [action, session] of this.called ?? []) if (speakerOf(action) !== undefined) return session;
  return undefined;
}

function reviewsOfCalled(this: OwnCalled): readonly Review[] {
  return [...(this.called?.values() ?? [])].flatMap(({ rest }) => rest.reviews() ?? []);
}

/** What the log of a session that is let go of says that it waits for. */
export function waitsFor(state: SessionState, own: readonly Review[]): string {
  const called = openChildren(state);
  return [
    ...(own.length === 0 ? [] : [`review ${own.map(({ review }) => review).join(', ')}`]),
    ...(called.length === 0 ? [] : [`agent ${called.join(', ')}`]),
  ].join('; ');
}

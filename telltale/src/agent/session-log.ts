import type { RuntimeError } from '../lib/errors.ts';
import type { Cause, EventBody, LiveEvent, ObservedEvent, SessionEvent } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import type { Beside } from '../store/stream-batches.ts';
import type { OpenSpeech } from './speech.ts';

/**
 * The one way in which a session changes: an event is folded at once, written in order behind those before it, and shown
 * to listeners after its commit. Events that are appended in one go are one append of the store: all of them are on the
 * log after a crash, or none. Its methods are called on it: all logs share them.
 */
export interface SessionLog {
  readonly state: SessionState;
  /** Returns the event's place, for what it brings about. Without `cause`, the turn in hand is the cause. */
  append(body: EventBody, cause?: Cause, beside?: Beside): Cause;
  /** What an event without another cause comes from: the turn in hand, or the session's start. */
  here(): Cause;
  /** Calls back once all events up to `seq` are committed, or with the reason why they never will be. */
  committed(seq: number, then: (error?: RuntimeError) => void): void;
  /** Shows what is never written, behind the events appended before it: nobody reads an answer before its question. */
  show(event: LiveEvent): void;
  /** What the turn in hand has said of elements that are open: set by the turn. */
  speaking: { openSpeech(): OpenSpeech | undefined } | undefined;
  /** Tells of it, once all that was said before was shown: in its place among the live events, behind the event `seq`. */
  speech(told: (open: OpenSpeech | undefined, seq: number) => void): void;
  /** Whether anybody would see what is shown. */
  readonly watched: boolean;
  subscribe(listener: (event: ObservedEvent) => void): () => void;
  /**
   * Has what follows from an event be decided as soon as it is folded, in the order of the log: what a reaction appends
   * comes behind, and is reacted to in its turn. A session has as many as it needs, and most have none.
   */
  react(reaction: (event: SessionEvent) => void): void;
  /** Resolves once everything appended so far is committed. */
  flushed(): Promise<void>;
  /** The last event that is committed. */
  committedSeq(): number;
  /** How many turns have ended by then: fewer than have in the state, where that is ahead. */
  committedTurns(): number;
  /** From here on nothing is folded or written: what comes late is dropped. */
  seal(): void;
}

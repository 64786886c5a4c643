import { createLastFront, encodeNext } from '../events/codec.ts';
import type { Cause, EventBody, LiveEvent, ObservedEvent, SessionEvent } from '../events/event.ts';
import { placeEvent } from '../events/place-event.ts';
import { reduce } from '../events/reduce.ts';
import { SNAPSHOT_EVERY, type SnapshotWriter } from '../events/snapshot.ts';
import type { SessionState } from '../events/state.ts';
import type { Clock } from '../kernel/clock.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { StreamWriter } from '../store/store.ts';
import { type Beside, createStreamBatches } from '../store/stream-batches.ts';
import { tellAll } from '../store/tell-all.ts';
import type { OpenSpeech } from './speech.ts';

/**
 * The one way in which a session changes: an event is folded at once, written in order behind those before it, and shown
 * to listeners after its commit. Events that are appended in one go are one append of the store: all of them are on the
 * log after a crash, or none.
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
  speaking: (() => OpenSpeech | undefined) | undefined;
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
  /** From here on nothing is folded or written: what comes late is dropped. */
  seal(): void;
}

export interface SessionLogEdges {
  readonly writer: StreamWriter;
  readonly state: SessionState;
  readonly snapshots: SnapshotWriter;
  readonly clock: Clock;
  /** The stream was lost to another writer, or cannot be written. Called once. */
  readonly onLost: (error: RuntimeError) => void;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** Who watches all that the runtime works on. */
  readonly watchers?: ReadonlySet<(event: SessionEvent) => void> | undefined;
}

/** Live events that wait for a commit; where a store takes longer than that, they are shown at once. */
const MAX_HELD = 4_096;

export function createSessionLog({
  writer,
  state,
  snapshots,
  clock,
  onLost,
  crashPoint,
  watchers,
}: SessionLogEdges): SessionLog {
  const session = writer.stream;
  const listeners = new Set<(event: ObservedEvent) => void>();
  /** Live events, and answers that stand among them, each with the durable one that they came behind. */
  let held: { readonly behind: number; readonly show: LiveEvent | (() => void) }[] = [];
  const front = createLastFront();
  let sealed = false;
  let origin: Cause = { stream: session, seq: 0, depth: 0 };
  let turnOrigin: Cause | undefined;
  const reactions: ((event: SessionEvent) => void)[] = [];
  let unanswered: SessionEvent[] | undefined;

  const answer = (event: SessionEvent) => {
    if (unanswered !== undefined) {
      unanswered.push(event);
      return;
    }
    unanswered = [event];
    try {
      for (let at = 0; at < unanswered.length; at++)
        for (const reaction of reactions) reaction(unanswered[at] as SessionEvent);
    } finally {
      unanswered = undefined;
    }
  };

  const publish = (events: readonly SessionEvent[]) => {
    for (const event of events) {
      crashPoint?.(`committed:${event.type}`);
      tell(event);
      showHeld(event.seq);
    }
  };

  const showHeld = (through: number) => {
    if (held.length === 0) return;
    const due = held;
    let at = 0;
    for (let live = due[at]; live !== undefined && live.behind <= through; live = due[++at]) {
      if (typeof live.show === 'function') live.show();
      else tell(live.show);
    }
    if (at > 0) held = due.slice(at);
  };

  const tell = (event: ObservedEvent) => tellAll(listeners, event);

  const mayShow = () => {
    if (held.length >= MAX_HELD) showHeld(state.seq); // all of them, so that none overtakes another
    return batches.committedSeq() === state.seq;
  };

  const batches = createStreamBatches<SessionEvent>({
    writer,
    seq: state.seq,
    status: () => state.status,
    onAppended() {
      if (snapshots.due() >= SNAPSHOT_EVERY) writer.snapshot(state.seq, snapshots.take(state));
    },
    onCommitted(through, events) {
      if (listeners.size > 0 || crashPoint !== undefined) publish(events);
      if (watchers !== undefined && watchers.size > 0) for (const event of events) tellAll(watchers, event);
      showHeld(through);
    },
    onLost(error) {
      sealed = true;
      onLost(error);
    },
    crashPoint,
  });

  const log: SessionLog & { watched: boolean } = {
    state,
    watched: false,
    append(body, cause, beside) {
      const from = cause ?? turnOrigin ?? origin;
      const starts = body.type === 'turn.started';
      const seq = state.seq + 1;
      const place: Cause = { stream: session, seq, depth: from.depth + 1 };
      if (sealed) return place;
      const turn = starts ? state.turn + 1 : state.turn;
      const event = placeEvent(body, seq, clock.now(), session, turn, from);
      reduce(state, event);
      snapshots.note(event);
      batches.add(event, encodeNext(front, event, body), beside);
      if (body.type === 'session.started' || body.type === 'session.resumed') {
        origin = place;
        turnOrigin = undefined;
      } else if (starts) turnOrigin = place;
      if (reactions.length > 0) answer(event);
      return place;
    },
    here: () => turnOrigin ?? origin,
    committed: batches.committed,
    show(event) {
      if (mayShow()) tell(event);
      else if (held.length === 0) held = [{ behind: state.seq, show: event }];
      else held.push({ behind: state.seq, show: event });
    },
    speaking: undefined,
    speech(told) {
      const open = log.speaking?.();
      const { seq } = state;
      if (mayShow()) told(open, seq);
      else held.push({ behind: seq, show: () => told(open, seq) });
    },
    subscribe(listener) {
      listeners.add(listener);
      log.watched = true;
      return () => {
        listeners.delete(listener);
        log.watched = listeners.size > 0;
      };
    },
    react(reaction) {
      reactions.push(reaction);
    },
    flushed: () =>
      new Promise((resolve, reject) =>
        batches.committed(state.seq, (error) => (error === undefined ? resolve() : reject(error))),
      ),
    committedSeq: batches.committedSeq,
    seal() {
      sealed = true;
    },
  };
  return log;
}

import type { Clock } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import { tellAll, tellOne } from '../lib/errors.ts';
import { added, NONE, without } from '../lib/grow.ts';
import { withMethods } from '../lib/with-methods.ts';
import { encodeNext, type LastFront } from '../log/codec.ts';
import type { Cause, EventBody, LiveEvent, ObservedEvent, SessionEvent } from '../log/event.ts';
import { nextTurn } from '../log/fold-turns.ts';
import { placeEvent } from '../log/line-json.ts';
import { reduce } from '../log/reduce.ts';
import { SNAPSHOT_EVERY, SNAPSHOT_SOON, type SnapshotWriter } from '../log/snapshot.ts';
import type { SessionState } from '../log/state.ts';
import type { StreamWriter } from '../store/store.ts';
import {
  addToBatch,
  type BatchCalls,
  type Beside,
  committedThrough,
  type StreamBatches,
  whenCommitted,
} from '../store/stream-batches.ts';
import type { WhenMade } from './begin-stream.ts';
import type { SessionLog } from './session-log.ts';
import type { OpenSpeech } from './speech.ts';
import type { Stop } from './stop.ts';

/** Live events that wait for a commit; where a store takes longer than that, they are shown at once. */
const MAX_HELD = 4_096;

/** What of a log is about those who look on. */
export interface ShownLog extends Pick<SessionLog, 'state' | 'speaking'> {
  watched: boolean;
  readonly lastCommitted: number;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** In the order in which they came, no two the same. Most logs have one: a Set for it would be 140 bytes more. */
  listeners: readonly SessionLogListener[];
  /** Live events, and answers that stand among them, each with the durable one that they came behind. */
  held: readonly { readonly behind: number; readonly show: LiveEvent | (() => void) }[];
}

type SessionLogListener = (event: ObservedEvent) => void;

/** Methods of a log. */
function show(this: ShownLog, event: LiveEvent): void {
  if (mayShow(this)) tell(this, event);
  else this.held = added(this.held, { behind: this.state.seq, show: event });
}

function speech(this: ShownLog, told: (open: OpenSpeech | undefined, seq: number) => void): void {
  const open = this.speaking?.openSpeech();
  const { seq } = this.state;
  if (mayShow(this)) told(open, seq);
  else this.held = added(this.held, { behind: seq, show: () => told(open, seq) });
}

function subscribe(this: ShownLog, listener: SessionLogListener): () => void {
  let listens = true;
  // One that comes twice is told twice, and each time leaves on its own.
  const own: SessionLogListener = this.listeners.includes(listener) ? (event) => listener(event) : listener;
  this.listeners = added(this.listeners, own);
  this.watched = true;
  return () => {
    if (!listens) return;
    listens = false;
    this.listeners = without(this.listeners, own);
    this.watched = this.listeners.length > 0;
  };
}

/** Durable ones, behind their commit, and the live ones that waited for them. */
function publish(log: ShownLog, events: readonly SessionEvent[]): void {
  for (const event of events) {
    log.crashPoint?.(`committed:${event.type}`);
    tell(log, event);
    if (log.held.length > 0) showHeld(log, event.seq);
  }
}

function showHeld(log: ShownLog, through: number): void {
  if (log.held.length === 0) return;
  let at = 0;
  // Whoever is told may show more meanwhile: that comes behind.
  for (let live = log.held[at]; live !== undefined && live.behind <= through; live = log.held[++at]) {
    if (typeof live.show === 'function') live.show();
    else tell(log, live.show);
  }
  if (at > 0) log.held = at === log.held.length ? NONE : log.held.slice(at);
}

function tell(log: ShownLog, event: ObservedEvent): void {
  const { listeners } = log;
  const { length } = listeners;
  // One that has left meanwhile is not told any more, and one that has come is told of what is next.
  for (let at = 0; at < length; at++) {
    const listener = listeners[at] as SessionLogListener;
    if (log.listeners === listeners || log.listeners.includes(listener)) tellOne(listener, event);
  }
}

function mayShow(log: ShownLog): boolean {
  if (log.held.length >= MAX_HELD) showHeld(log, log.state.seq); // all of them, so that none overtakes another
  return log.lastCommitted === log.state.seq;
}

export interface SessionLogDeps {
  readonly writer: StreamWriter;
  readonly state: SessionState;
  readonly snapshots: SnapshotWriter;
  readonly clock: Clock;
  /** Shared by all logs of a runtime. */
  readonly front: LastFront;
  /** The status that the store has of it; unknown if absent. */
  readonly writtenStatus?: string | undefined;
  /** Told once where the stream was lost to another writer, or cannot be written. */
  readonly stop: Pick<Stop, 'now'>;
  /** Of a stream that is being made: one that is refused stops nothing. */
  readonly whenMade?: WhenMade | undefined;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** Who watches all that the runtime works on. */
  readonly watchers?: ReadonlySet<(event: SessionEvent) => void> | undefined;
}

/**
 * A record, and functions that all logs share: with a closure for each of them a session had 2 KB more. It is its own
 * batches.
 */
interface OwnLog extends SessionLog, StreamBatches<OwnLog, SessionEvent> {
  watched: boolean;
  readonly snapshots: SnapshotWriter;
  readonly clock: Clock;
  stop: SessionLogDeps['stop'];
  readonly watchers: SessionLogDeps['watchers'];
  readonly front: LastFront;
  listeners: ShownLog['listeners'];
  held: ShownLog['held'];
  sealed: boolean;
  origin: Cause;
  turnOrigin: Cause | undefined;
  reactions: readonly ((event: SessionEvent) => void)[];
  unanswered: SessionEvent[] | undefined;
  turnsCommitted: number;
}

const METHODS = {
  append,
  here,
  committed,
  show,
  speech,
  subscribe,
  react,
  flushed,
  committedSeq,
  committedTurns,
  seal,
};

export function createSessionLog(deps: SessionLogDeps): SessionLog {
  const { writer, state, snapshots, clock, writtenStatus, stop, crashPoint, watchers, front } = deps;
  const log = withMethods<{ -readonly [Field in keyof OwnLog]: OwnLog[Field] }, keyof typeof METHODS>(
    METHODS,
    {
      // A copy: docs/decisions/copies.md
      state,
      writer,
      snapshots,
      clock,
      stop,
      crashPoint,
      watchers,
      watched: false,
      speaking: undefined,
      listeners: NONE,
      held: NONE,
      sealed: false,
      origin: { stream: writer.stream, seq: 0, depth: 0 },
      turnOrigin: undefined,
      reactions: NONE,
      unanswered: undefined,
      turnsCommitted: state.totals.turns,
      front,
      owner: undefined as never, // itself, below
      calls: CALLS,
      waiters: NONE,
      batch: undefined,
      lost: undefined,
      addedSeq: state.seq,
      lastCommitted: state.seq,
      writtenStatus: writtenStatus ?? '',
      writtenDue: undefined,
    },
  );
  const { whenMade } = deps;
  if (whenMade !== undefined) {
    log.stop = { now: (reason) => whenMade(() => stop.now(reason)) };
    // Once it is made, nothing of its making is held on to.
    whenMade(() => {
      log.stop = stop;
    });
  }
  log.owner = log;
  return log;
}

function append(this: OwnLog, body: EventBody, cause?: Cause, beside?: Beside): Cause {
  const { state, writer } = this;
  const { type } = body;
  const from = cause ?? this.turnOrigin ?? this.origin;
  const starts = type === 'turn.started';
  const seq = state.seq + 1;
  const session = writer.stream;
  const place: Cause = { stream: session, seq, depth: from.depth + 1 };
  if (this.sealed) return place;
  const turn = starts ? nextTurn(state) : state.turn;
  const at = this.clock.now();
  const event = placeEvent(body, seq, at, session, turn, from);
  reduce(state, event);
  this.snapshots.note(body);
  addToBatch(this, event, seq, encodeNext(this.front, body, seq, at, session, turn, from), beside);
  if (type === 'session.started' || type === 'session.resumed') {
    this.origin = place;
    this.turnOrigin = undefined;
  } else if (starts) this.turnOrigin = place;
  if (this.reactions.length > 0) answer(this, event);
  return place;
}

function answer(log: OwnLog, event: SessionEvent): void {
  if (log.unanswered !== undefined) {
    log.unanswered.push(event);
    return;
  }
  const unanswered = [event];
  log.unanswered = unanswered;
  try {
    for (let at = 0; at < unanswered.length; at++)
      for (const reaction of log.reactions) reaction(unanswered[at] as SessionEvent);
  } finally {
    log.unanswered = undefined;
  }
}

function here(this: OwnLog): Cause {
  return this.turnOrigin ?? this.origin;
}

function committed(this: OwnLog, seq: number, then: (error?: RuntimeError) => void): void {
  whenCommitted(this, seq, then);
}

function committedSeq(this: OwnLog): number {
  return this.lastCommitted;
}

function committedTurns(this: OwnLog): number {
  return this.turnsCommitted;
}

function flushed(this: OwnLog): Promise<void> {
  return committedThrough(this, this.state.seq);
}

function react(this: OwnLog, reaction: (event: SessionEvent) => void): void {
  this.reactions = added(this.reactions, reaction);
}

function seal(this: OwnLog): void {
  this.sealed = true;
}

const CALLS: BatchCalls<OwnLog, SessionEvent> = {
  status: ({ state }) => state.status,
  onAppended({ state, snapshots, writer }, events) {
    const due = snapshots.due();
    if (due < SNAPSHOT_SOON) return;
    // Half a millisecond for which no action should have to wait: best when the model has just been asked.
    if (due >= SNAPSHOT_EVERY || events.at(-1)?.type === 'turn.started')
      writer.snapshot(state.seq, snapshots.take(state));
  },
  onCommitted(log, through, events) {
    const { watchers, crashPoint, watched } = log;
    for (const { type } of events) if (type === 'turn.completed') log.turnsCommitted++;
    if (watched || crashPoint !== undefined) publish(log, events);
    if (watchers !== undefined && watchers.size > 0) for (const event of events) tellAll(watchers, event);
    showHeld(log, through);
  },
  onLost(log, error) {
    log.sealed = true;
    log.stop.now({ kind: 'lost', error });
  },
};

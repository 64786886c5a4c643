import type { Clock } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import { tellAll, tellOne } from '../lib/errors.ts';
import { encodeNext, type LastFront, placeEvent } from '../log/codec.ts';
import type { Cause, EventBody, LiveEvent, ObservedEvent, SessionEvent } from '../log/event.ts';
import { nextTurn } from '../log/fold-turns.ts';
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

type SessionLogListener = (event: ObservedEvent) => void;

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

export const createSessionLog = (deps: SessionLogDeps): SessionLog => new WrittenSessionLog(deps);

/** It is its own batches. */
class WrittenSessionLog implements SessionLog, StreamBatches<WrittenSessionLog, SessionEvent> {
  private static readonly CALLS: BatchCalls<WrittenSessionLog, SessionEvent> = {
    status: ({ state }) => state.status,
    onAppended: (log, events) => log.onAppended(events),
    onCommitted: (log, through, events) => log.onCommitted(through, events),
    onLost: (log, error) => log.onLost(error),
  };

  readonly state: SessionState;
  readonly writer: StreamWriter;
  readonly crashPoint: SessionLogDeps['crashPoint'];
  watched = false;
  speaking: SessionLog['speaking'];
  readonly owner: WrittenSessionLog = this;
  readonly calls = WrittenSessionLog.CALLS;
  waiters: StreamBatches<WrittenSessionLog, SessionEvent>['waiters'] = [];
  batch: StreamBatches<WrittenSessionLog, SessionEvent>['batch'];
  lost: RuntimeError | undefined;
  addedSeq: number;
  lastCommitted: number;
  writtenStatus: string;
  writtenDue: number | undefined;
  private readonly snapshots: SnapshotWriter;
  private readonly clock: Clock;
  private readonly front: LastFront;
  private readonly watchers: SessionLogDeps['watchers'];
  private stop: SessionLogDeps['stop'];
  /** In the order in which they came, no two the same. A change makes a new list: who is being told has the old one. */
  private listeners: readonly SessionLogListener[] = [];
  /** Live events, and answers that stand among them, each with the durable one that they came behind. */
  private held: { readonly behind: number; readonly show: LiveEvent | (() => void) }[] = [];
  private sealed = false;
  private origin: Cause;
  private turnOrigin: Cause | undefined;
  /** A change makes a new list: a reaction that is added while an event is answered begins with the next one. */
  private reactions: readonly ((event: SessionEvent) => void)[] = [];
  private unanswered: SessionEvent[] | undefined;
  private turnsCommitted: number;

  constructor({
    writer,
    state,
    snapshots,
    clock,
    front,
    writtenStatus = '',
    stop,
    whenMade,
    crashPoint,
    watchers,
  }: SessionLogDeps) {
    this.state = state;
    this.writer = writer;
    this.snapshots = snapshots;
    this.clock = clock;
    this.front = front;
    this.crashPoint = crashPoint;
    this.watchers = watchers;
    this.origin = { stream: writer.stream, seq: 0, depth: 0 };
    this.turnsCommitted = state.totals.turns;
    this.addedSeq = state.seq;
    this.lastCommitted = state.seq;
    this.writtenStatus = writtenStatus;
    this.stop = stop;
    if (whenMade !== undefined) {
      this.stop = { now: (reason) => whenMade(() => stop.now(reason)) };
      // Once it is made, nothing of its making is held on to.
      whenMade(() => {
        this.stop = stop;
      });
    }
  }

  append(body: EventBody, cause?: Cause, beside?: Beside): Cause {
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
    if (this.reactions.length > 0) this.answer(event);
    return place;
  }

  private answer(event: SessionEvent): void {
    if (this.unanswered !== undefined) {
      this.unanswered.push(event);
      return;
    }
    const unanswered = [event];
    this.unanswered = unanswered;
    try {
      for (let at = 0; at < unanswered.length; at++)
        for (const reaction of this.reactions) reaction(unanswered[at] as SessionEvent);
    } finally {
      this.unanswered = undefined;
    }
  }

  here(): Cause {
    return this.turnOrigin ?? this.origin;
  }

  committed(seq: number, then: (error?: RuntimeError) => void): void {
    whenCommitted(this, seq, then);
  }

  committedSeq(): number {
    return this.lastCommitted;
  }

  committedTurns(): number {
    return this.turnsCommitted;
  }

  flushed(): Promise<void> {
    return committedThrough(this, this.state.seq);
  }

  react(reaction: (event: SessionEvent) => void): void {
    this.reactions = [...this.reactions, reaction];
  }

  seal(): void {
    this.sealed = true;
  }

  show(event: LiveEvent): void {
    if (this.mayShow()) this.tell(event);
    else this.held.push({ behind: this.state.seq, show: event });
  }

  speech(told: (open: OpenSpeech | undefined, seq: number) => void): void {
    const open = this.speaking?.openSpeech();
    const { seq } = this.state;
    if (this.mayShow()) told(open, seq);
    else this.held.push({ behind: seq, show: () => told(open, seq) });
  }

  subscribe(listener: SessionLogListener): () => void {
    let listens = true;
    // One that comes twice is told twice, and each time leaves on its own.
    const own: SessionLogListener = this.listeners.includes(listener) ? (event) => listener(event) : listener;
    this.listeners = [...this.listeners, own];
    this.watched = true;
    return () => {
      if (!listens) return;
      listens = false;
      this.listeners = this.listeners.filter((each) => each !== own);
      this.watched = this.listeners.length > 0;
    };
  }

  /** Durable ones, behind their commit, and the live ones that waited for them. */
  private publish(events: readonly SessionEvent[]): void {
    for (const event of events) {
      this.crashPoint?.(`committed:${event.type}`);
      this.tell(event);
      if (this.held.length > 0) this.showHeld(event.seq);
    }
  }

  private showHeld(through: number): void {
    if (this.held.length === 0) return;
    let at = 0;
    // Whoever is told may show more meanwhile: that comes behind.
    for (let live = this.held[at]; live !== undefined && live.behind <= through; live = this.held[++at]) {
      if (typeof live.show === 'function') live.show();
      else this.tell(live.show);
    }
    if (at > 0) this.held = this.held.slice(at);
  }

  private tell(event: ObservedEvent): void {
    const { listeners } = this;
    // One that has left meanwhile is not told any more, and one that has come is told of what is next.
    for (const listener of listeners)
      if (this.listeners === listeners || this.listeners.includes(listener)) tellOne(listener, event);
  }

  private mayShow(): boolean {
    if (this.held.length >= MAX_HELD) this.showHeld(this.state.seq); // all of them, so that none overtakes another
    return this.lastCommitted === this.state.seq;
  }

  private onAppended(events: readonly SessionEvent[]): void {
    const due = this.snapshots.due();
    if (due < SNAPSHOT_SOON) return;
    const { state } = this;
    // Half a millisecond for which no action should have to wait: best when the model has just been asked.
    if (due >= SNAPSHOT_EVERY || events.at(-1)?.type === 'turn.started')
      this.writer.snapshot(state.seq, this.snapshots.take(state));
  }

  private onCommitted(through: number, events: readonly SessionEvent[]): void {
    const { watchers, crashPoint, watched } = this;
    for (const { type } of events) if (type === 'turn.completed') this.turnsCommitted++;
    if (watched || crashPoint !== undefined) this.publish(events);
    if (watchers !== undefined && watchers.size > 0) for (const event of events) tellAll(watchers, event);
    this.showHeld(through);
  }

  private onLost(error: RuntimeError): void {
    this.sealed = true;
    this.stop.now({ kind: 'lost', error });
  }
}

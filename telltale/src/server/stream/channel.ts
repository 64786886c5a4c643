import { decodeLine } from '../../agent/log/read-log.ts';
import type { OpenSpeech } from '../../agent/speech.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Turnstile } from '../../lib/semaphore.ts';
import type { LiveEvent, ObservedEvent, SessionEvent } from '../../log/event.ts';
import { createLineJson } from '../../log/line-json.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import {
  type Broadcast,
  createBroadcast,
  END,
  eventFrame,
  type Follower,
  noticeFrame,
  snapshotFrame,
} from './broadcast.ts';
import { logTooShort, nothingToFollow } from './stream-errors.ts';
import type { Pulse, StreamLimits } from './stream-source.ts';
import { createLogPages, createStreamSource, type ReadPage, type StreamRuntime } from './stream-source.ts';

export interface ChannelDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly pulse: Pulse;
  readonly turnstile: Turnstile;
  readonly onError: (thrown: unknown) => void;
}

export interface ChannelStreamRef {
  readonly kind: 'session' | 'run';
  readonly stream: string;
}

/** One stream that has followers. */
export interface Channel {
  /** A client reads events up to `head` from the log itself. Later events are sent to all followers. */
  readonly place: Readonly<ChannelPlace>;
  /** Resolves once the position is known. Rejects if there is no such stream. */
  readonly opened: Promise<void>;
  pages(): ReadPage;
  frameOf(seq: number, line: string): string;
  /**
   * Adds a client that has everything up to `head`, or ends it if the stream is over. False if the client is behind.
   */
  join(follower: Follower): boolean;
  leave(follower: Follower): void;
  /** Receives an event of the stream that was committed in this process. */
  told(event: SessionEvent | RunEvent): void;
  close(): void;
}

export function createChannel(deps: ChannelDeps, { kind, stream }: ChannelStreamRef): Channel {
  const { runtime, clock, limits, pulse, turnstile, onError } = deps;
  const { store } = runtime;
  const place: ChannelPlace = { kind, stream, head: 0, known: 0, isOver: false, isReading: true };
  const json = createLineJson(kind, stream);
  const frameOf = (seq: number, line: string) => eventFrame(seq, json(line));
  const pages = () => createLogPages(store, stream, limits, turnstile);
  const broadcast = createBroadcast(stream, pulse, limits.maxClientBytes);
  /** Whether there were deltas that nobody was sent. */
  let missedLive = false;

  const endAll = (last: string) => {
    broadcast.flush();
    for (const follower of broadcast.followers()) {
      broadcast.remove(follower);
      follower.connection.end(last);
    }
  };

  const hear = (event: LiveEvent) => {
    if (place.isReading) missedLive = true;
    else if (broadcast.size > 0) broadcast.pushLive(event);
  };

  const take = (event: SessionEvent | RunEvent) => {
    const { seq } = event;
    if (seq <= place.known) return;
    place.known = seq;
    // It arrived while the log is being read, or after events that were not announced.
    if (place.isReading || seq !== place.head + 1) return catchUp.moved();
    place.head = seq;
    place.isOver = isOverAfter(kind, event.type, place.isOver);
    if (broadcast.size === 0) return;
    broadcast.push(eventFrame(seq, JSON.stringify(event)), seq);
    if (place.isOver) endAll(END);
  };

  const told = (event: ObservedEvent) => {
    switch (event.type) {
      case 'response.delta':
      case 'thought.delta':
      case 'action.progress':
        return hear(event);
      default:
        return take(event);
    }
  };

  const showOpen = (open: OpenSpeech | undefined, show: (frame: string) => void) => {
    if (place.isReading) missedLive = true;
    else if (open !== undefined) show(snapshotFrame(stream, open));
  };
  /** Open elements are sent in order with the deltas: earlier deltas are part of them, later ones are not. */
  const showSpeech = (show: (frame: string) => void) => source.speech((open) => showOpen(open, show));
  const toAll = (frame: string) => {
    if (broadcast.size > 0) broadcast.push(frame, undefined);
  };

  const catchUp = createCatchUp(place, {
    store,
    page: pages(),
    broadcast,
    frameOf,
    onFailure(thrown) {
      onError(thrown);
      endAll(noticeFrame({ kind: 'failed', reason: 'The log could not be read.' }));
    },
    onDone() {
      if (place.isOver) return endAll(END);
      if (!missedLive) return;
      missedLive = false;
      showSpeech(toAll);
    },
  });

  const source = createStreamSource({
    runtime,
    clock,
    kind,
    stream,
    pages,
    told,
    moved: catchUp.moved,
    spoken: (open) => showOpen(open, toAll),
  });

  const open = async () => {
    const info = await catchUp.begin();
    if ((info === undefined || info.kind !== kind) && !source.isHere())
      throw nothingToFollow(kind, stream, store.location);
  };

  return {
    place,
    opened: open(),
    pages,
    frameOf,
    join(follower) {
      if (follower.position !== place.head) return false;
      if (place.isOver) {
        follower.connection.end(END);
        return true;
      }
      broadcast.add(follower);
      if (follower.live)
        showSpeech((frame) => {
          broadcast.flush();
          if (follower.connection.isOpen) follower.connection.send(frame);
        });
      return true;
    },
    leave: broadcast.remove,
    told(event) {
      source.look();
      take(event);
    },
    close() {
      catchUp.close();
      source.close();
    },
  };
}

/** The position of a channel. */
export interface ChannelPlace {
  readonly kind: 'session' | 'run';
  readonly stream: string;
  /** The last event that followers were sent. */
  head: number;
  /** The last event known to be on the log. */
  known: number;
  /** Whether nothing comes after `head`. */
  isOver: boolean;
  /** Whether the log is being read. Events announced meanwhile are found there. */
  isReading: boolean;
}

export interface CatchUpDeps {
  readonly store: Store;
  readonly page: ReadPage;
  readonly broadcast: Broadcast;
  readonly frameOf: (seq: number, line: string) => string;
  /** Called if the log could not be read. */
  readonly onFailure: (thrown: unknown) => void;
  /** Called when everything on the log was sent. */
  readonly onDone: () => void;
}

/** Brings a channel to the end of its log: events that were not announced are read from there, once and in order. */
export interface CatchUp {
  /** Called once, before there are followers. */
  begin(): Promise<StreamInfo | undefined>;
  /** Called when the log may have new events. */
  moved(): void;
  close(): void;
}

function createCatchUp(place: ChannelPlace, deps: CatchUpDeps): CatchUp {
  const { store, page, broadcast, frameOf, onFailure, onDone } = deps;
  const { kind, stream } = place;
  let mayHaveMoved = false;
  let isClosed = false;

  /** Without followers, only the end of the log matters. A client that joined meanwhile did so at the old head. */
  const look = async () => {
    const least = place.known;
    const info = await store.info(stream);
    if (info === undefined || broadcast.size > 0) return info;
    if (info.head < least) throw logTooShort(stream, least, info.head);
    place.head = info.head;
    place.isOver = isOverWith(info.status);
    place.known = Math.max(place.known, info.head);
    return info;
  };

  const take = (line: string) => {
    place.head++;
    if (mayEnd(kind, line)) place.isOver = isOverAfter(kind, decodeLine(line, place).type, place.isOver);
    broadcast.push(frameOf(place.head, line), place.head);
  };

  const readOn = async () => {
    for (;;) {
      const least = place.known;
      const lines = await page(place.head + 1);
      if (isClosed) return;
      for (const line of lines) take(line);
      broadcast.flush();
      place.known = Math.max(place.known, place.head);
      if (lines.length > 0) continue;
      if (least > place.head) throw logTooShort(stream, least, place.head);
      return;
    }
  };

  const run = async () => {
    place.isReading = true;
    try {
      do {
        mayHaveMoved = false;
        if (broadcast.size === 0) await look();
        if (broadcast.size > 0) await readOn();
      } while (!isClosed && mayHaveMoved);
    } catch (thrown) {
      if (!isClosed) onFailure(thrown);
    }
    place.isReading = false;
    if (!isClosed) onDone();
  };

  const moved = () => {
    mayHaveMoved = true;
    if (!place.isReading && !isClosed) void run(); // reports its own failures
  };

  return {
    async begin() {
      const info = await look();
      place.isReading = false;
      if (mayHaveMoved) moved();
      return info;
    },
    moved,
    close() {
      isClosed = true;
    },
  };
}

type ChannelKind = 'session' | 'run';

const ENDS: Readonly<Record<ChannelKind, ReadonlySet<string>>> = {
  session: new Set(['session.completed', 'session.failed', 'session.stalled', 'session.cancelled']),
  run: new Set(['workflow.completed', 'workflow.failed', 'workflow.cancelled']),
};
const RESUMES: Readonly<Record<ChannelKind, string>> = {
  session: 'session.resumed',
  run: 'workflow.resumed',
};
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'stalled', 'cancelled']);

/** Whether a stream is over after an event of this type. A waiting stream is not. */
const isOverAfter = (kind: ChannelKind, type: string, wasOver: boolean): boolean =>
  ENDS[kind].has(type) || (wasOver && type !== RESUMES[kind]);

/** Whether a stream with this status is over. */
const isOverWith = (status: string): boolean => ENDED.has(status);

/** Whether a line of the log may be such an event. Other lines need not be parsed. */
const mayEnd = (kind: ChannelKind, line: string): boolean =>
  line.includes(kind === 'session' ? '"type":"session.' : '"type":"workflow.');

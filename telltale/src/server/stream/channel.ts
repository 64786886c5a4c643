import type { LiveEvent, ObservedEvent, SessionEvent } from '../../events/event.ts';
import { createLineJson } from '../../events/line-json.ts';
import type { RunEvent } from '../../events/run-event.ts';
import { decodeLine } from '../../session/log/stream-event.ts';
import { type Broadcast, createBroadcast, type Follower } from './broadcast.ts';
import { END, eventFrame, noticeFrame, snapshotFrame } from './frames.ts';
import { createLogPages, type ReadPage } from './log-pages.ts';
import type { Pulse } from './pulse.ts';
import { isOverAfter, isOverWith, mayEnd } from './stream-end.ts';
import { logTooShort, nothingToFollow } from './stream-errors.ts';
import type { StreamLimits } from './stream-limits.ts';
import { createStreamSource, type StreamRuntime, type StreamSource } from './stream-source.ts';
import type { Turnstile } from './turnstile.ts';

export interface ChannelEdges {
  readonly runtime: StreamRuntime;
  readonly limits: StreamLimits;
  readonly pulse: Pulse;
  readonly turnstile: Turnstile;
  readonly onError: (thrown: unknown) => void;
}

export interface StreamRef {
  readonly kind: 'session' | 'run';
  readonly stream: string;
}

/** One stream that somebody follows. */
export interface Channel extends StreamRef {
  /** Resolves once `head` is known; rejects where there is no such stream. */
  readonly opened: Promise<void>;
  /** The last event that followers have been told of: what is up to it is read from the log. */
  readonly head: number;
  /** Whether nothing comes behind `head`. */
  readonly isOver: boolean;
  /** For a client that reads for itself what is before `head`. */
  pages(): ReadPage;
  frameOf(seq: number, line: string): string;
  /** A client that has everything up to `head` follows from here on, or hears that it is over. False if it has not. */
  join(follower: Follower): boolean;
  leave(follower: Follower): void;
  /** An event of it that was committed in this process. */
  told(event: SessionEvent | RunEvent): void;
  close(): void;
}

export function createChannel(edges: ChannelEdges, { kind, stream }: StreamRef): Channel {
  const { runtime, limits, pulse, turnstile, onError } = edges;
  const { store } = runtime;
  const json = createLineJson(kind, stream);
  const broadcast: Broadcast = createBroadcast(stream, pulse, limits.maxClientBytes);
  const pages = () => createLogPages(store, stream, limits, turnstile);
  const ownPages = pages();
  let head = 0;
  /** The last event that is known to be on the log. */
  let known = 0;
  let isOver = false;
  /** While the log is read, what is told meanwhile is found there. */
  let isReading = true;
  let mayHaveMoved = false;
  /** Whether deltas came that nobody was sent. */
  let missedLive = false;
  let isClosed = false;

  const endAll = (last: string) => {
    broadcast.flush();
    for (const follower of broadcast.followers()) {
      broadcast.remove(follower);
      follower.connection.end(last);
    }
  };

  const hear = (event: LiveEvent) => {
    if (isReading) missedLive = true;
    else if (broadcast.size > 0) broadcast.pushLive(event);
  };

  const take = (event: SessionEvent | RunEvent) => {
    if (event.seq <= known) return;
    known = event.seq;
    if (isReading) return;
    if (event.seq !== head + 1) {
      moved();
      return;
    }
    head = event.seq;
    isOver = isOverAfter(kind, event.type, isOver);
    if (broadcast.size === 0) return;
    broadcast.push(eventFrame(head, JSON.stringify(event)), head);
    if (isOver) endAll(END);
  };

  const told = (event: ObservedEvent) => {
    switch (event.type) {
      case 'response.delta':
      case 'thought.delta':
      case 'action.progress':
        hear(event);
        return;
      default:
        take(event);
    }
  };

  const takeLine = (line: string) => {
    head++;
    if (mayEnd(kind, line)) isOver = isOverAfter(kind, decodeLine(line, { kind, stream }).type, isOver);
    broadcast.push(eventFrame(head, json(line)), head);
  };

  /** Where nobody follows, how far the log goes is all that is asked; whoever joined meanwhile did so at the head before. */
  const look = async () => {
    const info = await store.info(stream);
    if (info === undefined || broadcast.size > 0) return info;
    if (info.head < known) throw logTooShort(stream, known, info.head);
    head = Math.max(head, info.head);
    known = Math.max(known, head);
    if (head === info.head) isOver = isOverWith(info.status);
    return info;
  };

  const readOn = async () => {
    for (;;) {
      const lines = await ownPages(head + 1);
      if (isClosed) return;
      for (const line of lines) takeLine(line);
      broadcast.flush();
      if (lines.length > 0) continue;
      if (known > head) throw logTooShort(stream, known, head);
      return;
    }
  };

  const catchUp = async () => {
    isReading = true;
    try {
      do {
        mayHaveMoved = false;
        if (broadcast.size === 0 && (await look()) === undefined) throw logTooShort(stream, known, 0);
        if (broadcast.size > 0) await readOn();
      } while (!isClosed && (mayHaveMoved || known > head));
      known = Math.max(known, head);
    } catch (thrown) {
      fail(thrown);
    } finally {
      isReading = false;
    }
    if (isOver) endAll(END);
    else if (missedLive) {
      missedLive = false;
      showSpeech(showAll);
    }
  };

  /** What is open comes in its place among the deltas: those before it are in it, those behind it are not. */
  const showSpeech = (show: (frame: string) => void) =>
    source.speech((open) => {
      if (isReading) missedLive = true;
      else if (open !== undefined) show(snapshotFrame(stream, open));
    });
  const showAll = (frame: string) => {
    if (broadcast.size > 0) broadcast.push(frame, undefined);
  };

  const moved = () => {
    mayHaveMoved = true;
    if (!isReading) void catchUp(); // tells its own failures
  };

  /** Clients may come back: what they have is not lost. */
  const fail = (thrown: unknown) => {
    if (isClosed) return;
    onError(thrown);
    endAll(noticeFrame({ kind: 'dropped', reason: 'The log could not be read.' }));
    known = head;
  };

  const source: StreamSource = createStreamSource({ runtime, kind, stream, told, moved });

  const open = async () => {
    const info = await look();
    if ((info === undefined || info.kind !== kind) && !source.isHere)
      throw nothingToFollow(kind, stream, store.location);
    isReading = false;
    if (mayHaveMoved || known > head) void catchUp(); // tells its own failures
  };

  return {
    kind,
    stream,
    opened: open(),
    get head() {
      return head;
    },
    get isOver() {
      return isOver;
    },
    pages,
    frameOf: (seq, line) => eventFrame(seq, json(line)),
    join(follower) {
      if (follower.position !== head) return false;
      if (isOver) {
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
      isClosed = true;
      source.close();
    },
  };
}

import type { ObservedEvent, SessionEvent } from '../../events/event.ts';
import { createLineJson } from '../../events/line-json.ts';
import type { LiveEvent } from '../../events/live-event.ts';
import type { RunEvent } from '../../events/run-event.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Turnstile } from '../../kernel/turnstile.ts';
import type { OpenSpeech } from '../../session/speech.ts';
import { createBroadcast, type Follower } from './broadcast.ts';
import { createCatchUp, type Place } from './catch-up.ts';
import { END, eventFrame, noticeFrame, snapshotFrame } from './frames.ts';
import { createLogPages, type ReadPage } from './log-pages.ts';
import type { Pulse } from './pulse.ts';
import { isOverAfter } from './stream-end.ts';
import { nothingToFollow } from './stream-errors.ts';
import type { StreamLimits } from './stream-limits.ts';
import { createStreamSource, type StreamRuntime } from './stream-source.ts';

export interface ChannelDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
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
export interface Channel {
  /** `head`: what is up to it, a client reads from the log for itself; what is behind it, all are told. */
  readonly place: Readonly<Place>;
  /** Resolves once the place is known; rejects where there is no such stream. */
  readonly opened: Promise<void>;
  pages(): ReadPage;
  frameOf(seq: number, line: string): string;
  /** A client that has everything up to `head` follows from here on, or hears that it is over. False if it has not. */
  join(follower: Follower): boolean;
  leave(follower: Follower): void;
  /** An event of it that was committed in this process. */
  told(event: SessionEvent | RunEvent): void;
  close(): void;
}

export function createChannel(deps: ChannelDeps, { kind, stream }: StreamRef): Channel {
  const { runtime, clock, limits, pulse, turnstile, onError } = deps;
  const { store } = runtime;
  const place: Place = { kind, stream, head: 0, known: 0, isOver: false, isReading: true };
  const json = createLineJson(kind, stream);
  const frameOf = (seq: number, line: string) => eventFrame(seq, json(line));
  const pages = () => createLogPages(store, stream, limits, turnstile);
  const broadcast = createBroadcast(stream, pulse, limits.maxClientBytes);
  /** Whether deltas came that nobody was sent. */
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
    // Told while the log is read, or behind others that nobody told of.
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
  /** What is open comes in its place among the deltas: those before it are in it, those behind it are not. */
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

import type { Clock } from '../../lib/clock.ts';
import { createIdSource } from '../../lib/ids.ts';
import type { LiveEvent, ObservedEvent } from '../../log/event.ts';
import { type LiveWire, MAX_LIVE_BYTES } from '../../store/shared-store.ts';
import type { Runtime, Session } from '../runtime-types.ts';
import { MAX_SHOWN, type OpenSpeech, speakerIn } from '../speech.ts';
import {
  ASKS,
  channelOf,
  encodeItem,
  HEADLINES,
  type LiveItem,
  publishUpdates,
  readAsk,
} from './live-channel.ts';

export interface PublishLiveDeps {
  readonly runtime: Pick<Runtime, 'session' | 'watch'>;
  readonly live: LiveWire;
  readonly clock: Clock;
}

/**
 * Sends live events of this process to others on request: deltas of sessions, and streams with updates for
 * lists. Sessions that nobody requested cost nothing, and a requested one is published as long as somebody
 * listens. Followers repeat their requests, so a lost one does no harm.
 */
export function publishLive({ runtime, live, clock }: PublishLiveDeps): { close(): void } {
  const ids = createIdSource({ clock });
  const sessions = new Map<string, SessionPublication>();
  const headlines = publishUpdates({ runtime, live, clock });

  const publicationOf = (id: string): SessionPublication | undefined => {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const session = runtime.session(id);
    if (session === undefined) return undefined;
    const onOver = () => sessions.delete(id);
    const made = publishSession(session, { live, clock, by: ids.next(), onOver });
    sessions.set(id, made);
    return made;
  };

  const unlisten = live.listen(ASKS, {
    heard(text) {
      const ask = readAsk(text);
      if (ask?.kind === 'session') publicationOf(ask.session)?.ask();
      else if (ask?.kind === 'headlines') headlines.ask();
    },
    gap() {
      if (live.isHeard(HEADLINES)) headlines.ask();
    },
  });
  if (live.isHeard(HEADLINES)) headlines.ask();

  return {
    close() {
      unlisten();
      headlines.close();
      for (const publication of [...sessions.values()]) publication.close();
    },
  };
}

/** Publishes the live events of one session of this process. */
export interface SessionPublication {
  /** A follower requests the open speech. */
  ask(): void;
  close(): void;
}

export interface PublicationDeps {
  readonly live: LiveWire;
  readonly clock: Clock;
  /** The unique id of the publication. */
  readonly by: string;
  /** Nobody listens any more, or the session was released. */
  readonly onOver: () => void;
}

/** How long events are collected after a message. */
const WINDOW_MS = 50;
/** The maximum number of characters that are collected before a message is sent at once. */
const MAX_GATHERED = 262_144;

function publishSession(
  session: Session<unknown>,
  { live, clock, by, onOver }: PublicationDeps,
): SessionPublication {
  const channel = channelOf(session.id);
  /** Undefined until the first open speech is sent, which includes everything before it. */
  let packer: LivePacker | undefined;
  let sentAt = Number.NEGATIVE_INFINITY;
  let isDue = false;
  let disarm: (() => void) | undefined;
  let isAsked = false;
  let answeredAt = Number.NEGATIVE_INFINITY;
  let stopAnswer: (() => void) | undefined;
  let isOver = false;

  const over = () => {
    isOver = true;
    disarm?.();
    stopAnswer?.();
    unsubscribe();
    onOver();
  };
  const flush = () => {
    disarm?.();
    isDue = false;
    if (isOver || packer === undefined) return;
    if (!live.isHeard(channel)) return over();
    sentAt = clock.monotonic();
    for (const text of packer.take()) live.send(channel, text);
  };
  const soon = () => {
    if (packer !== undefined && packer.length > MAX_GATHERED) return flush();
    if (isDue) return;
    isDue = true;
    const left = sentAt + WINDOW_MS - clock.monotonic();
    if (left > 0) disarm = clock.after(left, flush);
    else queueMicrotask(flush); // events of one tick are one message
  };
  const take = (event: ObservedEvent) => {
    if (packer === undefined || isOver) return;
    packer.add('seq' in event ? { kind: 'durable', seq: event.seq } : { kind: 'live', event });
    soon();
  };
  const answer = (open: OpenSpeech | undefined, seq: number) => {
    isAsked = false;
    if (isOver) return;
    answeredAt = clock.monotonic();
    packer ??= createLivePacker(by, seq, MAX_LIVE_BYTES);
    addSpeech(packer, session.id, open);
    flush(); // an answer is useless once later durable events are on the log
  };
  const unsubscribe = session.subscribe(take);
  const leave = () => {
    if (isOver) return;
    packer?.add({ kind: 'left' });
    flush();
    if (!isOver) over();
  };
  session.result.then(leave, leave);

  return {
    ask() {
      // Concurrent requests get the same answer.
      if (isAsked || isOver) return;
      isAsked = true;
      const left = answeredAt + WINDOW_MS - clock.monotonic();
      if (left > 0) stopAnswer = clock.after(left, () => session.speech(answer));
      else session.speech(answer);
    },
    close: leave,
  };
}

function addSpeech(packer: LivePacker, session: string, open: OpenSpeech | undefined): void {
  packer.add({ kind: 'open', turn: open?.turn });
  if (open !== undefined) {
    const place = { session, turn: open.turn, ...speakerIn(open) };
    for (const { depth, text } of open.thoughts)
      packer.add({
        kind: 'live',
        event: { type: 'thought.delta', ...place, depth, text: text.slice(-MAX_SHOWN) },
      });
    if (open.response !== '')
      packer.add({
        kind: 'live',
        event: { type: 'response.delta', ...place, text: open.response.slice(-MAX_SHOWN) },
      });
  }
  packer.add({ kind: 'opened' });
}

/** Collects items about a session and packs them into messages. It only keeps state and does no I/O. */
export interface LivePacker {
  /** The approximate number of collected characters. */
  readonly length: number;
  /** Adds an item. Consecutive pieces of one element and consecutive durable events are merged. */
  add(item: LiveItem): void;
  /** Returns the collected items as messages below the size limit, in order. */
  take(): readonly string[];
}

/** Characters per piece. Escaped, each takes at most six bytes, so a piece fits into a message. */
const PIECE = 1_000;
/** The size of a message without its items: the publication's id, two numbers and brackets. */
const FRAME_BYTES = 100;

/**
 * `behind`: the durable event before the first item. `maxBytes`: the maximum size of a message. `by` has at
 * most 40 characters.
 */
export function createLivePacker(by: string, behind: number, maxBytes: number): LivePacker {
  let items: LiveItem[] = [];
  let n = 0;
  let place = behind;

  const packer: LivePacker & { length: number } = {
    length: 0,
    add(item) {
      const joined = joinedWith(items.at(-1), item);
      if (joined === undefined) items.push(item);
      else items[items.length - 1] = joined;
      packer.length += lengthOf(item);
    },
    take() {
      const texts: string[] = [];
      let body = '';
      let bytes = FRAME_BYTES;
      let from = place;
      const close = () => {
        if (body !== '') texts.push(`[${JSON.stringify(by)},${++n},${from},[${body}]]`);
        body = '';
        bytes = FRAME_BYTES;
        from = place;
      };
      for (const item of items.flatMap(inPieces)) {
        const text = encodeItem(item);
        const size = Buffer.byteLength(text) + 1;
        // Progress of an action may have any size. Dropping it does no harm.
        if (size + FRAME_BYTES > maxBytes) continue;
        if (bytes + size > maxBytes) close();
        body += body === '' ? text : `,${text}`;
        bytes += size;
        if (item.kind === 'durable') place = item.seq;
      }
      close();
      items = [];
      packer.length = 0;
      return texts;
    },
  };
  return packer;
}

const lengthOf = (item: LiveItem): number =>
  item.kind === 'live' && item.event.type !== 'action.progress' ? item.event.text.length : 1;

function joinedWith(last: LiveItem | undefined, item: LiveItem): LiveItem | undefined {
  if (last?.kind === 'durable' && item.kind === 'durable') return item;
  if (last?.kind !== 'live' || item.kind !== 'live') return undefined;
  const event = joinedDelta(last.event, item.event);
  return event === undefined ? undefined : { kind: 'live', event };
}

/** Merges two pieces of one element. */
function joinedDelta(last: LiveEvent, event: LiveEvent): LiveEvent | undefined {
  if (last.type === 'action.progress' || event.type === 'action.progress') return undefined;
  if (last.type !== event.type || last.turn !== event.turn || last.speaker !== event.speaker)
    return undefined;
  const isOne =
    event.type === 'response.delta'
      ? event.final === (last as typeof event).final
      : event.depth === (last as typeof event).depth;
  return isOne ? { ...event, text: last.text + event.text } : undefined;
}

function inPieces(item: LiveItem): readonly LiveItem[] {
  if (item.kind !== 'live' || item.event.type === 'action.progress') return [item];
  const { event } = item;
  if (event.text.length <= PIECE) return [item];
  const pieces: LiveItem[] = [];
  for (let at = 0; at < event.text.length; ) {
    const end = at + PIECE - (isSurrogate(event.text.charCodeAt(at + PIECE - 1)) ? 1 : 0);
    pieces.push({ kind: 'live', event: { ...event, text: event.text.slice(at, end) } });
    at = end;
  }
  return pieces;
}

/** Whether it is the first half of a surrogate pair. */
const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

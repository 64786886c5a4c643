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
 * Tells other processes what is live in this one, as far as they ask: the deltas of sessions, and which streams have news
 * for lists. Sessions that nobody asks for pay nothing, and those that were asked for pay as long as somebody listens.
 * Whoever follows asks anew where no answer comes and where a session goes on: an ask that is lost is no harm.
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

/** The live events of one session that is worked on here, told to followers in other processes. */
export interface SessionPublication {
  /** Somebody wants to know what is open of its speech. */
  ask(): void;
  close(): void;
}

export interface PublicationDeps {
  readonly live: LiveWire;
  readonly clock: Clock;
  /** What it calls itself: like no other, of whichever process. */
  readonly by: string;
  /** Nobody listens any more, or the session is let go of. */
  readonly onOver: () => void;
}

/** What comes within it after a message goes with the next. */
const WINDOW_MS = 50;
/** Characters that wait for the window's end; with more it is over. */
const MAX_GATHERED = 262_144;

function publishSession(
  session: Session<unknown>,
  { live, clock, by, onOver }: PublicationDeps,
): SessionPublication {
  const channel = channelOf(session.id);
  /** Undefined until the place of the first answer is known: what comes before is in it. */
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
    else queueMicrotask(flush); // what is told in one go is one message
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
    flush(); // an answer that durable events overtake on the log is of no use
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
      // Those who ask in the meantime read the same answer.
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

/** Gathers what is told of a session, and packs it into messages that cross. Pure but for its own memory. */
export interface LivePacker {
  /** What has been gathered, in characters, about. */
  readonly length: number;
  /** Joins it to what stands last where both are one: pieces of one element, durable events in a row. */
  add(item: LiveItem): void;
  /** The messages of what was gathered, each below the limit, in order. */
  take(): readonly string[];
}

/** Characters of a piece: six bytes each at the most, escaped, which is below the limit of a message. */
const PIECE = 1_000;
/** Beside the items: the telling's name, two numbers, brackets. */
const FRAME_BYTES = 100;

/** `behind`: the durable event that what comes stands behind. `maxBytes`: of a message; `by` is at most 40 characters. */
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
        // What an action tells of itself may be of any size, and is nothing that anybody builds on.
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

/** Two pieces of one element as one. */
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

/** The first half of a character of two. */
const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { LiveEvent } from '../../log/event.ts';
import { RUN_SUMMARY_TYPES } from '../../log/run-summary.ts';
import { SUMMARY_TYPES } from '../../log/session-summary.ts';
import { type LiveWire, MAX_LIVE_BYTES } from '../../store/shared-store.ts';
import { isRunEvent, type StreamEvent, streamOf } from '../log/read-log.ts';
import type { Runtime } from '../runtime-types.ts';

/** Events of a stream, some of which lists are made of. */
export interface StreamUpdate {
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly from: number;
  readonly to: number;
}

/** Tells other processes which streams that are worked on here have news for lists, while one of them listens. */
export interface UpdatePublisher {
  ask(): void;
  close(): void;
}

/** For lists that is soon enough. */
const WINDOW_MS = 100;
/** Streams of one window; those beyond are found by the look that followers take now and then. */
const MAX_STREAMS = 5_000;
/** Brackets of the list. */
const FRAME_BYTES = 2;

export function publishUpdates({
  runtime,
  live,
  clock,
}: {
  readonly runtime: Pick<Runtime, 'watch'>;
  readonly live: LiveWire;
  readonly clock: Clock;
}): UpdatePublisher {
  let news = new Map<string, { -readonly [Key in keyof StreamUpdate]: StreamUpdate[Key] }>();
  let unwatch: (() => void) | undefined;
  let disarm: (() => void) | undefined;

  const close = () => {
    unwatch?.();
    unwatch = undefined;
    disarm?.();
    disarm = undefined;
    news.clear();
  };
  const flush = () => {
    disarm = undefined;
    if (!live.isHeard(HEADLINES)) return close();
    const onEvent = news;
    news = new Map();
    for (const text of updateTexts(onEvent.values())) live.send(HEADLINES, text);
  };
  const note = (event: StreamEvent) => {
    const types: ReadonlySet<string> = isRunEvent(event) ? RUN_SUMMARY_TYPES : SUMMARY_TYPES;
    if (!types.has(event.type)) return;
    const stream = streamOf(event);
    const known = news.get(stream);
    if (known !== undefined) known.to = event.seq;
    else if (news.size < MAX_STREAMS)
      news.set(stream, {
        kind: isRunEvent(event) ? 'run' : 'session',
        stream,
        from: event.seq,
        to: event.seq,
      });
    disarm ??= clock.after(WINDOW_MS, flush);
  };
  return {
    ask() {
      unwatch ??= runtime.watch(note);
    },
    close,
  };
}

/** As many messages as it takes. */
function updateTexts(headlines: Iterable<StreamUpdate>): readonly string[] {
  const texts: string[] = [];
  let body = '';
  let bytes = FRAME_BYTES;
  for (const { kind, stream, from, to } of headlines) {
    const text = JSON.stringify([kind, stream, from, to]);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > MAX_LIVE_BYTES) {
      texts.push(`[${body}]`);
      body = '';
      bytes = FRAME_BYTES;
    }
    body += body === '' ? text : `,${text}`;
    bytes += size;
  }
  if (body !== '') texts.push(`[${body}]`);
  return texts;
}

/** What another process told; nothing of what cannot be read. */
export function readUpdates(text: string): readonly StreamUpdate[] {
  let parsed: Json;
  try {
    parsed = JSON.parse(text) as Json;
  } catch {
    return []; // not ours: what others send on a channel is data
  }
  if (!Array.isArray(parsed)) return [];
  return parsed.flatMap((each): readonly StreamUpdate[] => {
    if (!Array.isArray(each)) return [];
    const [kind, stream, from, to] = each;
    if ((kind !== 'session' && kind !== 'run') || typeof stream !== 'string') return [];
    return typeof from === 'number' && typeof to === 'number' ? [{ kind, stream, from, to }] : [];
  });
}

/** What a process tells of a session that it works on, in the order in which it came about. */
export type LiveItem =
  | { readonly kind: 'live'; readonly event: LiveEvent }
  /** Everything live that stands before this durable event has been told, and the event is on the log. */
  | { readonly kind: 'durable'; readonly seq: number }
  /** What is open of the turn's speech follows, as deltas from its beginning on, up to `opened`. No turn: nothing is open. */
  | { readonly kind: 'open'; readonly turn: number | undefined }
  | { readonly kind: 'opened' }
  /** The session is not worked on here any more. */
  | { readonly kind: 'left' };

export interface LiveMessage {
  /** Which telling it belongs to: no two are called the same, of whichever process. */
  readonly by: string;
  /** Counts the messages of one telling, from 1 on. */
  readonly n: number;
  /** The durable event that its first item stands behind. */
  readonly behind: number;
  readonly items: readonly LiveItem[];
}

/** One item as it crosses. */
export function encodeItem(item: LiveItem): string {
  switch (item.kind) {
    case 'durable':
      return `["d",${item.seq}]`;
    case 'open':
      return item.turn === undefined ? '["s"]' : `["s",${item.turn}]`;
    case 'opened':
      return '["e"]';
    case 'left':
      return '["x"]';
    case 'live':
      return encodeLive(item.event);
  }
}

function encodeLive(event: LiveEvent): string {
  switch (event.type) {
    case 'response.delta':
      return `["r",${event.turn},${JSON.stringify(event.text)},${event.final ?? null}${speakerItem(event)}]`;
    case 'thought.delta':
      return `["t",${event.turn},${JSON.stringify(event.text)},${event.depth}${speakerItem(event)}]`;
    case 'action.progress':
      return `["p",${event.turn},${JSON.stringify(event.id)},${JSON.stringify(event.data)}]`;
  }
}

const speakerItem = ({ speaker }: { readonly speaker?: string }): string =>
  speaker === undefined ? '' : `,${JSON.stringify(speaker)}`;

/** Undefined for what is no such message. Items that only another version knows are left out. */
export function decodeMessage(text: string, session: string): LiveMessage | undefined {
  const parsed = parsedJson(text);
  if (!Array.isArray(parsed)) return undefined;
  const [by, n, behind, items] = parsed;
  if (typeof by !== 'string' || !isCount(n) || !isCount(behind) || !Array.isArray(items)) return undefined;
  return { by, n, behind, items: items.flatMap((item) => decodeItem(item, session)) };
}

function decodeItem(item: Json, session: string): readonly LiveItem[] {
  if (!Array.isArray(item)) return [];
  const [kind, first, second, third, fourth] = item;
  if (kind === 'e') return [{ kind: 'opened' }];
  if (kind === 'x') return [{ kind: 'left' }];
  if (kind === 's') return [{ kind: 'open', turn: isCount(first) ? first : undefined }];
  if (!isCount(first)) return [];
  if (kind === 'd') return [{ kind: 'durable', seq: first }];
  if (typeof second !== 'string') return [];
  const place = { session, turn: first };
  const said = typeof fourth === 'string' ? { text: second, speaker: fourth } : { text: second };
  if (kind === 'r') {
    const final = typeof third === 'boolean' ? { final: third } : {};
    return [{ kind: 'live', event: { type: 'response.delta', ...place, ...said, ...final } }];
  }
  if (kind === 't' && isCount(third))
    return [{ kind: 'live', event: { type: 'thought.delta', ...place, depth: third, ...said } }];
  if (kind === 'p')
    return [{ kind: 'live', event: { type: 'action.progress', ...place, id: second, data: third ?? null } }];
  return [];
}

const isCount = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined; // not ours: what others send on a channel is data
  }
}

/** Where followers ask for what is live. Every process that works on sessions listens to it. */
export const ASKS = 'asks';

/** Where processes tell which streams have news for lists. */
export const HEADLINES = 'headlines';

/** Longer names of sessions go by their hash: that of a channel travels with every message. */
const MAX_NAME = 100;

/** Where the live events of a session are told. */
export const channelOf = (session: string): string =>
  session.length <= MAX_NAME
    ? `live ${session}`
    : `long ${createHash('sha256').update(session).digest('base64url')}`;

/** What is asked for: a session's live events, beginning with what is open of its speech, or headlines. */
export type LiveRequest =
  | { readonly kind: 'session'; readonly session: string }
  | { readonly kind: 'headlines' };

const ASKS_HEADLINES = 'headlines';
const ASKS_SESSION = 'session ';

export const askText = (ask: LiveRequest): string =>
  ask.kind === 'headlines' ? ASKS_HEADLINES : ASKS_SESSION + ask.session;

/** Undefined for what another version may ask. */
export function readAsk(text: string): LiveRequest | undefined {
  if (text === ASKS_HEADLINES) return { kind: 'headlines' };
  return text.startsWith(ASKS_SESSION)
    ? { kind: 'session', session: text.slice(ASKS_SESSION.length) }
    : undefined;
}

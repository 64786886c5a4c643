import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { LiveEvent } from '../../log/event.ts';
import { RUN_SUMMARY_TYPES } from '../../log/run-summary.ts';
import { SUMMARY_TYPES } from '../../log/session-summary.ts';
import { type LiveWire, MAX_LIVE_BYTES } from '../../store/shared-store.ts';
import { isRunEvent, type StreamEvent, streamOf } from '../log/read-log.ts';
import type { Runtime } from '../runtime-types.ts';

/** A range of new events of a stream that lists are interested in. */
export interface StreamUpdate {
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly from: number;
  readonly to: number;
}

/** Tells other processes which streams of this process have updates for lists, while one of them listens. */
export interface UpdatePublisher {
  ask(): void;
  close(): void;
}

/** How long updates for lists are collected. */
const WINDOW_MS = 100;
/** Streams per window. Followers find further ones by their periodic check. */
const MAX_STREAMS = 5_000;
/** The brackets of the list. */
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

/** Splits updates into messages of limited size. */
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

/** Parses updates of another process. Malformed ones are left out. */
export function readUpdates(text: string): readonly StreamUpdate[] {
  let parsed: Json;
  try {
    parsed = JSON.parse(text) as Json;
  } catch {
    return []; // not our format
  }
  if (!Array.isArray(parsed)) return [];
  return parsed.flatMap((each): readonly StreamUpdate[] => {
    if (!Array.isArray(each)) return [];
    const [kind, stream, from, to] = each;
    if ((kind !== 'session' && kind !== 'run') || typeof stream !== 'string') return [];
    return typeof from === 'number' && typeof to === 'number' ? [{ kind, stream, from, to }] : [];
  });
}

/** An item that a worker sends about a session, in order. */
export type LiveItem =
  | { readonly kind: 'live'; readonly event: LiveEvent }
  /** All live events before this durable event were sent, and the event is on the log. */
  | { readonly kind: 'durable'; readonly seq: number }
  /** The open speech of the turn follows as deltas, up to `opened`. Without a turn nothing is open. */
  | { readonly kind: 'open'; readonly turn: number | undefined }
  | { readonly kind: 'opened' }
  /** The worker has stopped working on the session. */
  | { readonly kind: 'left' };

export interface LiveMessage {
  /** A unique id of the publication. */
  readonly by: string;
  /** The number of the message within the publication, from 1. */
  readonly n: number;
  /** The durable event before its first item. */
  readonly behind: number;
  readonly items: readonly LiveItem[];
}

/** An item as text. */
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

/** Undefined if the text is not a message. Unknown items of other versions are left out. */
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
    return undefined; // not our format
  }
}

/** The channel for requests of followers. Every process that works on sessions listens to it. */
export const ASKS = 'asks';

/** The channel for updates for lists. */
export const HEADLINES = 'headlines';

/** Longer names of sessions are replaced by their hash, because every message carries the channel's name. */
const MAX_NAME = 100;

/** The channel for the live events of a session. */
export const channelOf = (session: string): string =>
  session.length <= MAX_NAME
    ? `live ${session}`
    : `long ${createHash('sha256').update(session).digest('base64url')}`;

/** A request for a session's live events, starting with the open speech, or for updates for lists. */
export type LiveRequest =
  | { readonly kind: 'session'; readonly session: string }
  | { readonly kind: 'headlines' };

const ASKS_HEADLINES = 'headlines';
const ASKS_SESSION = 'session ';

export const askText = (ask: LiveRequest): string =>
  ask.kind === 'headlines' ? ASKS_HEADLINES : ASKS_SESSION + ask.session;

/** Undefined for unknown requests of other versions. */
export function readAsk(text: string): LiveRequest | undefined {
  if (text === ASKS_HEADLINES) return { kind: 'headlines' };
  return text.startsWith(ASKS_SESSION)
    ? { kind: 'session', session: text.slice(ASKS_SESSION.length) }
    : undefined;
}

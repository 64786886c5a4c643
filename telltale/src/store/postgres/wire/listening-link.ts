import type { Client, QueryConfig, QueryResult } from 'pg';
import { type PostgresClients, setHeld } from '../postgres-clients.ts';

/** The connection that listens. It comes again by itself, for as long as the store is open. */
export interface ListeningLink {
  /** Connects, if it has not yet been asked to. */
  start(): void;
  readonly isUp: boolean;
  /** From now on, and on every connection to come. Resolves at once where there is none. */
  listen(channel: string): Promise<void>;
  unlisten(channel: string): Promise<void>;
  /** Over this connection; undefined where there is none. For what must not wait behind others' requests. */
  query(config: QueryConfig): Promise<QueryResult | undefined>;
  /** Sends in order, in one transaction. Rejects where it cannot be: then all of it may be lost. */
  notify(messages: readonly (readonly [channel: string, payload: string])[]): Promise<void>;
  /** The connection does not answer: another one is made. */
  drop(): void;
  close(): Promise<void>;
}

export interface ListeningDeps {
  readonly clients: PostgresClients;
  readonly heard: (channel: string, payload: string) => void;
  /** It listens; `again`: not for the first time, so some may have been missed. */
  readonly up: (again: boolean) => void;
  readonly down: () => void;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** A connection of which nothing is heard for so long is asked for a word, and has as long to give it. */
const PING_MS = 10_000;
/** Nobody waits for the commit of a notice, and one that is lost with the server is of no use after it. */
const SETTINGS = 'SET synchronous_commit = off';

export function createListeningLink({ clients, heard, up, down }: ListeningDeps): ListeningLink {
  const channels = new Set<string>();
  let client: Client | undefined;
  let isStarted = false;
  let isClosed = false;
  let hasBeenUp = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** One after the other: `pg` does not like to be asked while it is answering. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (over: Client, config: QueryConfig): Promise<QueryResult> => {
    const mine = last.then(() => over.query(config));
    last = mine.catch(() => undefined); // whoever asked is told
    return mine;
  };
  const query = async (config: QueryConfig): Promise<QueryResult | undefined> =>
    client === undefined ? undefined : inTurn(client, config);

  const connect = async (): Promise<void> => {
    const made = await clients.connect(SETTINGS);
    setHeld(made, false);
    made.on('notification', ({ channel, payload = '' }) => heard(channel, payload));
    const lost = new Promise<void>((resolve) => made.once('end', () => resolve()));
    try {
      for (const channel of channels) await inTurn(made, { text: `LISTEN ${quoted(channel)}` });
    } catch (error) {
      made.end().catch(() => undefined); // it is broken
      throw error;
    }
    if (isClosed) return made.end();
    client = made;
    const pinging = setInterval(() => {
      inTurn(made, { text: 'SELECT 1', query_timeout: PING_MS } as QueryConfig).catch(() => made.end());
    }, PING_MS).unref();
    const again = hasBeenUp;
    hasBeenUp = true;
    up(again);
    await lost;
    clearInterval(pinging);
    client = undefined;
    if (!isClosed) down();
  };

  /** A connection that lived is tried again soon, one that could not be made later and later. */
  const keep = async (): Promise<void> => {
    for (let pause = FIRST_PAUSE_MS; !isClosed; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        await connect();
        pause = FIRST_PAUSE_MS;
      } catch {
        // Whoever needs the database hears of the trouble from his own request.
      }
      if (isClosed) return;
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, pause * (0.5 + Math.random() / 2)).unref();
      });
    }
  };

  return {
    start() {
      if (isStarted || isClosed) return;
      isStarted = true;
      void keep();
    },
    get isUp() {
      return client !== undefined;
    },
    query,
    async listen(channel) {
      channels.add(channel);
      await query({ text: `LISTEN ${quoted(channel)}` });
    },
    async unlisten(channel) {
      channels.delete(channel);
      await query({ text: `UNLISTEN ${quoted(channel)}` });
    },
    async notify(messages) {
      await query({
        name: 'telltale_notify',
        text: 'SELECT pg_notify(t.c, t.p) FROM unnest($1::text[], $2::text[]) AS t(c, p)',
        values: [messages.map(([channel]) => channel), messages.map(([, payload]) => payload)],
      });
    },
    drop() {
      client?.end().catch(() => undefined); // it is as good as gone
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await client?.end();
    },
  };
}

const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`;

/** What processes say to each other through NOTIFY. A payload is below the 8,000 bytes that PostgreSQL takes. */
export type WireMessage =
  /** Somebody is new, or (`again`) was cut off: what he sent or was sent meanwhile may be lost. */
  | { readonly kind: 'hello'; readonly peer: string; readonly again: boolean }
  | { readonly kind: 'bye'; readonly peer: string }
  /** A sign of life, with how many topics he listens to. */
  | { readonly kind: 'keep'; readonly peer: string; readonly topics: number }
  /** He would like to know all topics. */
  | { readonly kind: 'ask'; readonly peer: string }
  | {
      readonly kind: 'topics';
      readonly peer: string;
      readonly add: readonly string[];
      readonly remove: readonly string[];
    }
  /** Streams that have moved, with their last event and message, 0 where that is not news. */
  | { readonly kind: 'pokes'; readonly pokes: readonly Poke[] }
  | { readonly kind: 'ring'; readonly peer: string; readonly topic: string }
  /** Something that was sent was left out. */
  | { readonly kind: 'gap' }
  | { readonly kind: 'live'; readonly peer: string; readonly topic: string; readonly text: string };

export type Poke = readonly [stream: string, head: number, message: number];

/** Of UTF-8, for a payload; the limit is at 7,999. */
const MAX_PAYLOAD_BYTES = 7_900;
const LIVE = /^L(\d+) (\w+)\.\d+ /;

export const encodeMessage = (message: Exclude<WireMessage, { readonly kind: 'live' }>): string =>
  JSON.stringify(message);

/** `n` makes it another than the one before: PostgreSQL sends what is alike in one transaction once. */
export const encodeLive = (peer: string, topic: string, text: string, n: number): string =>
  `L${topic.length} ${peer}.${n} ${topic}${text}`;

/** Undefined for what cannot be read: another version may say more. */
export function decodeMessage(payload: string): WireMessage | undefined {
  const live = LIVE.exec(payload);
  if (live !== null) {
    const rest = payload.slice(live[0].length);
    const chars = Number(live[1]);
    return { kind: 'live', peer: live[2] ?? '', topic: rest.slice(0, chars), text: rest.slice(chars) };
  }
  try {
    return JSON.parse(payload) as WireMessage;
  } catch {
    return undefined;
  }
}

/**
 * Cuts a list so that each piece, as JSON, has room in a payload beside `envelope` bytes. An item that has none at all is
 * left out: a name of a thousand letters, each of which is six bytes as JSON. It is found by looking.
 */
export function inPayloads<T>(items: readonly T[], envelope = 200): readonly (readonly T[])[] {
  const pieces: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (size > MAX_PAYLOAD_BYTES - envelope) continue;
    if (bytes + size > MAX_PAYLOAD_BYTES - envelope) {
      pieces.push([]);
      bytes = 0;
    }
    bytes += size;
    pieces.at(-1)?.push(item);
  }
  return pieces;
}

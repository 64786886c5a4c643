import type { Context } from 'hono';
import type { Clock } from '../../lib/clock.ts';
import type { ObservedEvent } from '../../log/event.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import type { Exchange, ExchangeEnd } from './exchange/exchange.ts';

/** How a protocol tells an exchange. */
export interface ExchangeFolder {
  begin(): readonly object[];
  take(event: ObservedEvent): readonly object[];
  end(end: ExchangeEnd): readonly object[];
}

export interface ServeExchangeServeOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent behind the last event, as it is. */
  readonly last?: string;
  /** The client went away before the end. */
  readonly onGone: () => void;
}

/** Answers with an exchange as server-sent events. Undefined where its beginning is not kept any more. */
export function serveExchange(
  c: Context<AppEnv>,
  { clock }: Pick<ServerDeps, 'clock'>,
  exchange: Exchange,
  fold: ExchangeFolder,
  { headers = {}, last, onGone }: ServeExchangeServeOptions,
): Response | undefined {
  let leave: (() => void) | undefined;
  const body = createSseBody({
    clock,
    signal: c.req.raw.signal,
    cut: () => void c.env.outgoing.destroy(),
    onGone() {
      leave?.();
      onGone();
    },
  });
  const send = (events: readonly object[]) => {
    for (const event of events) body.send(JSON.stringify(event));
  };
  send(fold.begin());
  leave = exchange.follow({
    event: (event) => send(fold.take(event)),
    end(end) {
      send(fold.end(end));
      if (last !== undefined) body.send(last);
      body.end();
    },
  });
  if (leave === undefined) {
    body.end();
    return undefined;
  }
  c.set('about', exchange.session.id);
  return c.body(body.stream, 200, { ...SSE_HEADERS, ...headers, [SESSION_HEADER]: exchange.session.id });
}

/** Which session an answer comes from. */
export const SESSION_HEADER = 'x-telltale-session';

/** The body of an answer that is a stream of server-sent events. */
export interface SseBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** One event: what `data:` holds, in one line. */
  send(data: string): void;
  end(): void;
}

/** What waits for a client that does not read, at the most: then it is cut off. */
const MAX_BEHIND_BYTES = 4_194_304;
/** What is handed to the connection ahead of its asking. */
const AHEAD_BYTES = 65_536;
/** Proxies cut connections on which nothing comes. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': keep-alive\n\n';

export interface SseOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Aborted when the client goes away; a connection that is gone before the first byte cancels no stream. */
  readonly signal: AbortSignal;
  /** Ends the connection of a client that does not read: it would not hear of the stream's end. */
  readonly cut: () => void;
  /** The client went away, or was cut off, before the end. Called once. */
  readonly onGone: () => void;
}

/** Sends at once while the client reads; what it does not read waits as one piece, and within a limit. */
export function createSseBody({ clock, signal, cut, onGone }: SseOptions): SseBody {
  const encoder = new TextEncoder();
  let behind: Uint8Array[] = [];
  let bytesBehind = 0;
  let ended = false;
  let closed = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let disarm: () => void = () => undefined;

  const close = () => {
    closed = true;
    disarm();
    signal.removeEventListener('abort', gone);
    behind = [];
  };
  const gone = () => {
    if (closed) return;
    close();
    onGone();
  };
  const flush = () => {
    if (closed || controller === undefined) return;
    if (behind.length > 0 && (controller.desiredSize ?? 0) > 0) {
      const bytes = behind.length === 1 ? behind[0] : Buffer.concat(behind);
      behind = [];
      bytesBehind = 0;
      if (bytes !== undefined) controller.enqueue(bytes);
    }
    if (ended && behind.length === 0) {
      close();
      controller.close();
    }
  };
  const put = (text: string) => {
    if (closed || ended) return;
    const bytes = encoder.encode(text);
    behind.push(bytes);
    bytesBehind += bytes.length;
    flush();
    if (bytesBehind <= MAX_BEHIND_BYTES) return;
    gone();
    cut();
  };
  const keepAlive = () => {
    disarm();
    disarm = clock.after(KEEP_ALIVE_MS, () => {
      if (bytesBehind === 0) put(KEEP_ALIVE);
      if (!closed) keepAlive();
    });
  };

  const stream = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
        keepAlive();
      },
      pull: flush,
      cancel: gone,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
  );
  signal.addEventListener('abort', gone, { once: true });
  if (signal.aborted) gone();
  return {
    stream,
    send: (data) => put(`data: ${data}\n\n`),
    end() {
      if (closed || ended) return;
      ended = true;
      flush();
    },
  };
}

const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../lib/clock.ts';
import type { McpServerMcpServer } from './create-mcp-server.ts';
import { INVALID_REQUEST, type MessageRefusal, readMessage, refusal } from './serve-http.ts';

export interface StdioDeps {
  readonly input: AsyncIterable<Uint8Array>;
  /** Receives messages and nothing else. Writes are dropped once its reader has closed it. */
  readonly output: { write(text: string): Promise<void>; readonly closed: boolean };
  readonly clock: Clock;
  /** Stops serving. */
  readonly signal: AbortSignal;
  /** Who started the server, and so owns its client. */
  readonly identity?: string;
  readonly onError: (error: unknown) => void;
}

/** The largest message. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/** The most unread answers of a client. Above that, no more of its requests are read. */
const MAX_UNREAD_CHARS = 16 * 1024 * 1024;
/** Requests made before the input ended are still answered, up to this time. */
const LAST_ANSWERS_MS = 5_000;

/** Serves one client over a pair of pipes, until the client closes its side or the signal is aborted. */
export async function serveStdio(server: McpServerMcpServer, deps: StdioDeps): Promise<void> {
  const { input, output, clock, signal, identity, onError } = deps;
  const types = await import('@modelcontextprotocol/sdk/types.js');
  /** Ids of requests without an answer. */
  const asked = new Set<string | number>();
  let answered: () => void = () => undefined;
  let unread = 0;
  let wasRead: () => void = () => undefined;
  const write = async (message: JSONRPCMessage | MessageRefusal) => {
    const line = `${JSON.stringify(message)}\n`;
    unread += line.length;
    try {
      await output.write(line);
    } finally {
      unread -= line.length;
      if (unread <= MAX_UNREAD_CHARS) wasRead();
    }
  };
  const untilRead = () =>
    new Promise<void>((resolve) => {
      const goOn = () => {
        signal.removeEventListener('abort', goOn);
        resolve();
      };
      wasRead = goOn;
      signal.addEventListener('abort', goOn, { once: true });
    });
  const settle = (id: string | number) => {
    asked.delete(id);
    if (asked.size === 0) answered();
  };
  const transport: Transport = {
    start: async () => undefined,
    async send(message) {
      await write(message);
      if ('id' in message && !('method' in message)) settle(message.id as string | number);
    },
    async close() {
      transport.onclose?.();
    },
  };
  const refuse = (refused: MessageRefusal) => void write(refused).catch(onError);
  const lines = createRequestLines(
    MAX_MESSAGE_BYTES,
    (line) => {
      const read = readMessage(line, types);
      if ('refused' in read) return refuse(read.refused);
      const { message } = read;
      if ('method' in message && 'id' in message) asked.add(message.id);
      // A cancelled request gets no answer.
      if ('method' in message && message.method === 'notifications/cancelled')
        settle((message.params as { readonly requestId?: string | number } | undefined)?.requestId ?? '');
      transport.onmessage?.(message);
    },
    () => refuse(refusal(INVALID_REQUEST, `A message has more than ${MAX_MESSAGE_BYTES} bytes.`)),
  );
  const connected = await server.connect(transport, identity);
  try {
    for await (const chunk of input) {
      if (unread > MAX_UNREAD_CHARS && !signal.aborted) await untilRead();
      lines.push(chunk);
    }
    if (asked.size > 0 && !output.closed && !signal.aborted)
      await new Promise<void>((resolve) => {
        const disarm = clock.after(LAST_ANSWERS_MS, resolve);
        answered = () => {
          disarm();
          resolve();
        };
        signal.addEventListener('abort', answered, { once: true });
      });
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    await connected.close();
  }
}

/** Splits a client's input into lines, one message each. */
export interface RequestLines {
  push(chunk: Uint8Array): void;
}

const LINE_FEED = 10;

/** Buffers at most `maxBytes`. A longer line is dropped up to its end, and `onTooLong` is called once. */
function createRequestLines(
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): RequestLines {
  /** The beginning of an incomplete line, joined once it is complete. */
  let parts: Uint8Array[] = [];
  let size = 0;
  let isTooLong = false;

  const add = (part: Uint8Array) => {
    if (isTooLong) return;
    if (size + part.length > maxBytes) {
      isTooLong = true;
      parts = [];
      onTooLong();
      return;
    }
    parts.push(part);
    size += part.length;
  };
  const end = () => {
    const line = isTooLong ? '' : Buffer.concat(parts).toString('utf8').trim();
    parts = [];
    size = 0;
    isTooLong = false;
    if (line !== '') onLine(line);
  };
  return {
    push(chunk) {
      for (let from = 0; from < chunk.length; ) {
        const found = chunk.indexOf(LINE_FEED, from);
        add(chunk.subarray(from, found === -1 ? chunk.length : found));
        if (found === -1) return;
        end();
        from = found + 1;
      }
    },
  };
}

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../lib/clock.ts';
import type { McpServerMcpServer } from './create-mcp-server.ts';
import { INVALID_REQUEST, type MessageRefusal, readMessage, refusal } from './serve-http.ts';

export interface StdioDeps {
  readonly input: AsyncIterable<Uint8Array>;
  /** Where messages go, and nothing else. Once its reader has gone away, writes are dropped. */
  readonly output: { write(text: string): Promise<void>; readonly closed: boolean };
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Who started it: its client is theirs. */
  readonly identity?: string;
  readonly onError: (error: unknown) => void;
}

/** Of one message. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/** Of answers that a client has not read: above that, no more is read of what it asks for. */
const MAX_UNREAD_CHARS = 16 * 1024 * 1024;
/** What was asked for when the input ended is still answered, if it takes no longer. */
const LAST_ANSWERS_MS = 5_000;

/** Serves one client over a pair of pipes, until it closes its side or the signal is aborted. */
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
      // What is cancelled gets no answer.
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

/** Cuts what a client sends into lines, one message each. */
export interface RequestLines {
  push(chunk: Uint8Array): void;
}

const LINE_FEED = 10;

/** Holds `maxBytes` at the most: a line that is longer is dropped up to its end, and `onTooLong` is told once. */
function createRequestLines(
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): RequestLines {
  /** The beginning of a line whose end has not come: joined once, when it has. */
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

import { createRequire } from 'node:module';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { stopped } from '../targets/access/stopped.ts';
import type { McpAnswer, McpCall, McpServerStart, McpTool } from '../targets/mcp/mcp-server.ts';
import { thrownMessage } from '../targets/output/thrown-message.ts';
import {
  badAnswer,
  cannotStart,
  endedMeanwhile,
  refusedByServer,
  serverClosed,
  startFailed,
  startTooSlow,
} from './mcp-errors.ts';
import { isRefusal, readAnswer, readToolPage, soundMessage } from './read-answer.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

export interface ConnectOptions {
  readonly startTimeoutMs: number;
  readonly maxMessageBytes: number;
}

/** A server's process that has been greeted. */
export interface Connection {
  readonly isOpen: boolean;
  listTools(): Promise<readonly McpTool[]>;
  call(call: McpCall): Promise<McpAnswer>;
  close(): Promise<void>;
}

/** The limit of each request is the action's own; timers take no more than this. */
const NO_TIMEOUT_MS = 2_147_483_647;
const MAX_PAGES = 100;
const MAX_TOOLS = 1_000;
const MAX_PROGRESS = 10_000;

/** Starts a server and greets it. The SDK is loaded by the first: it takes longer to load than all the rest of us. */
export async function connectServer(
  start: McpServerStart,
  { startTimeoutMs, maxMessageBytes }: ConnectOptions,
): Promise<Connection> {
  const [{ Client: SdkClient }, { ResultSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const { name, clock } = start;
  const server = await startServerProcess(start, maxMessageBytes).catch((cause: NodeJS.ErrnoException) => {
    throw cannotStart(start, cause);
  });
  let isOpen = true;
  let ended: string | undefined;
  const transport = transportOf(server, (how) => {
    isOpen = false;
    ended = how;
  });
  const client: Client = new SdkClient({ name: 'telltale', version: ownVersion() }, { capabilities: {} });

  /** Within the time for a start; its process is gone when this rejects. */
  const starting = async <T>(doing: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const controller = new AbortController();
    const cancel = clock.after(startTimeoutMs, () => controller.abort());
    try {
      return await work(controller.signal);
    } catch (thrown) {
      const { words } = server;
      await server.end();
      if (thrown instanceof RuntimeError) throw thrown;
      if (controller.signal.aborted) throw startTooSlow(start, doing, startTimeoutMs, words);
      throw startFailed(start, ended ?? thrownMessage(thrown), words, thrown);
    } finally {
      cancel();
    }
  };
  const request = (method: string, params: Record<string, unknown>, options: object) =>
    client.request({ method, params }, ResultSchema, { timeout: NO_TIMEOUT_MS, ...options });

  await starting('answer', (signal) => client.connect(transport, { signal, timeout: NO_TIMEOUT_MS }));
  server.letGo();
  let underWay = 0;

  return {
    get isOpen() {
      return isOpen;
    },
    listTools: () =>
      starting('list its tools', async (signal) => {
        const tools: McpTool[] = [];
        let cursor: string | undefined;
        for (let pages = 0; pages < MAX_PAGES; pages++) {
          const params = cursor === undefined ? {} : { cursor };
          const page = readToolPage(await request('tools/list', params, { signal }));
          if (page === undefined) throw startFailed(start, 'what it listed are no tools', server.words);
          tools.push(...page.tools);
          if (tools.length > MAX_TOOLS)
            throw startFailed(start, `it lists more than ${MAX_TOOLS} tools`, server.words);
          if (page.next === undefined) return tools;
          cursor = page.next;
        }
        throw startFailed(start, `its list of tools has more than ${MAX_PAGES} pages`, server.words);
      }),
    async call({ what, tool, input, signal, onProgress }) {
      if (signal.aborted) throw stopped(what, signal);
      // One of our own: the SDK never lets go of the signal it is given.
      const controller = new AbortController();
      const onAbort = () => controller.abort(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      let shown = 0;
      const onprogress = (data: object) => {
        if (++shown <= MAX_PROGRESS) onProgress?.({ ...data });
      };
      if (++underWay === 1) server.hold();
      try {
        const options = { signal: controller.signal, ...(onProgress === undefined ? {} : { onprogress }) };
        const result = await request('tools/call', { name: tool, arguments: input }, options);
        const answer = readAnswer(result);
        if (answer === undefined) throw badAnswer(name, what, undefined);
        return answer;
      } catch (thrown) {
        if (signal.aborted) throw stopped(what, signal);
        if (thrown instanceof RuntimeError) throw thrown;
        if (!isOpen)
          throw ended === undefined ? serverClosed(name) : endedMeanwhile(name, what, ended, server.words);
        throw isRefusal(thrown)
          ? refusedByServer(what, thrownMessage(thrown), thrown)
          : badAnswer(name, what, thrown);
      } finally {
        signal.removeEventListener('abort', onAbort);
        if (--underWay === 0) server.letGo();
      }
    },
    close: () => server.end(),
  };
}

type SdkMessage = Parameters<NonNullable<Transport['onmessage']>>[0];

/** What the SDK speaks through. */
function transportOf(server: ServerProcess, onEnd: (how: string | undefined) => void): Transport {
  const transport: Transport = {
    async start() {
      server.listen({
        message(message) {
          const hand = () => transport.onmessage?.(soundMessage(message) as SdkMessage);
          // The SDK looks at a notification a moment after it came: an answer must not overtake the last of the progress.
          if ('method' in message) hand();
          else queueMicrotask(hand);
        },
        ended(how) {
          onEnd(how);
          transport.onclose?.();
        },
      });
    },
    async send(message) {
      server.send(JSON.stringify(message));
    },
    close: () => server.end(),
  };
  return transport;
}

const ownVersion = (): string => {
  const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };
  return version;
};

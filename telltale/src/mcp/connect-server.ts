import { createRequire } from 'node:module';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { stopped } from '../targets/access/stopped.ts';
import type {
  McpAnswer,
  McpAsk,
  McpCall,
  McpPromptAnswer,
  McpResourceList,
  McpServerStart,
} from '../targets/mcp/mcp-server.ts';
import { createKeptOutput } from '../targets/output/kept-output.ts';
import { thrownMessage } from '../targets/output/thrown-message.ts';
import { isSessionLost } from './http/http-errors.ts';
import { keepListed } from './keep-listed.ts';
import type { Request } from './list-all.ts';
import { listOffers, listResources, type Offers } from './list-offers.ts';
import {
  type AllWords,
  badAnswer,
  endedMeanwhile,
  refusedByServer,
  serverClosed,
  startFailed,
  startTooSlow,
} from './mcp-errors.ts';
import { openChannel } from './open-channel.ts';
import { isRefusal, readAnswer, readContents, readPromptAnswer } from './read-answer.ts';
import { sdkTransport } from './sdk-transport.ts';
import { KEPT_WORDS } from './server-channel.ts';

export interface ConnectOptions {
  readonly startTimeoutMs: number;
  readonly maxMessageBytes: number;
}

/** A server that has been greeted, and has said what it has. */
export interface Connection {
  readonly isOpen: boolean;
  readonly offers: Offers;
  call(call: McpCall): Promise<McpAnswer>;
  listResources(ask: McpAsk): Promise<McpResourceList>;
  readResource(ask: McpAsk & { readonly uri: string }): Promise<readonly JsonObject[]>;
  getPrompt(
    ask: McpAsk & { readonly prompt: string; readonly input: Readonly<Record<string, string>> },
  ): Promise<McpPromptAnswer>;
  close(): Promise<void>;
}

/** The limit of each request is the action's own; timers take no more than this. */
const NO_TIMEOUT_MS = 2_147_483_647;
const MAX_PROGRESS = 10_000;
/** Resources are listed whenever they are asked for. */
const LISTS_CHANGED: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
]);

/**
 * Reaches a server, greets it and asks what it has; `onOffers` hears of it whenever the server says that this is another
 * thing now. The SDK is loaded by the first: it takes longer to load than all the rest of us.
 */
export async function connectServer(
  start: McpServerStart,
  { startTimeoutMs, maxMessageBytes }: ConnectOptions,
  onOffers: (offers: Offers) => void,
): Promise<Connection> {
  const [{ Client: SdkClient }, { ResultSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const { name, clock } = start;
  const server = await openChannel(start, maxMessageBytes);
  const log = createKeptOutput(KEPT_WORDS);
  const words = (): AllWords => ({ ...server.words, log: log.text() });
  let isOpen = true;
  let ended: string | undefined;
  const transport = sdkTransport(server, (how) => {
    isOpen = false;
    ended = how;
  });
  // Nothing is offered to servers: what they ask for beside a ping is refused as a method that is not there.
  const client: Client = new SdkClient({ name: 'telltale', version: ownVersion() }, { capabilities: {} });
  const request: Request = (method, params, options) =>
    client.request({ method, params }, ResultSchema, { timeout: NO_TIMEOUT_MS, ...options });

  /** Within the time for a start. */
  const timely = async <T>(doing: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const controller = new AbortController();
    const cancel = clock.after(startTimeoutMs, () => controller.abort());
    try {
      return await work(controller.signal);
    } catch (thrown) {
      if (thrown instanceof RuntimeError) throw thrown;
      if (controller.signal.aborted) throw startTooSlow(start, doing, startTimeoutMs, words());
      throw startFailed(start, ended ?? thrownMessage(thrown), words(), thrown);
    } finally {
      cancel();
    }
  };
  const deps = { request, timely, bad: (why: string) => startFailed(start, why, words()) };

  let offers: Offers;
  const lists = keepListed({
    list: () => listOffers(client.getServerCapabilities() ?? {}, deps),
    onList(found) {
      offers = found;
      onOffers(found);
    },
    onFailure: (thrown) =>
      log.push(Buffer.from(`(its new list could not be read: ${thrownMessage(thrown)})\n`)),
    isOpen: () => isOpen,
  });
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/message') log.push(Buffer.from(`${logLine(params ?? {})}\n`));
    else if (LISTS_CHANGED.has(method)) lists.changed();
  };
  try {
    await timely('answer', (signal) => client.connect(transport, { signal, timeout: NO_TIMEOUT_MS }));
    offers = await lists.first();
  } catch (thrown) {
    await server.end();
    throw thrown;
  }
  server.letGo();

  let underWay = 0;
  let isLost = false;
  /** One request for an action, which is cancelled at the server where the action is stopped. */
  const ask = async <T>(
    { what, signal }: McpAsk,
    work: (signal: AbortSignal) => Promise<T | undefined>,
  ): Promise<T> => {
    if (signal.aborted) throw stopped(what, signal);
    // One of our own: the SDK never lets go of the signal it is given.
    const controller = new AbortController();
    const onAbort = () => controller.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (++underWay === 1) server.hold();
    try {
      const answer = await work(controller.signal);
      if (answer === undefined) throw badAnswer(name, what, undefined);
      return answer;
    } catch (thrown) {
      if (signal.aborted) throw stopped(what, signal);
      if (isSessionLost(thrown)) {
        isLost = true;
        isOpen = false;
      }
      if (thrown instanceof RuntimeError) throw thrown;
      if (!isOpen)
        throw ended === undefined ? serverClosed(name) : endedMeanwhile(name, what, ended, words());
      throw isRefusal(thrown)
        ? refusedByServer(what, thrownMessage(thrown), thrown)
        : badAnswer(name, what, thrown);
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (--underWay === 0) {
        server.letGo();
        // Not before: the others of its requests hear for themselves that the session is lost, and are made again.
        if (isLost) await server.end('it no longer knows the session');
      }
    }
  };

  return {
    get isOpen() {
      return isOpen;
    },
    get offers() {
      return offers;
    },
    call: ({ tool, input, onProgress, ...asked }) =>
      ask(asked, async (signal) => {
        let shown = 0;
        const onprogress = (data: object) => {
          if (++shown <= MAX_PROGRESS) onProgress?.({ ...data });
        };
        const options = { signal, ...(onProgress === undefined ? {} : { onprogress }) };
        return readAnswer(await request('tools/call', { name: tool, arguments: input }, options));
      }),
    listResources: (asked) =>
      ask(asked, (signal) =>
        listResources(request, signal, (why) => badAnswer(name, asked.what, new Error(why))),
      ),
    readResource: ({ uri, ...asked }) =>
      ask(asked, async (signal) => readContents(await request('resources/read', { uri }, { signal }))),
    getPrompt: ({ prompt, input, ...asked }) =>
      ask(asked, async (signal) =>
        readPromptAnswer(await request('prompts/get', { name: prompt, arguments: input }, { signal })),
      ),
    close: () => server.end(),
  };
}

function logLine({ level, logger, data }: Readonly<Record<string, unknown>>): string {
  const from = typeof logger === 'string' ? ` ${logger}` : '';
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? null);
  return `[${typeof level === 'string' ? level : 'info'}${from}] ${text.slice(0, KEPT_WORDS)}`;
}

const ownVersion = (): string => {
  const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };
  return version;
};

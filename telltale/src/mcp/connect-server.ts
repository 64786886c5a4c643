import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { stopped } from '../targets/access/stopped.ts';
import type {
  McpAnswer,
  McpAsk,
  McpCall,
  McpPrompt,
  McpPromptAnswer,
  McpResourceList,
  McpServerStart,
  McpTool,
} from '../targets/mcp/mcp-server.ts';
import { createKeptOutput } from '../targets/output/kept-output.ts';
import { thrownMessage } from '../targets/output/thrown-message.ts';
import { isSessionLost } from './http/http-errors.ts';
import { listAll, type Request } from './list-all.ts';
import {
  type AllWords,
  badAnswer,
  cannotStart,
  endedMeanwhile,
  refusedByServer,
  serverClosed,
  startFailed,
  startTooSlow,
} from './mcp-errors.ts';
import {
  isRefusal,
  readAnswer,
  readContents,
  readNamed,
  readPrompt,
  readPromptAnswer,
  readTool,
  soundMessage,
} from './read-answer.ts';
import { KEPT_WORDS, type ServerChannel } from './server-channel.ts';

export interface ConnectOptions {
  readonly startTimeoutMs: number;
  readonly maxMessageBytes: number;
}

/** What a server has. */
export interface Offers {
  readonly tools: readonly McpTool[];
  /** Undefined where it has none, and so for resources, which are listed when they are asked for. */
  readonly prompts: readonly McpPrompt[] | undefined;
  readonly hasResources: boolean;
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
const MAX_TOOLS = 1_000;
const MAX_PROMPTS = 1_000;
const MAX_RESOURCES = 1_000;
/** Between two lists of a server that says again and again that its list has changed. */
const RELIST_MS = 250;

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
  const transport = transportOf(server, (how) => {
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
  const badList = (why: string) => startFailed(start, why, words());
  const listOffers = async (): Promise<Offers> => {
    const has = client.getServerCapabilities() ?? {};
    const tools = await timely('list its tools', (signal) =>
      listAll(
        request,
        { method: 'tools/list', key: 'tools', what: 'tools', max: MAX_TOOLS, read: readTool },
        signal,
        badList,
      ).catch((thrown: unknown) => {
        // A server of resources alone has no such method.
        if (has.tools === undefined && isRefusal(thrown)) return [];
        throw thrown;
      }),
    );
    const prompts =
      has.prompts &&
      (await timely('list its prompts', (signal) =>
        listAll(
          request,
          { method: 'prompts/list', key: 'prompts', what: 'prompts', max: MAX_PROMPTS, read: readPrompt },
          signal,
          badList,
        ),
      ));
    return { tools, prompts, hasResources: has.resources !== undefined };
  };

  let offers: Offers;
  try {
    await timely('answer', (signal) => client.connect(transport, { signal, timeout: NO_TIMEOUT_MS }));
    offers = await listOffers();
  } catch (thrown) {
    await server.end();
    throw thrown;
  }
  server.letGo();

  let isStale = false;
  let isListing = false;
  const relist = async () => {
    isStale = true;
    if (isListing) return;
    isListing = true;
    try {
      while (isStale && isOpen) {
        isStale = false;
        offers = await listOffers();
        onOffers(offers);
        await wait(RELIST_MS, undefined, { ref: false }); // of no clock: the process must not stay for it
      }
    } catch (thrown) {
      // What it had is still what we know of; the error of a call tells of this.
      log.push(Buffer.from(`(its new list could not be read: ${thrownMessage(thrown)})\n`));
    } finally {
      isListing = false;
    }
  };
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/tools/list_changed' || method === 'notifications/prompts/list_changed')
      await relist();
    if (method === 'notifications/message') log.push(Buffer.from(`${logLine(params ?? {})}\n`));
  };

  let underWay = 0;
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
      if (isSessionLost(thrown)) isOpen = false;
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
        // A session that is lost: the others of its requests have heard it for themselves.
        if (!isOpen) await server.end('it no longer knows the session');
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
      ask(asked, async (signal) => {
        const bad = (why: string) => badAnswer(name, asked.what, new Error(why));
        const limits = { max: MAX_RESOURCES, cut: true };
        const resources = await listAll(
          request,
          {
            method: 'resources/list',
            key: 'resources',
            what: 'resources',
            read: readNamed('uri'),
            ...limits,
          },
          signal,
          bad,
        );
        const templates = await listAll(
          request,
          {
            method: 'resources/templates/list',
            key: 'resourceTemplates',
            what: 'templates',
            read: readNamed('uriTemplate'),
            ...limits,
          },
          signal,
          bad,
        ).catch((thrown: unknown) => {
          if (isRefusal(thrown)) return []; // not every server has templates
          throw thrown;
        });
        return {
          resources,
          templates,
          isCut: resources.length === MAX_RESOURCES || templates.length === MAX_RESOURCES,
        };
      }),
    readResource: ({ uri, ...asked }) =>
      ask(asked, async (signal) => readContents(await request('resources/read', { uri }, { signal }))),
    getPrompt: ({ prompt, input, ...asked }) =>
      ask(asked, async (signal) =>
        readPromptAnswer(await request('prompts/get', { name: prompt, arguments: input }, { signal })),
      ),
    close: () => server.end(),
  };
}

async function openChannel(start: McpServerStart, maxMessageBytes: number): Promise<ServerChannel> {
  if (start.type === 'http') {
    const { openHttpChannel } = await import('./http/http-channel.ts');
    return openHttpChannel(start, maxMessageBytes);
  }
  const { startServerProcess } = await import('./server-process.ts');
  return startServerProcess(start, maxMessageBytes).catch((cause: NodeJS.ErrnoException) => {
    throw cannotStart(start, cause);
  });
}

type SdkMessage = Parameters<NonNullable<Transport['onmessage']>>[0];

/** What the SDK speaks through. */
function transportOf(server: ServerChannel, onEnd: (how: string | undefined) => void): Transport {
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
    send: (message) => server.send(message),
    setProtocolVersion: (version) => server.useVersion(version),
    close: () => server.end(),
  };
  return transport;
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

import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { RuntimeError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { abortError } from '../tools/abort.ts';
import type {
  McpAnswer,
  McpCall,
  McpPromptAnswer,
  McpRequest,
  McpResourceList,
  McpServerStart,
  OpenMcpServer,
} from '../tools/mcp/mcp-server.ts';
import { mcpTargetName } from '../tools/mcp/mcp-server.ts';
import { createBoundedOutput, thrownMessage } from '../tools/output/output.ts';
import { isSessionLost } from './http/http-errors.ts';
import {
  type AllWords,
  badAnswer,
  cannotStart,
  endedMeanwhile,
  endsTooOften,
  KEPT_WORDS,
  MAX_MESSAGE_BYTES,
  refusedByServer,
  type ServerChannel,
  serverClosed,
  startFailed,
  startTooSlow,
  toolGone,
} from './mcp-errors.ts';
import type { Request } from './read-answer.ts';
import {
  isRefusal,
  listOffers,
  listResources,
  type Offers,
  readAnswer,
  readContents,
  readPromptAnswer,
  soundMessage,
} from './read-answer.ts';

/** `npx` may have to download a server first. */
const START_TIMEOUT_MS = 60_000;
/** After this many starts in a row without an answer, a server is left alone for a while. */
const MAX_RESTARTS = 5;
const REST_MS = 60_000;

/** Opens MCP servers over stdio and over streamable HTTP. */
export function createMcpClient(options: Partial<ConnectOptions> = {}): OpenMcpServer {
  const limits = { startTimeoutMs: START_TIMEOUT_MS, maxMessageBytes: MAX_MESSAGE_BYTES, ...options };
  return async (start: McpServerStart) => {
    const { name, clock } = start;
    const listeners = new Set<() => void>();
    let offers: Offers | undefined;
    let restarts = 0;
    let lastStart = 0;
    let isClosed = false;

    /** Keeps unchanged lists identical, so that callers can compare them by reference. */
    const take = (found: Offers) => {
      const before = offers;
      offers = before === undefined ? found : unchanged(before, found);
      if (before !== undefined && offers !== before) for (const listener of [...listeners]) listener();
    };
    const connect = async () => {
      lastStart = clock.monotonic();
      const made = await connectServer(start, limits, take);
      take(made.offers);
      return made;
    };
    let connecting = connect();

    /** Returns an open connection. One that has ended is reopened, once for all waiting calls. */
    const connected = async (): Promise<McpServerConnection> => {
      const current = connecting;
      const found = await current.catch(() => undefined);
      if (isClosed) throw serverClosed(name);
      if (found?.isOpen === true) return found;
      if (connecting === current) {
        const rested = clock.monotonic() - lastStart >= REST_MS;
        if (restarts >= MAX_RESTARTS && !rested) throw endsTooOften(name, restarts + 1, REST_MS);
        restarts++;
        connecting = connect();
        connecting.catch(() => undefined); // each waiting call gets the error, and the next call tries again
        return connecting;
      }
      return connected();
    };
    /** Repeats a request once in a new session if the server has lost the session, because then it was not executed. */
    const asking = async <T>(work: (connection: McpServerConnection) => Promise<T>): Promise<T> => {
      const once = async () => work(await connected());
      const answer = await once().catch((thrown: unknown) => {
        if (!isSessionLost(thrown)) throw thrown;
        return once();
      });
      restarts = 0;
      return answer;
    };

    await connecting;
    const has = () => offers ?? NOTHING;
    const gone = ({ what }: McpRequest) =>
      toolGone(
        name,
        what,
        has().tools.map((tool) => mcpTargetName(name, tool.name)),
      );
    const resources = {
      list: (ask: McpRequest) => asking((connection) => connection.listResources(ask)),
      read: (ask: McpRequest & { readonly uri: string }) =>
        asking((connection) => connection.readResource(ask)),
    };
    const prompts = {
      get all() {
        return has().prompts ?? [];
      },
      get: (ask: Parameters<McpServerConnection['getPrompt']>[0]) =>
        asking((connection) => connection.getPrompt(ask)),
    };
    return {
      name,
      get tools() {
        return has().tools;
      },
      get resources() {
        return has().hasResources ? resources : undefined;
      },
      get prompts() {
        return has().prompts === undefined ? undefined : prompts;
      },
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      call: (call) =>
        asking((connection) => {
          if (!connection.offers.tools.some((tool) => tool.name === call.tool)) throw gone(call);
          return connection.call(call);
        }),
      async close() {
        isClosed = true;
        listeners.clear();
        const last = await connecting.catch(() => undefined);
        await last?.close();
      },
    };
  };
}

const NOTHING: Offers = { tools: [], prompts: undefined, hasResources: false };

/** Keeps each list that has not changed, and the whole object if nothing has. */
function unchanged(before: Offers, found: Offers): Offers {
  const tools = same(before.tools, found.tools) ? before.tools : found.tools;
  const prompts = same(before.prompts, found.prompts) ? before.prompts : found.prompts;
  const { hasResources } = found;
  return tools === before.tools && prompts === before.prompts && hasResources === before.hasResources
    ? before
    : { tools, prompts, hasResources };
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

export interface ConnectOptions {
  readonly startTimeoutMs: number;
  readonly maxMessageBytes: number;
}

/** An initialized server with known offers. */
export interface McpServerConnection {
  readonly isOpen: boolean;
  readonly offers: Offers;
  call(call: McpCall): Promise<McpAnswer>;
  listResources(ask: McpRequest): Promise<McpResourceList>;
  readResource(ask: McpRequest & { readonly uri: string }): Promise<readonly JsonObject[]>;
  getPrompt(
    ask: McpRequest & { readonly prompt: string; readonly input: Readonly<Record<string, string>> },
  ): Promise<McpPromptAnswer>;
  close(): Promise<void>;
}

/** Each action has its own time limit. This is the longest that timers support. */
const NO_TIMEOUT_MS = 2_147_483_647;
const MAX_PROGRESS = 10_000;
/** Resources are listed at each request, so their changes do not matter. */
const LISTS_CHANGED: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
]);

/**
 * Connects to a server, initializes it and asks what it offers. `onOffers` is called whenever that changes. The SDK is
 * loaded here, because it takes longer to load than everything else.
 */
async function connectServer(
  start: McpServerStart,
  { startTimeoutMs, maxMessageBytes }: ConnectOptions,
  onOffers: (offers: Offers) => void,
): Promise<McpServerConnection> {
  const [{ Client: SdkClient }, { ResultSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const { name, clock } = start;
  const server = await openChannel(start, maxMessageBytes);
  const log = createBoundedOutput(KEPT_WORDS);
  const words = (): AllWords => ({ ...server.words, log: log.text() });
  let isOpen = true;
  let ended: string | undefined;
  const transport = sdkTransport(server, (how) => {
    isOpen = false;
    ended = how;
  });
  // The client offers no capabilities, so requests of the server other than ping are refused.
  const client: Client = new SdkClient({ name: 'telltale', version: ownVersion() }, { capabilities: {} });
  const request: Request = (method, params, options) =>
    client.request({ method, params }, ResultSchema, { timeout: NO_TIMEOUT_MS, ...options });

  /** Runs one step within the time limit of a start. */
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
  /** Sends one request for an action, and cancels it at the server if the action is stopped. */
  const ask = async <T>(
    { what, signal }: McpRequest,
    work: (signal: AbortSignal) => Promise<T | undefined>,
  ): Promise<T> => {
    if (signal.aborted) throw abortError(what, signal);
    // A separate controller, because the SDK keeps the signal it is given forever.
    const controller = new AbortController();
    const onAbort = () => controller.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (++underWay === 1) server.hold();
    try {
      const answer = await work(controller.signal);
      if (answer === undefined) throw badAnswer(name, what, undefined);
      return answer;
    } catch (thrown) {
      if (signal.aborted) throw abortError(what, signal);
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
        // Only after the last request, because the others find out by themselves that the session is lost, and are
        // repeated.
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

/** Each kind of channel is only loaded if it is needed. */
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

/** The transport that the SDK uses. */
function sdkTransport(server: ServerChannel, onEnd: (how: string | undefined) => void): Transport {
  const transport: Transport = {
    async start() {
      server.listen({
        message(message) {
          const hand = () => transport.onmessage?.(soundMessage(message) as SdkMessage);
          // The SDK handles a notification a moment after it arrives, so answers are delayed to not overtake the last
          // progress.
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

export interface KeptList<T> {
  /** Lists for the first time. Changes meanwhile are listed afterwards. */
  first(): Promise<T>;
  /** The server reports that its list has changed. */
  changed(): void;
}

export interface ListDeps<T> {
  readonly list: () => Promise<T>;
  readonly onList: (list: T) => void;
  /** A new list could not be read, so the old one stays valid. */
  readonly onFailure: (thrown: unknown) => void;
  readonly isOpen: () => boolean;
}

/** The pause between two lists of a server that keeps reporting changes. */
const PAUSE_MS = 250;

/** Lists again after changes, one list at a time, and at most once per pause. */
function keepListed<T>({ list, onList, onFailure, isOpen }: ListDeps<T>): KeptList<T> {
  let isStale = false;
  let isBusy = true; // until it has been listed for the first time

  const listAgain = async () => {
    isBusy = true;
    try {
      while (isStale && isOpen()) {
        isStale = false;
        onList(await list());
        // A plain timer, which does not keep the process alive.
        await wait(PAUSE_MS, undefined, { ref: false });
      }
    } catch (thrown) {
      onFailure(thrown);
    } finally {
      isBusy = false;
    }
  };
  return {
    async first() {
      const found = await list();
      isBusy = false;
      if (isStale) void listAgain(); // never rejects
      return found;
    },
    changed() {
      isStale = true;
      if (!isBusy) void listAgain(); // never rejects
    },
  };
}

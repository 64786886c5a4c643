import { mcpTargetName } from '../targets/mcp/mcp-names.ts';
import type { McpAsk, McpServerStart, OpenMcpServer } from '../targets/mcp/mcp-server.ts';
import { type Connection, type ConnectOptions, connectServer } from './connect-server.ts';
import { isSessionLost } from './http/http-errors.ts';
import type { Offers } from './list-offers.ts';
import { endsTooOften, serverClosed, toolGone } from './mcp-errors.ts';
import { MAX_MESSAGE_BYTES } from './server-channel.ts';

/** `npx` may have to fetch a server first. */
const START_TIMEOUT_MS = 60_000;
/** Beginnings in a row behind which nothing was answered; then it is left alone for a while. */
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

    /** What is the same as before stays the same list: who keeps something made of it can tell by that. */
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

    /** A connection that was open a moment ago: one that has ended is made anew, once for all who ask. */
    const connected = async (): Promise<Connection> => {
      const current = connecting;
      const found = await current.catch(() => undefined);
      if (isClosed) throw serverClosed(name);
      if (found?.isOpen === true) return found;
      if (connecting === current) {
        const rested = clock.monotonic() - lastStart >= REST_MS;
        if (restarts >= MAX_RESTARTS && !rested) throw endsTooOften(name, restarts + 1, REST_MS);
        restarts++;
        connecting = connect();
        connecting.catch(() => undefined); // whoever waits for it hears of it; the next call tries again
        return connecting;
      }
      return connected();
    };
    /** A request of a session that the server has forgotten was not acted on: it is made once more, in a new one. */
    const asking = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
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
    const gone = ({ what }: McpAsk) =>
      toolGone(
        name,
        what,
        has().tools.map((tool) => mcpTargetName(name, tool.name)),
      );
    const resources = {
      list: (ask: McpAsk) => asking((connection) => connection.listResources(ask)),
      read: (ask: McpAsk & { readonly uri: string }) => asking((connection) => connection.readResource(ask)),
    };
    const prompts = {
      get all() {
        return has().prompts ?? [];
      },
      get: (ask: Parameters<Connection['getPrompt']>[0]) => asking((connection) => connection.getPrompt(ask)),
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

/** Each list as it was where it is the same, and all of it where nothing is new. */
function unchanged(before: Offers, found: Offers): Offers {
  const tools = same(before.tools, found.tools) ? before.tools : found.tools;
  const prompts = same(before.prompts, found.prompts) ? before.prompts : found.prompts;
  const { hasResources } = found;
  return tools === before.tools && prompts === before.prompts && hasResources === before.hasResources
    ? before
    : { tools, prompts, hasResources };
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

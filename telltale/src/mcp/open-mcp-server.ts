import type { McpServerStart, OpenMcpServer } from '../targets/mcp/mcp-server.ts';
import { type Connection, type ConnectOptions, connectServer } from './connect-server.ts';
import { endsTooOften, serverClosed } from './mcp-errors.ts';
import { MAX_MESSAGE_BYTES } from './server-process.ts';

/** `npx` may have to fetch a server first. */
const START_TIMEOUT_MS = 60_000;
/** Starts in a row behind which no call was answered. */
const MAX_RESTARTS = 5;

/** Opens MCP servers over stdio. */
export function createMcpClient(options: Partial<ConnectOptions> = {}): OpenMcpServer {
  const limits = { startTimeoutMs: START_TIMEOUT_MS, maxMessageBytes: MAX_MESSAGE_BYTES, ...options };
  return async (start: McpServerStart) => {
    const { name } = start;
    let connecting = connectServer(start, limits);
    let restarts = 0;
    let isClosed = false;

    /** A connection that was open a moment ago: one that has ended is made anew, once for all who ask. */
    const connected = async (): Promise<Connection> => {
      const current = connecting;
      const found = await current.catch(() => undefined);
      if (isClosed) throw serverClosed(name);
      if (found?.isOpen === true) return found;
      if (connecting === current) {
        if (restarts === MAX_RESTARTS) throw endsTooOften(name, restarts + 1);
        restarts++;
        connecting = connectServer(start, limits);
        connecting.catch(() => undefined); // whoever waits for it hears of it; the next call tries again
        return connecting;
      }
      return connected();
    };

    const tools = await (await connecting).listTools();
    return {
      name,
      tools,
      async call(call) {
        const answer = await (await connected()).call(call);
        restarts = 0;
        return answer;
      },
      async close() {
        isClosed = true;
        const last = await connecting.catch(() => undefined);
        await last?.close();
      },
    };
  };
}

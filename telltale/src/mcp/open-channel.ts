import type { McpServerStart } from '../targets/mcp/mcp-server.ts';
import { cannotStart } from './mcp-errors.ts';
import type { ServerChannel } from './server-channel.ts';

/** Each way is loaded by those who use it. */
export async function openChannel(start: McpServerStart, maxMessageBytes: number): Promise<ServerChannel> {
  if (start.type === 'http') {
    const { openHttpChannel } = await import('./http/http-channel.ts');
    return openHttpChannel(start, maxMessageBytes);
  }
  const { startServerProcess } = await import('./server-process.ts');
  return startServerProcess(start, maxMessageBytes).catch((cause: NodeJS.ErrnoException) => {
    throw cannotStart(start, cause);
  });
}

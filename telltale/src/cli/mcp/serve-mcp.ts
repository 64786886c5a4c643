import { parseDuration } from '../../kernel/duration.ts';
import type { McpServer } from '../../mcp/server/create-mcp-server.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { portOption } from '../port-option.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { usage } from '../usage.ts';
import { loadAgents } from './load-agents.ts';

export interface McpOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  /** True where no port is named. */
  readonly http?: string | true;
  readonly host?: string;
  readonly token?: string;
  readonly tokenTtl?: string;
  readonly wait?: string;
  readonly prefix?: string;
  readonly acceptChanges?: true;
}

const DEFAULT_PORT = 4810;
const LOOPBACK = '127.0.0.1';

/** `telltale mcp`. Over stdio nothing but messages goes to standard output. */
export async function serveMcp(
  manifests: readonly string[],
  options: McpOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const { http, host, token, tokenTtl, wait, prefix, acceptChanges, store, durability } = options;
  if (http === undefined && (host !== undefined || token !== undefined))
    throw usage('--host and --token are for HTTP.', 'Add --http, or leave them out.');
  if (token?.trim() === '')
    throw usage(
      '--token is empty: no client could send it.',
      'Is the variable set that it was taken from? Name a token, or leave --token out.',
    );
  const settings = {
    ...(tokenTtl === undefined ? {} : { tokenTtlMs: duration('--token-ttl', tokenTtl) }),
    ...(wait === undefined ? {} : { waitMs: duration('--wait', wait) }),
    ...(prefix === undefined ? {} : { agentPrefix: prefix }),
    ...(acceptChanges === undefined ? {} : { acceptChanges }),
  };
  const port = http === undefined ? undefined : http === true ? DEFAULT_PORT : portOption('--http', http);
  const agents = await loadAgents(manifests, context);
  if (agents.length === 0) return EXIT.usage;
  const onError = (thrown: unknown) => void io.stderr.write(`${messageOf(thrown)}\n`);
  const opened = {
    ...(store === undefined ? {} : { store }),
    ...(durability === undefined ? {} : { durability }),
  };
  await withRuntime(context, opened, async (runtime) => {
    const { createMcpServer } = await import('../../mcp/server/create-mcp-server.ts');
    const server = await createMcpServer({ runtime, agents, clock: io.clock, onError, ...settings });
    if (port === undefined) await overStdio(server, io, onError);
    else
      await overHttp(
        server,
        { port, host: host ?? LOOPBACK, token: token ?? (io.env.TELLTALE_MCP_TOKEN || undefined) },
        io,
        onError,
      );
  });
  return EXIT.ok;
}

async function overStdio(server: McpServer, io: Io, onError: (thrown: unknown) => void): Promise<void> {
  const { serveStdio } = await import('../../mcp/server/serve-stdio.ts');
  const { stdin: input, stdout: output, clock, signal } = io;
  await serveStdio(server, { input, output, clock, signal, onError });
}

async function overHttp(
  server: McpServer,
  at: { readonly port: number; readonly host: string; readonly token: string | undefined },
  { stderr, signal }: Io,
  onError: (thrown: unknown) => void,
): Promise<void> {
  const { serveHttp } = await import('../../mcp/server/serve-http.ts');
  const serving = await serveHttp(server, { ...at, onError });
  await stderr.write(`Serving MCP at ${serving.url}. Ctrl-C ends it.\n`);
  try {
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  } finally {
    await serving.close();
  }
}

function duration(option: string, text: string): number {
  const read = parseDuration(text);
  if (read.ok && read.value > 0) return read.value;
  throw usage(`${option} '${text}' is no duration.`, 'Write for example 30s, 15m or 24h.');
}

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

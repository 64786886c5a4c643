import { createHash, timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import { isLoopback } from '../../lib/host-name.ts';
import { parseDuration } from '../../lib/quantity.ts';
import type { McpServerMcpServer } from '../../mcp/server/create-mcp-server.ts';
import type { HttpOptions } from '../../mcp/server/serve-http.ts';
import type { Tokens } from '../../server/auth/tokens.ts';
import { createTokens, newToken } from '../../server/auth/tokens.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { keepDaemonFile } from '../daemon-files.ts';
import type { Io } from '../io.ts';
import { portOption, usage } from '../options.ts';
import { signer } from '../program.ts';
import { loadForRun } from '../run/with-agent.ts';
import { shownLocation, storeLocation } from '../session/store-options.ts';
import { withRuntime } from '../session/with-runtime.ts';

export interface McpOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  /** True if no port is given. */
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
const KEY_CHARS = 12;

interface HttpPlace {
  readonly port: number;
  readonly host: string;
  /** The token from `--token` or the environment. */
  readonly token: string | undefined;
  readonly tokens: Tokens;
  readonly store: string;
}

/** `telltale mcp`. Over stdio, only protocol messages go to standard output. */
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
      'Check the variable that it comes from. Write a token, or leave --token out.',
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
    if (port === undefined) return overStdio(server, io, onError);
    const at = {
      port,
      host: host ?? LOOPBACK,
      token: token ?? (io.env.TELLTALE_MCP_TOKEN || undefined),
      tokens: createTokens(runtime.store, io.clock),
      store: shownLocation(storeLocation(store, io)),
    };
    await overHttp(server, at, io, onError);
  });
  return EXIT.ok;
}

async function overStdio(
  server: McpServerMcpServer,
  io: Io,
  onError: (thrown: unknown) => void,
): Promise<void> {
  const { serveStdio } = await import('../../mcp/server/serve-stdio.ts');
  const { stdin: input, stdout: output, clock, signal } = io;
  await serveStdio(server, { input, output, clock, signal, identity: signer(), onError });
}

async function overHttp(
  server: McpServerMcpServer,
  { port, host, token: given, tokens, store }: HttpPlace,
  io: Io,
  onError: (thrown: unknown) => void,
): Promise<void> {
  const { stderr, signal } = io;
  if (!isLoopback(host) && given === undefined && !(await tokens.any())) throw needsToken(host);
  const { serveHttp } = await import('../../mcp/server/serve-http.ts');
  const token = given ?? newToken();
  const serving = await serveHttp(server, {
    port,
    host,
    identify: identifying(token, given, tokens),
    onError,
  });
  const { url } = serving;
  const kept = { url, host, port: serving.port, store, token, startedAt: io.clock.now() };
  const forgetFile = await keepDaemonFile(io, kept).catch((thrown: unknown) => {
    onError(thrown);
    return async () => undefined;
  });
  const header = given === undefined ? `Clients send the header "authorization: Bearer ${token}".\n` : '';
  await stderr.write(`Serving MCP at ${url}. Ctrl-C ends it.\n${header}`);
  try {
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  } finally {
    await serving.close();
    await forgetFile();
  }
}

/**
 * Who a token belongs to. For a token of the store: its name. For one that this command created: the user who started
 * it. For one that somebody chose: a digest of the token, because everybody who has it looks the same.
 */
function identifying(
  token: string,
  given: string | undefined,
  tokens: Pick<Tokens, 'check'>,
): HttpOptions['identify'] {
  const own = digestOf(token);
  const identity = given === undefined ? signer() : `key:${own.toString('hex').slice(0, KEY_CHARS)}`;
  return async (sent) => {
    if (timingSafeEqual(digestOf(sent), own)) return identity;
    const caller = await tokens.check(sent);
    return caller === undefined || caller.role === 'read' ? undefined : caller.by;
  };
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

const needsToken = (host: string) =>
  usage(
    `No client on another machine has a token for ${host}.`,
    'Set a token that clients have to send: --token, TELLTALE_MCP_TOKEN, or telltale token create NAME --role run. Or leave --host at 127.0.0.1.',
  );

function duration(option: string, text: string): number {
  const read = parseDuration(text);
  if (read.ok && read.value > 0) return read.value;
  throw usage(`${option} '${text}' is not a duration.`, 'Write for example 30s, 15m or 24h.');
}

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

const DEFAULT = 'agent.yml';

/**
 * All agents of the manifests: first those in the files, then those that they import. Undefined if a manifest is
 * invalid; every mistake has been printed then.
 */
async function loadAgents(
  manifests: readonly string[],
  context: Pick<CommandContext, 'io' | 'runtimes'>,
): Promise<readonly LoadedAgent[]> {
  const { cwd, env } = context.io;
  const paths = manifests.length > 0 ? manifests : [DEFAULT];
  if (manifests.length === 0 && !existsSync(resolve(cwd, DEFAULT)))
    throw usage(
      `There is no ${DEFAULT} here.`,
      'Name the manifests of the agents to serve: telltale mcp FILE…',
    );
  const loaded = new Map<string, LoadedAgent>();
  for (const path of paths) {
    const first = await loadForRun(path, context, {});
    if (first === undefined) return [];
    loaded.set(`${first.path} ${first.manifest.name}`, first);
    for (const { kind, name, file } of first.project.manifests) {
      const key = `${resolve(file)} ${name}`;
      if (kind !== 'Agent' || loaded.has(key)) continue;
      loaded.set(key, await context.runtimes.loadAgent(resolve(file), { cwd, env, name }));
    }
  }
  return [...loaded.values()];
}

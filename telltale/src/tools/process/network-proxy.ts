import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { bareHost } from '../../manifest/permission-rules.ts';
import type { HostPort, PermittedHosts } from '../access/permitted-hosts.ts';
import { type ConnectionRules, checkConnection } from '../http/checked-lookup.ts';

/**
 * The network of one sandboxed command. The command has its own network namespace, and the only way out is a Unix
 * socket of ours. `bin/sandbox-relay.js` offers that socket to the command as an HTTP proxy. Every connection is
 * checked here, outside the sandbox, by host, port and address.
 */
export interface CommandNetwork {
  /** The folder of the socket, visible in the sandbox at the same path. */
  readonly folder: string;
  /** The Node executable that runs the relay. */
  readonly node: string;
  /** A file for `/etc/hosts` that maps names to forwarded ports. */
  readonly hosts: string | undefined;
  /** Runs instead of the command, which follows as further arguments. */
  readonly relay: readonly string[];
  /** Authenticates the relay at the socket, so that no command can use another command's network. */
  readonly token: string;
  close(): Promise<void>;
}

export interface NetworkDeps extends Omit<ConnectionRules, 'hosts'> {
  readonly hosts: Pick<PermittedHosts, 'check' | 'denies' | 'named'>;
}

interface Forward extends HostPort {
  /** The address inside the sandbox. */
  readonly listen: string;
}

const RELAY = fileURLToPath(new URL('../../../bin/sandbox-relay.js', import.meta.url));
const FOLDER = 'telltale-net-';
const SWEEP_MS = 1_000;
/** A folder without a socket is still being set up, unless it is older than this. */
const SET_UP_MS = 60_000;
const MAX_CONNECTIONS = 512;
const MAX_HEAD_BYTES = 1_024;
const CONNECT_MS = 60_000;
const HEAD_MS = 10_000;
/** Unix allows about a hundred bytes in the path of a socket. */
const MAX_PATH = 100;

/** `granted` is what a person approved for this call. */
export async function openNetwork(rules: NetworkDeps, granted: readonly string[]): Promise<CommandNetwork> {
  staleRemoved ??= removeStale();
  await staleRemoved;
  const folder = await mkdtemp(join(tmpdir(), FOLDER));
  const token = randomBytes(16).toString('hex');
  const sockets = new Set<Socket>();
  const path = join(folder, 'proxy');
  const forwards = forwardsFor(rules.hosts.named);
  const names = forwards.filter(({ host, listen }) => host !== listen && host !== 'localhost');
  const server = createServer({ allowHalfOpen: true }, (client) => {
    sockets.add(client);
    client.once('close', () => sockets.delete(client));
    client.on('error', () => client.destroy());
    serve(client, token, rules, granted);
  });
  server.maxConnections = MAX_CONNECTIONS;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const node = await readlink('/proc/self/exe');
    const relay = join(folder, 'relay.mjs');
    const connecting = join(folder, 'connect');
    await copyFile(RELAY, relay);
    await writeFile(
      connecting,
      `#!/bin/sh\nexec ${[node, relay, 'connect', folder].map(quoted).join(' ')} "$1" "$2"\n`,
    );
    await chmod(connecting, 0o700);
    const hosts = join(folder, 'hosts');
    const systemHosts =
      names.length === 0 ? undefined : await readFile('/etc/hosts', 'utf8').catch(() => undefined);
    if (systemHosts !== undefined) {
      const lines = names.map(({ host, listen }) => `${listen} ${host}\n`).join('');
      await writeFile(hosts, `${lines}${systemHosts}`);
    }
    await listen(server, path);
    return {
      folder,
      node,
      hosts: systemHosts === undefined ? undefined : hosts,
      relay: [node, relay, 'run', folder, JSON.stringify(forwards)],
      token,
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

let staleRemoved: Promise<void> | undefined;

/** Removes folders of runtimes that were killed. Nobody listens on their sockets, in whatever container they ran. */
async function removeStale(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => []))
    if (name.startsWith(FOLDER) && (await isStale(join(tmpdir(), name))))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined); // another user's
}

async function isStale(folder: string): Promise<boolean> {
  const refusal = await refusalOf(join(folder, 'proxy'));
  if (refusal !== 'ENOENT') return refusal === 'ECONNREFUSED';
  const made = await stat(folder).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs > SET_UP_MS;
}

/** The error of connecting to a socket. Undefined if someone listens, or the attempt takes too long. */
const refusalOf = (path: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const call = connect({ path });
    call.setTimeout(SWEEP_MS, () => call.destroy());
    call.once('connect', () => call.destroy());
    call.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    call.once('close', () => resolve(undefined));
  });

/**
 * A loopback port keeps its address in the sandbox. A name gets its own loopback address there through `/etc/hosts`.
 */
function forwardsFor(named: readonly HostPort[]): readonly Forward[] {
  const addresses = new Map<string, string>();
  return named.flatMap(({ host, port }): readonly Forward[] => {
    if (host === 'localhost') return ['127.0.0.1', '::1'].map((listen) => ({ listen, host, port }));
    if (host === '::1' || host.startsWith('127.')) return [{ listen: host, host, port }];
    if (!/^[a-z][a-z0-9.-]*$/.test(host) || addresses.size > 200) return [];
    const listen = addresses.get(host) ?? `127.84.0.${addresses.size + 1}`;
    addresses.set(host, listen);
    return [{ listen, host, port }];
  });
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

function listen(server: Server, path: string): Promise<void> {
  if (path.length > MAX_PATH) return Promise.reject(new Error(`the path ${path} is too long for a socket`));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
    server.unref();
  });
}

/** Serves one connection: a line with host and port, our answer as a line, then the bytes of both sides. */
function serve(client: Socket, token: string, rules: NetworkDeps, granted: readonly string[]): void {
  let head = Buffer.alloc(0);
  client.setTimeout(HEAD_MS, () => client.destroy());
  const hear = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(10);
    if (end === -1 && head.length <= MAX_HEAD_BYTES) return;
    client.off('data', hear);
    client.pause();
    client.setTimeout(0);
    if (end === -1 || end > MAX_HEAD_BYTES) {
      client.destroy();
      return;
    }
    if (end + 1 < head.length) client.unshift(head.subarray(end + 1));
    const asked = readHead(head.subarray(0, end).toString('utf8'), token);
    if (asked === undefined) client.destroy();
    else open(client, asked, rules, granted);
  };
  client.on('data', hear);
}

function open(client: Socket, asked: HostPort, rules: NetworkDeps, granted: readonly string[]): void {
  const refuse = (thrown: unknown) => {
    const { code, message, hint } = toRuntimeError(thrown);
    const said = hint === undefined ? message : `${message} ${hint}`;
    client.end(`${JSON.stringify(code === 'not_permitted' ? { refused: said } : { failed: said })}\n`);
  };
  const host = bareHost(asked.host);
  let target: Socket;
  try {
    const lookup = checkConnection(rules, host, String(asked.port), granted);
    target = connect({ host, port: asked.port, lookup, allowHalfOpen: true });
  } catch (thrown) {
    refuse(thrown);
    return;
  }
  let isOpen = false;
  target.setTimeout(CONNECT_MS, () => target.destroy(new Error('the connection took too long')));
  client.once('close', () => target.destroy());
  target.on('error', (error) => {
    if (isOpen) client.destroy();
    else refuse(error instanceof RuntimeError ? error : notConnected(asked, error));
  });
  target.once('connect', () => {
    isOpen = true;
    target.setTimeout(0);
    target.once('close', () => client.destroy());
    client.write('{}\n');
    client.pipe(target);
    target.pipe(client);
  });
}

function readHead(text: string, expected: string): HostPort | undefined {
  try {
    const { token, host, port } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (token !== expected) return undefined;
    const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;
    return typeof host === 'string' && host !== '' && isPort ? { host, port } : undefined;
  } catch {
    return undefined; // the client is not our relay
  }
}

const notConnected = ({ host, port }: HostPort, cause: Error) =>
  new RuntimeError('http_failed', `The connection to ${host}:${port} failed: ${cause.message}`, { cause });

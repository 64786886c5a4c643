// Runs inside the sandbox of a command whose agent may reach hosts. The command has no network but loopback. This
// program listens there as an HTTP proxy and forwards single ports; each connection goes through a Unix socket to the
// runtime, which judges it (telltale/src/tools/process/network-proxy.ts). It uses nothing but Node.
//
//   node sandbox-relay.js run FOLDER FORWARDS PROGRAM [ARGUMENT…]
//   node sandbox-relay.js connect FOLDER HOST PORT        (stdin and stdout are the connection: for ssh and git)
import { spawn } from 'node:child_process';
import { createServer as createHttpServer, request, STATUS_CODES } from 'node:http';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';

const [mode = '', folder = '', ...rest] = process.argv.slice(2);

/**
 * Opens a connection by way of the runtime. Rejects with its reason where it refuses.
 *
 * @param {string} host
 * @param {number} port
 * @returns {Promise<import('node:net').Socket>}
 */
function tunnel(host, port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: join(folder, 'proxy'), allowHalfOpen: true });
    let head = Buffer.alloc(0);
    const hear = (/** @type {Buffer} */ chunk) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(10);
      if (end === -1) return;
      socket.off('data', hear);
      socket.pause();
      const { refused, failed } = JSON.parse(head.subarray(0, end).toString('utf8'));
      if (refused === undefined && failed === undefined) {
        if (end + 1 < head.length) socket.unshift(head.subarray(end + 1));
        socket.off('close', gone);
        resolve(socket);
      } else {
        socket.destroy();
        reject(Object.assign(new Error(refused ?? failed), { status: refused === undefined ? 502 : 403 }));
      }
    };
    const gone = () => reject(new Error('The runtime has closed the network of this command.'));
    socket.on('data', hear);
    socket.on('error', () => undefined);
    socket.once('close', gone);
    socket.write(`${JSON.stringify({ token: process.env.TELLTALE_NETWORK_TOKEN, host, port })}\n`);
  });
}

const isLoopback = (/** @type {string} */ host) =>
  /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|::1)$/i.test(host);

/**
 * What the command serves itself on its own loopback comes first. Only what nobody serves there leaves the sandbox.
 *
 * @param {string} host
 * @param {number} port
 */
async function reach(host, port) {
  const own = isLoopback(host) ? await local(host, port) : undefined;
  return own ?? tunnel(host, port);
}

/**
 * @param {string} host
 * @param {number} port
 * @returns {Promise<import('node:net').Socket | undefined>}
 */
function local(host, port) {
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    socket.once('connect', () => resolve(socket));
    socket.on('error', () => resolve(undefined));
  });
}

/**
 * @param {import('node:stream').Duplex} one
 * @param {import('node:stream').Duplex} other
 */
function connectBoth(one, other) {
  one.on('error', () => other.destroy());
  other.on('error', () => one.destroy());
  one.on('close', () => other.destroy());
  other.on('close', () => one.destroy());
  one.pipe(other);
  other.pipe(one);
}

const told = new Set();
/**
 * Says once on the command's stderr why a connection was refused.
 *
 * @param {string} message
 */
function tell(message) {
  if (told.size >= 100 || told.has(message)) return;
  told.add(message);
  process.stderr.write(`telltale: ${message}\n`);
}

/**
 * Reads `host:port` and `[::1]:port`.
 *
 * @param {string} authority
 */
function addressOf(authority) {
  const [, name = '', port = ''] = /^(.*):(\d{1,5})$/.exec(authority) ?? [];
  return { host: name.replace(/^\[|\]$/g, ''), port: Number(port) };
}

/**
 * The status of the proxy for a connection that was not made. A refusal is also told on stderr.
 *
 * @param {Error & { status?: number }} error
 */
function statusOf({ status = 502, message }) {
  if (status === 403) tell(message);
  return status;
}

const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization'];

async function listenProxy() {
  const proxy = createHttpServer((asked, answer) => {
    const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : undefined;
    if (url?.protocol !== 'http:') {
      answer.writeHead(400).end('This is a proxy: it needs an address with a host.\n');
      return;
    }
    const host = url.hostname.replace(/^\[|\]$/g, '');
    reach(host, Number(url.port || 80)).then(
      (socket) => {
        const headers = { ...asked.headers };
        for (const name of HOP_BY_HOP) delete headers[name];
        const sent = request({
          method: asked.method,
          path: `${url.pathname}${url.search}`,
          headers: { ...headers, connection: 'close' },
          createConnection: () => socket,
        });
        sent.once('socket', () => socket.resume());
        sent.on('response', (got) => {
          answer.writeHead(got.statusCode ?? 502, got.statusMessage, got.rawHeaders);
          got.pipe(answer);
          got.on('error', () => answer.destroy());
        });
        sent.on('error', (error) => {
          if (answer.headersSent) answer.destroy();
          else answer.writeHead(502).end(`${error.message}\n`);
        });
        answer.on('close', () => sent.destroy());
        asked.pipe(sent);
      },
      (error) => {
        const status = statusOf(error);
        answer.writeHead(status, { 'content-type': 'text/plain' }).end(`${error.message}\n`);
      },
    );
  });
  proxy.on('connect', (asked, client, head) => {
    const { host, port } = addressOf(asked.url ?? '');
    client.on('error', () => undefined);
    reach(host, port).then(
      (socket) => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        if (head.length > 0) socket.write(head);
        connectBoth(client, socket);
      },
      (error) => {
        const status = statusOf(error);
        const body = `${error.message}\n`;
        client.end(
          `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
      },
    );
  });
  proxy.on('clientError', (_error, socket) => socket.destroy());
  proxy.requestTimeout = 0;
  await listening(proxy, { host: '127.0.0.1', port: 0 });
  return proxy;
}

/**
 * A port inside that leads to one host and port outside, for programs that know no proxy.
 *
 * @param {{ listen: string, host: string, port: number }} forward
 */
function listenForward({ listen, host, port }) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    client.on('error', () => undefined);
    tunnel(host, port).then(
      (socket) => connectBoth(client, socket),
      ({ message }) => {
        tell(message);
        client.destroy();
      },
    );
  });
  return listening(server, { host: listen, port }).catch(({ message }) =>
    tell(`${host}:${port} can be reached through the proxy only: ${message}`),
  );
}

/**
 * @param {import('node:net').Server} server
 * @param {import('node:net').ListenOptions} options
 */
function listening(server, options) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => resolve(undefined));
  });
}

/** @param {string[]} words */
async function run([forwards = '', program = '', ...args]) {
  const proxy = await listenProxy();
  await Promise.all(JSON.parse(forwards).map(listenForward));
  const { port } = /** @type {import('node:net').AddressInfo} */ (proxy.address());
  const address = `http://127.0.0.1:${port}`;
  const connecting = `sh '${join(folder, 'connect')}'`;
  const { TELLTALE_NODE_OPTIONS, ...env } = process.env;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  const child = spawn(program, args, {
    stdio: 'inherit',
    env: {
      ...env,
      ...(TELLTALE_NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS: TELLTALE_NODE_OPTIONS }),
      ...Object.fromEntries(names.map((name) => [name, address])),
      NO_PROXY: '',
      no_proxy: '',
      NODE_USE_ENV_PROXY: '1',
      GIT_SSH_COMMAND: `${env.GIT_SSH_COMMAND ?? 'ssh'} -o ProxyCommand="${connecting} %h %p"`,
      GIT_PROXY_COMMAND: join(folder, 'connect'),
    },
  });
  // They go to every process in the sandbox: the command decides on its end, and this program ends with it.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
  child.once('error', ({ message }) => {
    process.stderr.write(`telltale: ${message}\n`);
    process.exit(126);
  });
  child.once('exit', (code, signal) =>
    process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
  );
}

if (mode === 'run') await run(rest);
else {
  const socket = await tunnel(rest[0] ?? '', Number(rest[1])).catch(({ message }) => {
    process.stderr.write(`telltale: ${message}\n`);
    process.exit(1);
  });
  socket.on('close', () => process.exit(0));
  process.stdout.on('error', () => process.exit(0));
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
}

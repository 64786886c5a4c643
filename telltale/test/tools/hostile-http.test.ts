import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { checkConnection, type Resolver } from '../../src/tools/http/checked-lookup.ts';
import { agentTargets } from './agent-targets.ts';
import { httpServer } from './http-server.ts';

/** A server of bare sockets, so that it can say what no HTTP server would. */
async function socketServer(answer: (socket: Socket) => void, waitsFor = '\r\n\r\n'): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let head = '';
    socket.on('data', (chunk) => {
      head += chunk;
      if (head.includes(waitsFor)) answer(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The agent of both tools: `http_fetch`, and `get`, an http tool with one parameter. */
const given = (network: readonly string[] = ['127.0.0.1'], resolveHost?: Resolver) =>
  agentTargets({
    agent: `import: { tools: ["builtin:http_fetch", ./get.yml] }\npermissions: { network: ${JSON.stringify(network)} }`,
    files: {
      'get.yml':
        'kind: Tool\nname: get\nparameters: { type: object, properties: { url: {} } }\nimplementation: { http: { url: "{url}", headers: { X-Api-Key: k1, X-Plain: p1 } } }\noutput: { max_bytes: 100KiB }\nstream: true\n',
    },
    options: resolveHost === undefined ? {} : { resolveHost },
  });

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';

test.each<[string, (socket: Socket) => void]>([
  ['before its headers', () => undefined],
  ['in the midst of its headers', (socket) => socket.write('HTTP/1.1 200 OK\r\nX-A: b')],
  ['in the midst of its body', (socket) => socket.write(`${OK}Content-Length: 100\r\n\r\nhalf`)],
  ['in the midst of a chunk', (socket) => socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n64\r\nhalf`)],
  [
    'in the midst of what it packed',
    (socket) => {
      const packed = gzipSync('x'.repeat(100_000));
      socket.write(`${OK}Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`);
      socket.write(packed.subarray(0, packed.length - 20));
    },
  ],
])('a server that stops %s is given up after the time, and at an abort', async (_, answer) => {
  const url = await socketServer(answer);
  const { failure } = await given();
  const error = await failure('http_fetch', { url, timeout: 0.1 });
  expect(error).toMatchObject({ code: 'timeout', retryable: true });
  const controller = new AbortController();
  const stopped = failure('get', { url }, { signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  expect((await stopped).code).toBe('cancelled');
});

test('a server that sends one byte after the other has no more time than another', async () => {
  const url = await socketServer((socket) => {
    socket.write(`${OK}\r\n`);
    const timer = setInterval(() => socket.write('x'), 5);
    socket.once('close', () => clearInterval(timer));
  });
  const { failure } = await given();
  expect((await failure('http_fetch', { url, timeout: 0.2 })).code).toBe('timeout');
});

test('a body without end is cut or refused, and not kept', async () => {
  let sent = 0;
  const url = await socketServer((socket) => {
    socket.write(`${OK}Content-Length: 1073741824\r\n\r\n`);
    const block = Buffer.alloc(65_536, 'x');
    const more = () => {
      while (!socket.destroyed && socket.write(block)) sent += block.length;
      socket.once('drain', more);
    };
    more();
  });
  const { call, failure } = await given();
  const before = process.memoryUsage().arrayBuffers;
  expect(await call('http_fetch', { url, max_bytes: 1000 })).toMatchObject({ cut: 'after 1000 bytes' });
  expect((await failure('get', { url })).code).toBe('output_too_large');
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test.each([
  ['gzip', gzipSync(Buffer.alloc(100_000_000, 'x'))],
  ['deflate', deflateSync(Buffer.alloc(100_000_000, 'x'))],
  ['br', brotliCompressSync(Buffer.alloc(100_000_000, 'x'))],
])(
  'a small body in %s that unpacks to a huge one is cut or refused, and not kept',
  async (encoding, packed) => {
    const url = await socketServer((socket) => {
      socket.write(`${OK}Content-Encoding: ${encoding}\r\nContent-Length: ${packed.length}\r\n\r\n`);
      socket.write(packed);
    });
    const { call, failure } = await given();
    const before = process.memoryUsage().arrayBuffers;
    expect(await call('http_fetch', { url, max_bytes: 1000 })).toMatchObject({ cut: 'after 1000 bytes' });
    expect((await failure('get', { url })).code).toBe('output_too_large');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  },
);

test.each<[string, string | Buffer, RegExp]>([
  ['less than it promised', `${OK}Content-Length: 100\r\n\r\nhalf`, /broke off after 4 bytes/],
  ['a chunk that is cut off', `${OK}Transfer-Encoding: chunked\r\n\r\n64\r\nhalf`, /broke off after 4 bytes/],
  [
    'what is not packed as it says',
    `${OK}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\ntext`,
    /broke off/,
  ],
  ['half a header', 'HTTP/1.1 200 OK\r\nX-A', /failed: socket hang up/],
  ['nothing', '', /failed: socket hang up/],
])('a server that sends %s and closes is a failure that may be tried again', async (_, bytes, words) => {
  const url = await socketServer((socket) => socket.end(bytes));
  const { failure } = await given();
  for (const tool of ['http_fetch', 'get']) {
    const error = await failure(tool, { url });
    expect(error).toMatchObject({ code: 'http_failed', retryable: true });
    expect(error.message).toMatch(words);
  }
});

test('what comes behind the length that a server gave is not part of the body', async () => {
  const url = await socketServer((socket) =>
    socket.end(`${OK}Content-Length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\n\r\nsmuggled`),
  );
  const { call } = await given();
  expect(await call('http_fetch', { url })).toMatchObject({ status: 200, body: 'body' });
  expect(await call('get', { url })).toBe('body');
});

test.each([
  ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['two lengths', `${OK}Content-Length: 4\r\nContent-Length: 5\r\n\r\nbodyx`],
  ['a length and chunks', `${OK}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a length below zero', `${OK}Content-Length: -4\r\n\r\nbody`],
  [
    'headers without end',
    `${OK}${'X-Flood: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n'.repeat(2_000)}\r\n`,
  ],
  ['one header without end', `${OK}X-Flood: ${'x'.repeat(200_000)}\r\n\r\n`],
])('a server that sends %s is a failure that lasts, and says so', async (_, bytes) => {
  const url = await socketServer((socket) => socket.end(bytes));
  const { failure } = await given();
  const error = await failure('http_fetch', { url });
  expect(error).toMatchObject({ code: 'http_failed', retryable: false });
  expect(error.hint).toContain('does not speak HTTP');
});

test('bytes that are no UTF-8 are shown as such, and another charset is read', async () => {
  const { port } = await httpServer(({ url }, response) => {
    if (url === '/latin') response.setHeader('content-type', 'text/plain; charset=iso-8859-1');
    if (url === '/json') response.setHeader('content-type', 'application/json');
    const bytes = [0x61, 0xe4, 0x62];
    response.end(Buffer.from(url === '/json' ? [0x22, ...bytes, 0x22] : bytes));
  });
  const { call } = await given();
  const get = (path: string) => call('get', { url: `http://127.0.0.1:${port}${path}` });
  expect([await get('/'), await get('/latin'), await get('/json')]).toEqual(['a�b', 'aäb', 'a�b']);
});

test('a body that should be JSON and is none is an error of the tool', async () => {
  const { port } = await httpServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"cut":');
  });
  const { failure, call } = await given();
  const url = `http://127.0.0.1:${port}/`;
  expect((await failure('get', { url })).code).toBe('bad_output');
  expect(await call('http_fetch', { url })).toMatchObject({ body: '{"cut":' });
});

test.each([
  ['http://169.254.169.254/latest/meta-data/', 'not_permitted'],
  ['http://[fe80::1]/', 'not_permitted'],
  ['//10.0.0.1/', 'not_permitted'],
  ['http://0x7f000001:1/', 'not_permitted'],
  ['http://inside.example.com/', 'not_permitted'],
  ['file:///etc/passwd', 'bad_parameters'],
  ['javascript:alert(1)', 'bad_parameters'],
  ['http://user:secret@elsewhere.example.com/', 'bad_parameters'],
  ['http://', 'bad_parameters'],
])('a redirect to %s is not followed', async (location, code) => {
  const { port } = await httpServer((_, response) => response.writeHead(302, { location }).end());
  // The first host is named, so that it may be on loopback; all others are permitted by the wildcard.
  const resolve: Resolver = async (host) => [
    { address: host === 'named.test' ? '127.0.0.1' : '192.168.1.1', family: 4 },
  ];
  const { failure } = await given(['named.test', '*'], resolve);
  for (const tool of ['http_fetch', 'get'])
    expect((await failure(tool, { url: `http://named.test:${port}/` })).code).toBe(code);
});

test('redirects in a circle end, whether between paths or between hosts', async () => {
  const one = await httpServer((_, response) =>
    response.writeHead(307, { location: `http://localhost:${two.port}/` }).end(),
  );
  const two = await httpServer((_, response) =>
    response.writeHead(308, { location: `http://127.0.0.1:${one.port}/` }).end(),
  );
  const { failure } = await given(['127.0.0.1', 'localhost']);
  const error = await failure('http_fetch', { url: `http://127.0.0.1:${one.port}/` });
  expect(error.message).toContain('more than 5 times');
  expect(one.seen.length + two.seen.length).toBe(6);
});

test('a redirect to another origin takes no header along that looks like a secret', async () => {
  const target = await httpServer((_, response) => response.end('ok'));
  const server = await httpServer((_, response) =>
    response.writeHead(307, { location: `http://localhost:${target.port}/` }).end(),
  );
  const { call } = await given(['localhost', '127.0.0.1']);
  await call('get', { url: `http://127.0.0.1:${server.port}/` });
  expect(server.seen[0]?.headers).toMatchObject({ 'x-api-key': 'k1', 'x-plain': 'p1' });
  expect(target.seen[0]?.headers).toMatchObject({ 'x-plain': 'p1' });
  expect(target.seen[0]?.headers).not.toHaveProperty('x-api-key');
  const secrets = [
    'Authorization',
    'Cookie',
    'Private-Token',
    'X-Auth',
    'X-Amz-Signature',
    'Api-Key',
    'X-Session-Id',
  ];
  const headers = Object.fromEntries(secrets.map((name) => [name, 's']));
  await call('http_fetch', { url: `http://127.0.0.1:${server.port}/`, method: 'POST', headers, body: 'b' });
  for (const name of secrets) expect(target.seen[1]?.headers, name).not.toHaveProperty(name.toLowerCase());
  expect(target.seen[1]).toMatchObject({
    method: 'POST',
    body: 'b',
    headers: { 'idempotency-key': 's1/a1' },
  });
});

test('a redirect within the origin keeps all headers', async () => {
  const server = await httpServer(({ url }, response) =>
    url === '/' ? response.writeHead(302, { location: '/next' }).end() : response.end('ok'),
  );
  const { call } = await given();
  await call('get', { url: `http://127.0.0.1:${server.port}/` });
  expect(server.seen[1]?.headers).toMatchObject({ 'x-api-key': 'k1' });
});

test('a redirect to https is another origin, and a server that speaks no TLS a failure that lasts', async () => {
  const plain = await socketServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), '');
  const { port } = await httpServer((_, response) =>
    response.writeHead(301, { location: plain.replace('http:', 'https:') }).end(),
  );
  const { failure } = await given();
  const error = await failure('http_fetch', { url: `http://127.0.0.1:${port}/` });
  expect(error).toMatchObject({ code: 'http_failed', retryable: false });
  expect(error.message).toContain('https://127.0.0.1');
});

test('a name that leads to a private address at the second look is refused then', async () => {
  const addresses = ['93.184.216.34', '127.0.0.1'];
  const resolve: Resolver = async () => [{ address: addresses.shift() ?? '', family: 4 }];
  const hosts = { check: () => 'public' as const, denies: () => false };
  const rules = { hosts, resolveHost: resolve };
  const look = () =>
    new Promise((done) =>
      checkConnection(rules, 'x.test', '80')('x.test', {}, (error, found) => done(error ?? found)),
    );
  expect(await look()).toBe('93.184.216.34');
  expect(await look()).toMatchObject({ code: 'not_permitted' });
});

test('the body of an http tool that streams is shown as it comes, whole characters only, unpacked', async () => {
  const { port } = await httpServer(async ({ url }, response) => {
    if (url === '/png') return response.setHeader('content-type', 'image/png').end('binary');
    const [first, second] = [Buffer.from('grü').subarray(0, 3), Buffer.from('ü\nende').subarray(1)];
    response.write(first);
    await new Promise((resolve) => setTimeout(resolve, 30));
    return response.end(second);
  });
  const { call, failure } = await given();
  const seen: unknown[] = [];
  const progress = (data: unknown) => void seen.push(data);
  expect(await call('get', { url: `http://127.0.0.1:${port}/` }, { progress })).toBe('grü\nende');
  expect(seen).toEqual([{ text: 'gr' }, { text: 'ü\nende' }]);
  await failure('get', { url: `http://127.0.0.1:${port}/png` }, { progress });
  expect(seen).toHaveLength(2);
});

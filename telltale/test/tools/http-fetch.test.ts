import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { privateKind } from '../../src/tools/access/addresses.ts';
import type { Resolver } from '../../src/tools/http/checked-lookup.ts';
import { agentTargets } from './agent-targets.ts';
import { httpServer } from './http-server.ts';

const given = (network: readonly string[], resolveHost?: Resolver) =>
  agentTargets({
    agent: `import: { tools: ["builtin:http_fetch"] }\npermissions: { network: ${JSON.stringify(network)} }`,
    options: resolveHost === undefined ? {} : { resolveHost },
  });

const to =
  (...addresses: readonly string[]): Resolver =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

test('JSON comes as a value, text as text, and any status is a result', async () => {
  const { port } = await httpServer(({ url }, response) => {
    if (url === '/json') response.setHeader('content-type', 'application/problem+json; charset=utf-8');
    response.statusCode = url === '/json' ? 200 : 404;
    response.end(url === '/json' ? '{"a":[1]}' : 'not here');
  });
  const { call } = await given(['127.0.0.1']);
  expect(await call('http_fetch', { url: `http://127.0.0.1:${port}/json` })).toMatchObject({
    status: 200,
    body: { a: [1] },
  });
  expect(await call('http_fetch', { url: `http://127.0.0.1:${port}/x` })).toMatchObject({
    status: 404,
    body: 'not here',
  });
});

test('method, headers and body are sent, with the idempotency key where something is changed', async () => {
  const server = await httpServer((_, response) => response.end());
  const { call } = await given(['localhost']);
  const url = `http://localhost:${server.port}/p?q=1`;
  await call('http_fetch', { url, method: 'POST', headers: { 'X-A': 'b' }, body: { n: 1 } });
  await call('http_fetch', { url, method: 'PUT', body: 'ä' });
  await call('http_fetch', { url });
  const [post, put, get] = server.seen;
  expect(post).toMatchObject({ method: 'POST', url: '/p?q=1', body: '{"n":1}' });
  expect(post?.headers).toMatchObject({
    'x-a': 'b',
    'content-type': 'application/json',
    'idempotency-key': 's1/a1',
  });
  expect(put).toMatchObject({ body: 'ä', headers: { 'content-length': '2' } });
  expect(get?.headers).not.toHaveProperty('idempotency-key');
});

test('only a request that changes nothing may be made again', async () => {
  const { tool } = await given([]);
  expect(tool('http_fetch').idempotentFor?.({ url: 'x' })).toBe(true);
  expect(tool('http_fetch').idempotentFor?.({ url: 'x', method: 'POST' })).toBe(false);
});

test('a host that is not named is not reached, and the remedy is told', async () => {
  const server = await httpServer((_, response) => response.end());
  const { failure } = await given(['example.com', '127.0.0.1:1', 'localhost:1']);
  for (const host of ['127.0.0.1', 'localhost', '127.0.0.2']) {
    const error = await failure('http_fetch', { url: `http://${host}:${server.port}/` });
    expect(error.code).toBe('not_permitted');
    expect(error.hint).toContain('permissions: { network }');
  }
  expect(server.seen).toHaveLength(0);
});

const PRIVATE_HOSTS = [
  '127.0.0.1',
  'localhost',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[0:0:0:0:0:ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '[fe80::1]',
  '[fd00::1]',
];

test('a wildcard permits no private address, however it is written', async () => {
  const server = await httpServer((_, response) => response.end('reached'));
  const { failure } = await given(['*']);
  for (const host of PRIVATE_HOSTS) {
    const error = await failure('http_fetch', { url: `http://${host}:${server.port}/` });
    expect(error.code, host).toBe('not_permitted');
    expect(error.message).toMatch(/(loopback|private|link-local|unspecified|shared|translated) address/);
  }
  expect(server.seen).toHaveLength(0);
});

test('case, a dot at the end and the scheme of an entry do not matter', async () => {
  const server = await httpServer((_, response) => response.end('ok'));
  const { call } = await given([`https://Named.Test.:${server.port}/path`], to('127.0.0.1'));
  for (const host of ['named.test', 'NAMED.TEST.'])
    expect(await call('http_fetch', { url: `http://${host}:${server.port}/` })).toMatchObject({ body: 'ok' });
});

test.each([['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['::ffff:192.168.1.1'], ['fe80::1%eth0']])(
  'a name that leads to %s is refused under a wildcard',
  async (...addresses) => {
    const server = await httpServer((_, response) => response.end('reached'));
    const { failure } = await given(['*.example.com'], to(...addresses));
    const error = await failure('http_fetch', { url: `http://evil.example.com:${server.port}/` });
    expect(error.code).toBe('not_permitted');
    expect(error.message).toContain('evil.example.com');
    expect(server.seen).toHaveLength(0);
  },
);

test('the address that was judged is the one that is connected to', async () => {
  const server = await httpServer((_, response) => response.end('here'));
  let asked = 0;
  const rebinding: Resolver = async () => {
    asked++;
    return [{ address: asked === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }];
  };
  const { call } = await given(['named.test'], rebinding);
  expect(await call('http_fetch', { url: `http://named.test:${server.port}/` })).toMatchObject({
    body: 'here',
  });
  expect(asked).toBe(1);
  expect(server.seen[0]?.headers.host).toBe(`named.test:${server.port}`);
});

test('public addresses are public, and nothing else is', () => {
  expect(
    ['93.184.216.34', '8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '2a00::5efe:8.8.8.8'].map(privateKind),
  ).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(
    [
      '127.255.255.254',
      '::ffff:10.1.1.1',
      '2002:7f00:1::',
      '::ffff:0:8.8.8.8',
      '2a00::5efe:10.1.1.1',
      'no address',
    ].filter((each) => privateKind(each) === undefined),
  ).toEqual([]);
});

const F = 'ffff';
const END = `${F}:${F}:${F}:${F}`;

/** What is not public: its kind, its first and its last address, and the public ones straight beside it. */
const RANGES: readonly (readonly [kind: string, first: string, last: string, beside: readonly string[]])[] = [
  ['an unspecified', '0.0.0.0', '0.255.255.255', ['1.0.0.0']],
  ['a private', '10.0.0.0', '10.255.255.255', ['9.255.255.255', '11.0.0.0']],
  ['a shared', '100.64.0.0', '100.127.255.255', ['100.63.255.255', '100.128.0.0']],
  ['a loopback', '127.0.0.0', '127.255.255.255', ['126.255.255.255', '128.0.0.0']],
  ['a link-local', '169.254.0.0', '169.254.255.255', ['169.253.255.255', '169.255.0.0']],
  ['a private', '172.16.0.0', '172.31.255.255', ['172.15.255.255', '172.32.0.0']],
  ['a reserved', '192.0.0.0', '192.0.0.255', ['191.255.255.255', '192.0.1.0']],
  ['a reserved', '192.0.2.0', '192.0.2.255', ['192.0.1.255', '192.0.3.0']],
  ['a private', '192.168.0.0', '192.168.255.255', ['192.167.255.255', '192.169.0.0']],
  ['a reserved', '198.18.0.0', '198.19.255.255', ['198.17.255.255', '198.20.0.0']],
  ['a reserved', '198.51.100.0', '198.51.100.255', ['198.51.99.255', '198.51.101.0']],
  ['a reserved', '203.0.113.0', '203.0.113.255', ['203.0.112.255', '203.0.114.0']],
  ['a multicast or reserved', '224.0.0.0', '255.255.255.255', ['223.255.255.255']],
  ['a loopback', '::1', '::1', []],
  ['an unspecified', '::2', `::${F}:${F}`, ['::1:0:0']],
  ['a translated', `::${F}:0:0:0`, `::${F}:0:${F}:${F}`, [`::fffe:${F}:${F}:${F}`, `::${F}:1:0:0`]],
  ['a translated', '192.88.99.0', '192.88.99.255', ['192.88.98.255', '192.88.100.0']],
  ['a translated', '64:ff9b::', `64:ff9b::${F}:${F}`, ['64:ff9b::1:0:0', `64:ff9a:${F}:${F}:${END}`]],
  ['a translated', '64:ff9b:1::', `64:ff9b:1:${F}:${END}`, [`64:ff9b:0:${F}:${END}`, '64:ff9b:2::']],
  ['a reserved', '100::', `100::${END}`, ['100:0:0:1::', `ff:${F}:${F}:${F}:${END}`]],
  ['a reserved', '2001::', `2001:1ff:${F}:${F}:${END}`, [`2000:${F}:${F}:${F}:${END}`, '2001:200::']],
  ['a reserved', '2001:db8::', `2001:db8:${F}:${F}:${END}`, [`2001:db7:${F}:${F}:${END}`, '2001:db9::']],
  ['a translated', '2002::', `2002:${F}:${F}:${F}:${END}`, [`2001:${F}:${F}:${F}:${END}`, '2003::']],
  ['a reserved', '3fff::', `3fff:fff:${F}:${F}:${END}`, [`3ffe:${F}:${F}:${F}:${END}`, '3fff:1000::']],
  ['a reserved', '5f00::', `5f00:${F}:${F}:${F}:${END}`, [`5eff:${F}:${F}:${F}:${END}`, '5f01::']],
  ['a private', 'fc00::', `fdff:${F}:${F}:${F}:${END}`, [`fbff:${F}:${F}:${F}:${END}`]],
  ['a link-local', 'fe80::', `febf:${F}:${F}:${F}:${END}`, []],
  ['a private', 'fec0::', `feff:${F}:${F}:${F}:${END}`, []],
  ['a multicast', 'ff00::', `${F}:${F}:${F}:${F}:${END}`, []],
];

test.each(RANGES)(
  '%s range reaches from %s to %s, and not one address further',
  (kind, first, last, beside) => {
    expect([first, last].map(privateKind)).toEqual([kind, kind]);
    for (const address of beside) expect(privateKind(address), address).toBeUndefined();
  },
);

test('a host with its port is permitted on that port only', async () => {
  const server = await httpServer((_, response) => response.end('ok'));
  const { call, failure } = await given([`127.0.0.1:${server.port}`]);
  expect(await call('http_fetch', { url: `http://127.0.0.1:${server.port}/` })).toMatchObject({ body: 'ok' });
  expect((await failure('http_fetch', { url: 'http://127.0.0.1/' })).code).toBe('not_permitted');
});

test('redirects are followed, each checked like the first', async () => {
  const target = await httpServer((_, response) => response.end('secret'));
  const server = await httpServer(({ url }, response) => {
    const where: Record<string, string> = {
      '/away': `http://127.0.0.1:${target.port}/`,
      '/file': 'file:///etc/passwd',
      '/loop': '/loop',
      '/one': '/two',
    };
    const location = where[url];
    if (location !== undefined) response.writeHead(302, { location });
    response.end(url);
  });
  const { call, failure } = await given([`localhost:${server.port}`]);
  const base = `http://localhost:${server.port}`;
  expect(await call('http_fetch', { url: `${base}/one` })).toMatchObject({
    body: '/two',
    url: `${base}/two`,
  });
  expect((await failure('http_fetch', { url: `${base}/away` })).code).toBe('not_permitted');
  expect((await failure('http_fetch', { url: `${base}/file` })).code).toBe('bad_parameters');
  expect((await failure('http_fetch', { url: `${base}/loop` })).message).toContain('more than 5 times');
  expect(target.seen).toHaveLength(0);
});

test.each([
  [301, 'POST', 'GET'],
  [302, 'POST', 'GET'],
  [303, 'POST', 'GET'],
  [303, 'PUT', 'GET'],
  [303, 'HEAD', 'HEAD'],
  [301, 'PUT', 'PUT'],
  [302, 'DELETE', 'DELETE'],
  [307, 'POST', 'POST'],
  [308, 'POST', 'POST'],
])(
  'a redirect with %d of a %s is followed by a %s, with the body only where the method stays',
  async (status, method, next) => {
    const server = await httpServer(({ url }, response) => {
      if (url === '/') response.writeHead(status, { location: '/next' });
      response.end('ok');
    });
    const { call } = await given([`localhost:${server.port}`]);
    const body = method === 'HEAD' ? {} : { body: 'text', headers: { 'content-type': 'text/x' } };
    await call('http_fetch', { url: `http://localhost:${server.port}/`, method, ...body });
    const [, second] = server.seen;
    const isKept = method === next && method !== 'HEAD';
    expect([second?.method, second?.body, second?.headers['content-type']]).toEqual([
      next,
      isKept ? 'text' : '',
      isKept ? 'text/x' : undefined,
    ]);
  },
);

test.each([304, 300, 305, 399])('%d is no redirect, wherever it points', async (status) => {
  const server = await httpServer((_, response) => response.writeHead(status, { location: '/next' }).end());
  const { call } = await given([`localhost:${server.port}`]);
  expect(await call('http_fetch', { url: `http://localhost:${server.port}/` })).toMatchObject({ status });
  expect(server.seen).toHaveLength(1);
});

test('a redirect to another origin does not take secrets along, and 303 becomes GET', async () => {
  const target = await httpServer((_, response) => response.end('ok'));
  const server = await httpServer((_, response) => {
    response.writeHead(303, { location: `http://localhost:${target.port}/` });
    response.end();
  });
  const { call } = await given(['localhost', '127.0.0.1']);
  await call('http_fetch', {
    url: `http://127.0.0.1:${server.port}/`,
    method: 'POST',
    headers: { Authorization: 'Bearer x', Cookie: 'a=b', 'X-Kept': '1' },
    body: 'text',
  });
  expect(server.seen[0]?.headers).toMatchObject({ authorization: 'Bearer x', cookie: 'a=b' });
  expect(target.seen[0]).toMatchObject({ method: 'GET', body: '', headers: { 'x-kept': '1' } });
  expect(target.seen[0]?.headers).not.toHaveProperty('authorization');
  expect(target.seen[0]?.headers).not.toHaveProperty('cookie');
  expect(target.seen[0]?.headers).not.toHaveProperty('content-length');
});

test('a body is cut at its limit, also one that unpacks to more', async () => {
  const server = await httpServer(({ url }, response) => {
    if (url === '/gzip') {
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync(Buffer.alloc(50_000_000, 'x')));
      return;
    }
    const more = () => {
      while (response.write('y'.repeat(65_536)));
      response.once('drain', more);
    };
    more();
  });
  const { call } = await given(['127.0.0.1']);
  const gzip = await call('http_fetch', { url: `http://127.0.0.1:${server.port}/gzip`, max_bytes: 1000 });
  expect(gzip).toMatchObject({ body: 'x'.repeat(1000), cut: 'after 1000 bytes' });
  const endless = await call('http_fetch', {
    url: `http://127.0.0.1:${server.port}/endless`,
    max_bytes: 1000,
  });
  expect(endless).toMatchObject({ body: 'y'.repeat(1000), cut: 'after 1000 bytes' });
});

test('an empty body is empty, even one that should have been packed', async () => {
  const server = await httpServer(({ url }, response) => {
    response.writeHead(Number(url.slice(1)), {
      'content-encoding': 'gzip',
      'content-type': 'application/json',
    });
    response.end();
  });
  const { call } = await given(['127.0.0.1']);
  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
    ['GET', 200],
  ] as const)
    expect(
      await call('http_fetch', { url: `http://127.0.0.1:${server.port}/${status}`, method }),
    ).toMatchObject({
      status,
      body: '',
    });
});

test('a body that is packed in an unknown way comes as it is', async () => {
  const server = await httpServer((_, response) => {
    response.setHeader('content-encoding', 'constructor');
    response.end('as it is');
  });
  const { call } = await given(['127.0.0.1']);
  expect(await call('http_fetch', { url: `http://127.0.0.1:${server.port}/` })).toMatchObject({
    body: 'as it is',
  });
});

test('what is no text is left out, and says so', async () => {
  const server = await httpServer((_, response) => response.end(new Uint8Array([1, 0, 2])));
  const { call } = await given(['127.0.0.1']);
  expect(await call('http_fetch', { url: `http://127.0.0.1:${server.port}/` })).toMatchObject({
    body: null,
    omitted: '3 bytes that are no text',
  });
});

test('a server that never answers is given up after the time, and at an abort', async () => {
  const server = await httpServer(() => undefined);
  const { failure } = await given(['127.0.0.1']);
  const url = `http://127.0.0.1:${server.port}/`;
  expect((await failure('http_fetch', { url, timeout: 0.05 })).code).toBe('timeout');
  const controller = new AbortController();
  const failed = failure('http_fetch', { url }, { signal: controller.signal });
  controller.abort();
  expect((await failed).code).toBe('cancelled');
});

test('a connection that breaks is a failure that may be tried again', async () => {
  const server = await httpServer(({ url }, response) => {
    if (url === '/half') {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    } else response.destroy();
  });
  const { failure } = await given(['127.0.0.1', 'gone.test'], async (host) => {
    throw new Error(`getaddrinfo ENOTFOUND ${host}`);
  });
  for (const url of [
    `http://127.0.0.1:${server.port}/`,
    `http://127.0.0.1:${server.port}/half`,
    'http://gone.test/',
  ]) {
    const error = await failure('http_fetch', { url });
    expect(error).toMatchObject({ code: 'http_failed', retryable: true });
  }
});

test.each([
  [{ url: 'no address' }, 'cannot be read'],
  [{ url: 'ftp://127.0.0.1/' }, 'not an http'],
  [{ url: 'http://user:pass@127.0.0.1/' }, 'a user name or a password'],
  [{ url: 'http://127.0.0.1/', headers: { Host: 'other' } }, 'is set by the client'],
  [{ url: 'http://127.0.0.1/', headers: { a: 'b\r\nHost: other' } }, 'not allowed in headers'],
  [{ url: 'http://127.0.0.1/', headers: { 'a b': 'c' } }, 'is not a valid header name'],
  [{ url: 'http://127.0.0.1/', method: 'GTE' }, 'not an allowed value'],
  [{}, '"url" is missing'],
])('%j is wrong', async (input, words) => {
  const { failure } = await given(['127.0.0.1']);
  const error = await failure('http_fetch', input);
  expect(error.code).toBe('bad_parameters');
  expect(error.message).toContain(words);
});

import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRateLimiter, remoteKey } from '../../../src/server/http/access.ts';
import { isTooDeep, jsonFault, refusePath } from '../../../src/server/http/read-body.ts';
import { codeOf, errorOf, openSocket, openStage, rawRequest, things } from './stage.ts';

describe('a body', () => {
  it('that is no JSON is 400, with the place', async () => {
    const { post, isAlive } = await openStage({ mount: things });
    for (const [body, found] of [
      ['{"a": 1', 'line 1, column 8: "," or "}" was expected'],
      ['{"a": 1,}', 'line 1, column 9: key was expected'],
      ["{\n  'a': 1}", 'line 2, column 3: key or "}" was expected'],
      ['[1 2]', 'line 1, column 4: "," or "]" was expected'],
      ['{} x', 'line 1, column 4: nothing more was expected'],
      ['nul', 'line 1, column 1: value was expected'],
      ['{"a": 01}', 'line 1, column 7: value was expected'],
      ['"\u0001"', 'line 1, column 1: value was expected'],
      ['[1,2', 'line 1, column 5: "," or "]" was expected'],
      ['{"a": [1e999]}', 'a number in it is beyond 1.8e308'],
    ]) {
      const answer = await post('/things', body);
      expect(answer.status).toBe(400);
      expect(await errorOf(answer)).toMatchObject({
        code: 'bad_json',
        message: `The body is not JSON: ${found}.`,
      });
    }
    expect(await isAlive()).toBe(true);
  });

  it('of another type, compressed, or not UTF-8 is refused', async () => {
    const { server, ask } = await openStage({ mount: things });
    const send = async (headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>) => {
      const answer = await ask('/things', { method: 'POST', headers, body });
      return [answer.status, await codeOf(answer)];
    };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'text/json'])
      expect(await send({ 'content-type': type }, '{}')).toEqual([415, 'wrong_media_type']);
    expect(await send({ 'content-type': 'application/json', 'content-encoding': 'gzip' }, 'x')).toEqual([
      415,
      'wrong_media_type',
    ]);
    expect(await send({ 'content-type': 'application/json' }, new Uint8Array([34, 255, 34]))).toEqual([
      400,
      'bad_json',
    ]);
    const untyped = await rawRequest(server, '/things', { method: 'POST', body: '{}' });
    expect([untyped.status, await codeOf(untyped)]).toEqual([415, 'wrong_media_type']);
    for (const type of [
      'application/json',
      'Application/JSON; charset=utf-8',
      'application/cloudevents+json',
    ]) {
      const answer = await ask('/things', { method: 'POST', headers: { 'content-type': type }, body: '{}' });
      expect(answer.status).toBe(201);
    }
  });

  it('that is nested too deep is refused before it is built', async () => {
    const { post } = await openStage({ mount: things });
    expect((await post('/things', '['.repeat(200) + ']'.repeat(200))).status).toBe(201);
    const deep = await post('/things', '['.repeat(201) + ']'.repeat(201));
    expect([deep.status, await codeOf(deep)]).toEqual([400, 'bad_json']);
    expect((await post('/things', '['.repeat(500_000))).status).toBe(400);
    expect(
      (await post('/things', JSON.stringify(`${'['.repeat(1_000)}\\"${'{'.repeat(1_000)}`))).status,
    ).toBe(201);
  });

  it('that is too large by its own word is 413 before any of it is read', async () => {
    const { server, token, isAlive } = await openStage({ mount: things, limits: { bodyBytes: 1_000 } });
    const { socket, closed } = await openSocket(server);
    socket.write(
      `POST /things HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\nexpect: 100-continue\r\n\r\n`,
    );
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(0);
    socket.end();
    const told = await closed;
    expect(told).toMatch(/^HTTP\/1\.1 413 /);
    expect(told).toContain('"body_too_large"');
    expect(told).not.toContain('100 Continue');
    expect(await isAlive()).toBe(true);
  });

  it('that is too large is told so to a client that sends all of it first', async () => {
    const { post, isAlive } = await openStage({ mount: things });
    const large = JSON.stringify('x'.repeat(8_000_000));
    for (let n = 0; n < 3; n++) {
      const refused = await post('/things', large);
      expect([refused.status, await codeOf(refused)]).toEqual([413, 'body_too_large']);
    }
    expect(await isAlive()).toBe(true);
  });

  it('that a client asks leave for is asked for', async () => {
    const { server, token } = await openStage({ mount: things });
    const { socket, closed } = await openSocket(server);
    socket.write(
      `POST /things HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n`,
    );
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(0);
    socket.write('{}');
    const told = await closed;
    expect(told).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  });

  it('that grows too large while it comes in chunks is 413, and the connection ends', async () => {
    const { server, token, isAlive } = await openStage({ mount: things, limits: { bodyBytes: 10_000 } });
    const { socket, closed } = await openSocket(server);
    socket.write(
      `POST /things HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`;
    const flood = setInterval(() => socket.write(chunk), 1);
    const told = await closed.finally(() => clearInterval(flood));
    expect(told).toMatch(/^HTTP\/1\.1 413 /);
    expect(told).toContain('The body has more than 10000 bytes.');
    expect(await isAlive()).toBe(true);
  });

  it('that breaks off in the middle is nobody’s failure', async () => {
    const { server, token, isAlive, errors } = await openStage({ mount: things });
    const { socket } = await openSocket(server);
    socket.write(
      `POST /things HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a"`,
    );
    socket.destroy();
    expect(await isAlive()).toBe(true);
    expect(errors).toEqual([]);
  });
});

describe('a head', () => {
  const QUICK = { headersMs: 300, requestMs: 600, checkMs: 20 };

  it('that trickles is cut off in time, and others are served meanwhile', async () => {
    const { server, isAlive } = await openStage({ limits: QUICK });
    const { socket, closed } = await openSocket(server);
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n');
    const trickle = setInterval(() => socket.write('x-more: 1\r\n'), 10);
    await expect.poll(isAlive).toBe(true);
    const told = await closed.finally(() => clearInterval(trickle));
    expect(told).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(told).toContain('"request_timeout"');
    await expect.poll(isAlive).toBe(true);
  });

  it('with a body that trickles is cut off, too', async () => {
    const { server, token, isAlive, errors } = await openStage({ mount: things, limits: QUICK });
    const { socket, closed } = await openSocket(server);
    socket.write(
      `POST /things HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n`,
    );
    const trickle = setInterval(() => socket.write(' '), 10);
    expect(await closed.finally(() => clearInterval(trickle))).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
    await expect.poll(isAlive).toBe(true);
    expect(errors).toEqual([]);
  });

  it('that is a flood is 431: by its bytes, and by its lines', async () => {
    const { server, isAlive } = await openStage();
    const { socket, closed } = await openSocket(server);
    socket.write(`GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`);
    const told = await closed;
    expect(told).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    expect(told).toContain('"headers_too_large"');
    expect(told).toContain('x-content-type-options: nosniff');
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`x-${n}`, '1']));
    const refused = await rawRequest(server, '/healthz', { headers: many });
    expect(refused.status).toBe(431);
    expect(JSON.parse(refused.text)).toMatchObject({
      error: { code: 'headers_too_large', message: expect.stringContaining('lines') },
    });
    expect(await isAlive()).toBe(true);
  });

  it.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000'],
    [
      'two lengths',
      'POST /things HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST /things HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n'],
    ['a line of its own in a header', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: a\u0000b\r\n\r\n'],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n'],
  ])('with %s is 400', async (_name, text) => {
    const { server, isAlive } = await openStage({ mount: things });
    const { socket, closed } = await openSocket(server);
    socket.write(text, 'latin1');
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(0);
    socket.end();
    const told = await closed;
    expect(told).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(told).toMatch(/\{"error":\{"code":"bad_(?:request|url)",/);
    expect(await isAlive()).toBe(true);
  });

  it('of a tunnel, or an upgrade to what is not spoken, harms nothing', async () => {
    const { server, isAlive } = await openStage();
    for (const text of [
      'CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n',
    ]) {
      const { socket, closed } = await openSocket(server);
      socket.write(text);
      socket.end();
      await closed;
    }
    expect(await isAlive()).toBe(true);
  });
});

it('thousands of connections that ask nothing are closed, and others are served meanwhile', async () => {
  const { server, isAlive } = await openStage({ limits: { headersMs: 500, checkMs: 50 } });
  const sockets: Socket[] = [];
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  let closed = 0;
  for (let n = 0; n < 2_000; n++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.on('close', () => closed++);
    socket.resume();
    sockets.push(socket);
    if (n % 100 === 99) await new Promise((resolve) => socket.once('connect', resolve));
  }
  await expect.poll(isAlive).toBe(true);
  await expect.poll(() => closed).toBe(2_000);
  await expect.poll(isAlive).toBe(true);
});

it('a client that never reads its answer is let go of', async () => {
  const served: Socket[] = [];
  const { server, token, isAlive } = await openStage({
    limits: { stalledMs: 100 },
    mount: (app) =>
      app.get('/huge', (c) => {
        served.push(c.env.incoming.socket);
        return c.text('x'.repeat(30_000_000));
      }),
  });
  const { socket } = await openSocket(server);
  socket.pause();
  socket.write(`GET /huge HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`);
  await expect.poll(() => served[0]?.destroyed).toBe(true);
  expect(await isAlive()).toBe(true);
});

describe('what decides', () => {
  it('finds the fault of what is no JSON, and none before it', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', ',', '}', ']', '"', 'x', '01', '\\', ':'),
        (json, at, cut) => {
          const place = at % (json.length + 1);
          const broken = json.slice(0, place) + cut;
          let isJson = true;
          try {
            JSON.parse(broken);
          } catch {
            isJson = false;
          }
          const { line, column, wanted } = jsonFault(broken);
          const lines = broken.split('\n');
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
          const isAtEnd = line === lines.length && column === (lines.at(-1)?.length ?? 0) + 1;
          // All of it was read, and nothing more was wanted: that is JSON, and nothing else is.
          expect(isAtEnd && wanted === 'nothing more').toBe(isJson);
        },
      ),
    );
  });

  it('counts as deep as a walk over the value does', () => {
    const depth = (value: unknown): number =>
      typeof value !== 'object' || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depth));
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const bytes = Buffer.from(JSON.stringify(value));
        const deep = depth(value);
        expect(isTooDeep(bytes, deep)).toBe(false);
        if (deep > 0) expect(isTooDeep(bytes, deep - 1)).toBe(true);
      }),
    );
  });

  it('lets every name through that is encoded once, and nothing that leads elsewhere', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
        const isPlain = !/[\u0000-\u001f\u007f/\\]|^\.{1,2}$|%[0-9a-f]{2}/i.test(name);
        if (/\p{Surrogate}/u.test(name)) return;
        expect(refusePath(`/things/${encodeURIComponent(name)}`) === undefined).toBe(isPlain);
      }),
    );
  });

  it('gives a key its burst, then its rate, and remembers so many keys', () => {
    const limiter = createRateLimiter({ perSecond: 10, burst: 3 }, 2);
    expect([0, 0, 0, 0].map((now) => limiter.take('a', now))).toEqual([0, 0, 0, 100]);
    expect(limiter.wait('a', 50)).toBe(50);
    expect(limiter.take('a', 100)).toBe(0);
    expect(limiter.take('a', 100)).toBe(100);
    limiter.take('b', 100);
    limiter.take('c', 100);
    expect(limiter.size).toBe(2);
    expect(limiter.take('a', 100)).toBe(0);
    expect([1, 2, 3, 4].map(() => limiter.take('d', 1e9))).toEqual([0, 0, 0, 100]);
  });

  it('takes a household of IPv6 for one, and an IPv4 address for itself', () => {
    expect(remoteKey('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2');
    expect(remoteKey('2001:db8::6')).toBe('2001:db8:0:0');
    expect(remoteKey('fe80::1%eth0')).toBe('fe80:0:0:0');
    expect(remoteKey('::1')).toBe('0:0:0:0');
    expect(remoteKey('::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(remoteKey('10.0.0.1')).toBe('10.0.0.1');
  });
});

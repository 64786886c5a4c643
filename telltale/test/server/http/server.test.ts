import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { createRoute, z } from '@hono/zod-openapi';
import { afterAll, describe, expect, it } from 'vitest';
import { RuntimeError } from '../../../src/lib/errors.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { createTokens } from '../../../src/server/auth/tokens.ts';
import type { Mount } from '../../../src/server/create-server.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { storeFailed } from '../../../src/store/sqlite/sqlite-errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { bearer, codeOf, deferred, errorOf, openSocket, openStage, rawRequest, things } from './stage.ts';

const throwing =
  (thrown: unknown): Mount =>
  (app) => {
    app.get('/fail', () => {
      throw thrown;
    });
  };

describe('routes', () => {
  it('are served as they were mounted, with who calls', async () => {
    const { ask, post, isAlive } = await openStage({ mount: things });
    expect(await (await ask('/things')).json()).toEqual({
      caller: { name: 'stage', by: 'user:stage', role: 'admin' },
    });
    const made = await post('/things', { a: 1 });
    expect([made.status, await made.json()]).toEqual([201, { body: { a: 1 } }]);
    expect((await ask('/things/1', { method: 'DELETE' })).status).toBe(204);
    expect((await ask('/things', { method: 'HEAD' })).status).toBe(200);
    expect(await isAlive()).toBe(true);
  });

  it('that are not there are 404 with the nearest, and 405 says which methods there are', async () => {
    const { ask } = await openStage({ mount: things });
    const unknown = await ask('/thngs');
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({
      error: {
        code: 'route_unknown',
        message: 'There is no route /thngs.',
        hint: 'Did you mean /things? GET /openapi.json lists all routes.',
        retryable: false,
      },
    });
    expect((await errorOf(await ask('/thing/abc'))).hint).toContain('/things/abc');
    expect((await errorOf(await ask('/things/'))).hint).toContain('/things?');
    for (const prefixed of ['/api/things', '/api/v1/things'])
      expect((await errorOf(await ask(prefixed))).hint).toContain('Did you mean /things?');
    expect((await errorOf(await ask('/api/things/abc'))).hint).toContain('Did you mean /things/abc?');
    expect((await errorOf(await ask('/other/abc'))).hint).not.toContain('Did you mean');
    const wrong = await ask('/things/1', { method: 'PUT' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE']);
    expect(await codeOf(wrong)).toBe('method_not_allowed');
    expect(await codeOf(await ask('/'))).toBe('route_unknown');
  });

  it('check what they are given by their schemas, and say what does not fit', async () => {
    const route = createRoute({
      method: 'post',
      path: '/typed',
      request: {
        body: { required: true, content: { 'application/json': { schema: z.object({ n: z.number() }) } } },
      },
      responses: { 200: { description: 'ok' } },
    });
    const mount: Mount = (app) => {
      app.openapi(route, (c) => c.json(c.req.valid('json')));
    };
    const { post } = await openStage({ mount });
    expect(await (await post('/typed', { n: 1 })).json()).toEqual({ n: 1 });
    const refused = await post('/typed', { n: 'x' });
    expect(refused.status).toBe(400);
    expect(await errorOf(refused)).toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(/json does not fit: n: .*expected number/),
    });
  });

  it('may answer on the bare response, with the headers of every answer', async () => {
    const mount: Mount = (app) => {
      app.get('/stream', (c) => {
        c.env.outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
        c.env.outgoing.end('data: 1\n\n');
        return RESPONSE_ALREADY_SENT;
      });
    };
    const { ask } = await openStage({ mount });
    const stream = await ask('/stream');
    expect(await stream.text()).toBe('data: 1\n\n');
    expect(stream.headers.get('cache-control')).toBe('no-cache');
    expect(stream.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('errors', () => {
  it.each([
    ['session_unknown', 404],
    ['review_answered', 409],
    ['stream_owned', 409],
    ['bad_input', 422],
    ['model_key_missing', 422],
    ['not_permitted', 403],
    ['message_too_large', 413],
    ['store_closed', 503],
    ['bad_cursor', 400],
  ])('%s is %i', async (code, status) => {
    const error = new RuntimeError(code, 'Found.', { hint: 'Do.', cause: new Error('/secret/path') });
    const { ask } = await openStage({ mount: throwing(error) });
    const answer = await ask('/fail');
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({
      error: { code, message: 'Found.', hint: 'Do.', retryable: false },
    });
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '2' : null);
  });

  it('of our own making are 500 with an id that leads to the reason, and nothing of the inside', async () => {
    const { ask, errors } = await openStage({ mount: throwing(new TypeError('x of undefined at /home/me')) });
    const answer = await ask('/fail');
    const text = await answer.text();
    expect(answer.status).toBe(500);
    const id = /err_\w+/.exec(text)?.[0];
    expect(text).not.toContain('undefined');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ message: `A request failed (${id}).`, cause: expect.any(TypeError) });
  });

  it('that are no Error at all are 500, too', async () => {
    const { ask } = await openStage({ mount: throwing('just words') });
    const answer = await ask('/fail');
    expect([answer.status, await codeOf(answer)]).toEqual([500, 'internal']);
  });

  it('a store that goes away is 503, the server lives, and is not ready', async () => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    let isGone = false;
    const gone = async () => {
      if (isGone) throw storeFailed('/data/telltale.db', 'the disk is gone');
    };
    const { get, exchange } = store.tables;
    const failing: Store = {
      ...store,
      tables: {
        ...store.tables,
        get: async (...args) => gone().then(() => get(...args)),
        exchange: async (...args) => gone().then(() => exchange(...args)),
      },
    };
    const mount: Mount = (app, { runtime }) => {
      app.get('/read', async (c) => c.json({ value: (await runtime.store.tables.get('t', 'k')) ?? null }));
      app.post('/write', (c) => c.json({}));
    };
    const { ask, post, isAlive, deps, errors } = await openStage({ store: failing, clock, mount });
    const { token } = await deps.tokens.create('ann', 'run');
    expect((await ask('/readyz')).status).toBe(200);
    isGone = true;
    const read = await ask('/read');
    expect([read.status, await codeOf(read)]).toEqual([503, 'store_failed']);
    expect(errors).toMatchObject([{ code: 'store_failed' }]);
    const withToken = await ask('/things', { headers: bearer(token) });
    expect([withToken.status, await codeOf(withToken)]).toEqual([503, 'store_failed']);
    const once = await post('/write', {}, { 'idempotency-key': 'k' });
    expect([once.status, await codeOf(once)]).toEqual([503, 'store_failed']);
    await clock.advance(1_000);
    expect(await (await ask('/readyz')).text()).toContain('store_failed');
    expect(await isAlive()).toBe(true);
    isGone = false;
    expect((await ask('/read')).status).toBe(200);
  });
});

describe('the console', () => {
  const home = mkdtempSync(join(tmpdir(), 'telltale-web-'));
  const web = join(home, 'web');
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const script = `console.log(${JSON.stringify('telltale '.repeat(500))});`;
  mkdirSync(join(web, 'assets'), { recursive: true });
  writeFileSync(join(web, 'index.html'), '<!doctype html><title>Telltale</title>');
  writeFileSync(join(web, 'assets', 'index-BX3k_9aQ.js'), script);
  writeFileSync(join(web, 'icon.svg'), '<svg/>');
  writeFileSync(join(home, 'telltale-outside.txt'), 'secret');

  it('is served compressed, for ever where its name has a hash', async () => {
    const { server } = await openStage({ web });
    const path = '/assets/index-BX3k_9aQ.js';
    const get = (accept: string) => fetch(`${server.url}${path}`, { headers: { 'accept-encoding': accept } });
    const plain = await get('identity');
    expect(await plain.text()).toBe(script);
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(plain.headers.get('vary')).toBe('accept-encoding');
    for (const [accept, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['gzip, br;q=0', 'gzip'],
      ['br;q=0.5', 'br'],
    ]) {
      const answer = await get(accept as string);
      expect([answer.headers.get('content-encoding'), await answer.text()]).toEqual([encoding, script]);
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(script.length / 2);
    }
  });

  it('has a page that is asked for anew, and costs nothing while it is the same', async () => {
    const { ask } = await openStage({ web });
    const page = await ask('/');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const etag = page.headers.get('etag') ?? '';
    const same = await ask('/index.html', { headers: { 'if-none-match': `"x", W/${etag}` } });
    expect([same.status, await same.text(), same.headers.get('etag')]).toEqual([304, '', etag]);
    expect((await ask('/', { headers: { 'if-none-match': '"x"' } })).status).toBe(200);
    expect((await ask('/', { headers: { 'if-none-match': ' * ' } })).status).toBe(304);
    const head = await ask('/icon.svg', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('content-type')]).toEqual([
      200,
      '6',
      'image/svg+xml',
    ]);
  });

  it('needs no token, and runs nothing but its own scripts', async () => {
    const store = createMemoryStore({ clock: createSimulatedClock() });
    await createTokens(store, createSimulatedClock()).create('ann', 'read');
    const { ask } = await openStage({ web, store });
    const page = await ask('/');
    expect(page.status).toBe(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'self'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "base-uri 'none'",
        "connect-src 'self'",
      ]),
    );
    expect(policy).not.toContain('unsafe');
    for (const [name, value] of [
      ['x-content-type-options', 'nosniff'],
      ['referrer-policy', 'no-referrer'],
      ['cross-origin-opener-policy', 'same-origin'],
      ['cross-origin-resource-policy', 'same-origin'],
    ])
      expect(page.headers.get(name as string)).toBe(value);
    expect(page.headers.get('permissions-policy')).toContain('camera=()');
  });

  it('gives no file that is not its own, whatever the path', async () => {
    const { server, isAlive } = await openStage({ web, mount: things });
    const tricks = [
      '/../telltale-outside.txt',
      '/assets/../../telltale-outside.txt',
      '/%2e%2e/telltale-outside.txt',
      '/..%2ftelltale-outside.txt',
      '/..%5ctelltale-outside.txt',
      '/..\\telltale-outside.txt',
      '/%252e%252e%252ftelltale-outside.txt',
      '/index.html%00.js',
      '/%c0%ae%c0%ae/telltale-outside.txt',
      '/%zz',
      '//etc/passwd',
      '/etc/passwd',
      'http://127.0.0.1/etc/passwd',
      '/./index.html',
      '/things/a%2fb',
      `/${'x'.repeat(5_000)}`,
    ];
    for (const path of tricks) {
      const answer = await rawRequest(server, path);
      expect([path, answer.text.includes('secret')]).toEqual([path, false]);
      expect([400, 404, 414]).toContain(answer.status);
      expect(await codeOf(answer)).toMatch(/^(?:bad_url|route_unknown|url_too_long)$/);
    }
    const fine = await rawRequest(server, '/things/a%20%C3%A9?x=%2f..%00');
    expect(JSON.parse(fine.text)).toEqual({ id: 'a é' });
    expect(await isAlive()).toBe(true);
  });
});

describe('other sites', () => {
  it('cannot have a browser talk to this machine under a name of their own', async () => {
    const { server } = await openStage({ mount: things, allowHosts: ['Hooks.example.com'] });
    const status = async (host: string) =>
      (await rawRequest(server, '/things', { headers: { host } })).status;
    for (const host of [
      'localhost',
      'LOCALHOST:99',
      '127.0.0.1:4800',
      '127.9.9.9',
      '[::1]:1',
      'hooks.example.com',
    ])
      expect([host, await status(host)]).toEqual([host, 200]);
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '192.168.1.1'])
      expect([host, await status(host)]).toEqual([host, 403]);
    for (const host of ['a@localhost', 'localhost/x', 'localhost:80:80'])
      expect([host, await status(host)]).toEqual([host, 400]);
    const refused = await rawRequest(server, '/healthz', { headers: { host: 'evil.example' } });
    expect(await codeOf(refused)).toBe('host_refused');
  });

  it('reach a server that is not for this machine only by its address or a name that it was given', async () => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    await createTokens(store, clock).create('ann', 'read');
    const { server } = await openStage({ store, host: '0.0.0.0', allowHosts: ['box.example'] });
    const status = async (host: string) =>
      (await rawRequest(server, '/healthz', { headers: { host } })).status;
    for (const host of ['192.168.1.7:4800', '[fe80::1]', 'box.example', 'localhost'])
      expect([host, await status(host)]).toEqual([host, 200]);
    expect(await status('evil.example')).toBe(403);
  });

  it('can change nothing and are let see nothing', async () => {
    const { server, ask, post } = await openStage({ mount: things });
    for (const origin of [
      'https://evil.example',
      'null',
      'http://127.0.0.1:1',
      'http://localhost.evil.example',
    ]) {
      const refused = await post('/things', {}, { origin });
      expect([refused.status, await codeOf(refused)]).toEqual([403, 'origin_refused']);
      expect(
        (await ask('/things', { headers: { origin } })).headers.get('access-control-allow-origin'),
      ).toBeNull();
    }
    const preflight = await ask('/things', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    expect((await post('/things', {}, { origin: server.url })).status).toBe(201);
    const formed = await rawRequest(server, '/things', {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site', 'content-type': 'application/json' },
      body: '{}',
    });
    expect(formed.status).toBe(403);
  });

  it('that were named may use it, after asking', async () => {
    const origin = 'https://app.example.com';
    const { ask, post } = await openStage({ mount: things, origins: [origin] });
    const preflight = await ask('/things', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization, content-type');
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const made = await post('/things', {}, { origin });
    expect([made.status, made.headers.get('access-control-allow-origin'), made.headers.get('vary')]).toEqual([
      201,
      origin,
      'origin',
    ]);
    expect((await ask('/nothing', { headers: { origin } })).headers.get('access-control-allow-origin')).toBe(
      origin,
    );
    expect((await post('/things', {}, { origin: 'https://evil.example' })).status).toBe(403);
    expect(made.headers.get('access-control-expose-headers')).toContain('x-telltale-session');
  });

  it('that were not named get no leave where others were, and neither does what asks for none', async () => {
    const origin = 'https://app.example.com';
    const { ask } = await openStage({ mount: things, origins: [origin] });
    const leave = async (headers: Record<string, string>, method = 'GET') => {
      const answer = await ask('/things', { method, headers });
      return [answer.status, answer.headers.get('access-control-allow-origin'), answer.headers.get('vary')];
    };
    for (const other of ['https://evil.example', 'https://app.example.com.evil.example', 'null'])
      expect(await leave({ origin: other })).toEqual([200, null, 'origin']);
    expect(await leave({})).toEqual([200, null, 'origin']);
    const preflight = { 'access-control-request-method': 'POST' };
    expect((await leave({ ...preflight, origin: 'https://evil.example' }, 'OPTIONS')).slice(0, 2)).toEqual([
      403,
      null,
    ]);
    expect(await leave({ ...preflight, origin }, 'OPTIONS')).toEqual([204, origin, 'origin']);
    // No preflight, though it comes from there: a request like others.
    expect((await leave({ origin }, 'OPTIONS'))[0]).toBe(405);
    expect(await leave({ ...preflight, origin })).toEqual([200, origin, 'origin']);
  });

  it('are named as people write them, and not by what no browser sends', async () => {
    const { post } = await openStage({ mount: things, origins: ['HTTPS://App.example.com/'] });
    expect((await post('/things', {}, { origin: 'https://app.example.com' })).status).toBe(201);
    for (const bad of [
      'app.example.com',
      'https://app.example.com/page',
      'https://app.example.com/?q',
      'https://app.example.com/#x',
      'https://ann@app.example.com',
      'ftp://app.example.com',
      'xhttp://app.example.com',
      '*',
      'null',
    ])
      await expect(openStage({ origins: [bad] })).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringContaining(bad),
        hint: expect.stringContaining('https://'),
      });
    for (const bad of ['https://agents.example.com', 'agents.example.com:443', '*'])
      await expect(openStage({ allowHosts: [bad] })).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('starting and closing', () => {
  it('an address that is taken is said so', async () => {
    const other = createTcpServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    await expect(openStage({ port })).rejects.toMatchObject({
      code: 'cannot_listen',
      message: `Nothing can be served at 127.0.0.1:${port} (EADDRINUSE).`,
    });
    other.close();
  });

  it('is alive from the start, and ready once nothing is in the way', async () => {
    let reason: string | undefined = 'recovering';
    const { ask } = await openStage({ notReady: () => reason, metrics: () => 'up 1\n' });
    expect(await (await ask('/healthz')).json()).toMatchObject({ status: 'ok', version: '1.2.3' });
    const starting = await ask('/readyz');
    expect([starting.status, await starting.json()]).toEqual([503, { ready: false, reason: 'recovering' }]);
    reason = undefined;
    const ready = await ask('/readyz');
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true }]);
    expect(await (await ask('/metrics')).text()).toBe('up 1\n');
  });

  it('draining, it is not ready, takes nothing new, ends streams, and lets what is in hand end', async () => {
    const order: string[] = [];
    const gate = deferred();
    const started = deferred();
    const mount: Mount = (app, { closing }) => {
      app.post('/slow', async (c) => {
        closing.addEventListener('abort', () => order.push('told'));
        started.resolve();
        await gate.promise;
        return c.json({ done: true });
      });
      app.get('/things', (c) => c.json([]));
    };
    const streams = { clients: 0, close: async () => void order.push('streams') } as never;
    const { server, ask, post } = await openStage({ mount, streams });
    const slow = post('/slow', {});
    await started.promise;
    const drained = server.drain().then(() => order.push('drained'));
    const ready = await ask('/readyz');
    expect([ready.status, await ready.json()]).toEqual([503, { ready: false, reason: 'closing' }]);
    const refused = await post('/slow', {});
    expect([refused.status, refused.headers.get('connection'), refused.headers.get('retry-after')]).toEqual([
      503,
      'close',
      '2',
    ]);
    expect(await codeOf(refused)).toBe('closing');
    const read = await ask('/things');
    expect([read.status, read.headers.get('connection')]).toEqual([200, 'close']);
    expect(order).toEqual(['told', 'streams']);
    gate.resolve();
    const answer = await slow;
    expect([await answer.json(), answer.headers.get('connection')]).toEqual([{ done: true }, 'close']);
    await drained;
    await server.close();
    await expect(ask('/healthz')).rejects.toThrow();
  });

  it('waits for what is in hand no longer than it was told, and closes whatever is open', async () => {
    const started = deferred();
    const mount: Mount = (app) => {
      app.post('/never', () => {
        started.resolve();
        return new Promise<never>(() => undefined);
      });
    };
    const { server, post } = await openStage({ mount, limits: { drainMs: 20 } });
    const { closed } = await openSocket(server);
    const never = post('/never', {}).catch(() => 'cut');
    await started.promise;
    await server.drain();
    await server.close();
    expect(await never).toBe('cut');
    await closed;
  });
});

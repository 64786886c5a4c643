import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { createRelicUrl } from '../../src/tools/relics/http/http-relic.ts';
import { moreRuns } from '../more-runs.ts';
import { freePort } from '../servers/free-port.ts';
import { type AgentTargets, agentTargets } from './agent-targets.ts';
import { httpServer, type SeenRequest } from './http-server.ts';

const json = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
const echo = (request: SeenRequest, response: ServerResponse) => json(response, 200, request.url);

const given = (connection: string): Promise<AgentTargets> =>
  agentTargets({
    // No `permissions.network`: the address in the relic's manifest is permission enough.
    agent: 'import: { relics: [./api.yml] }',
    files: { 'api.yml': `kind: Relic\nname: api\ndriver: http\nconnection: ${connection}\n` },
  });

async function service(answer = echo, path = '/v1') {
  const server = await httpServer(answer);
  const base = `http://127.0.0.1:${server.port}${path}`;
  return { ...server, base, ...(await given(base)) };
}

describe('an http relic', () => {
  test('reads below its address, on loopback too; get is its default', async () => {
    const { call, seen } = await service();
    expect(await call('api', { path: 'items/7' })).toMatchObject({ status: 200, body: '/v1/items/7' });
    expect(await call('api', { path: '/items' })).toMatchObject({ body: '/v1/items' });
    expect(await call('api', {})).toMatchObject({ body: '/v1' });
    expect(
      await call('api', {
        operation: 'get',
        path: 'a?x=1',
        query: { q: 'ä &=', list: [1, true], none: null },
      }),
    ).toMatchObject({ body: '/v1/a?x=1&q=%C3%A4+%26%3D&list=1&list=true' });
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'GET']);
  });

  test('sends values as JSON and texts as they are, with the key of the action', async () => {
    const { call, seen } = await service();
    await call('api', { operation: 'post', path: 'items', body: { a: 1 } });
    await call('api', {
      operation: 'put',
      path: 'items/1',
      body: 'text',
      headers: { 'Content-Type': 'text/x' },
    });
    await call('api', { operation: 'patch', path: 'items/1', body: [1] });
    await call('api', { operation: 'delete', path: 'items/1' });
    await call('api', { operation: 'request', method: 'OPTIONS', path: 'items' });
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"a":1}'],
      ['PUT', 'text'],
      ['PATCH', '[1]'],
      ['DELETE', ''],
      ['OPTIONS', ''],
    ]);
    expect(seen[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 's1/a1',
    });
    expect(seen[1]?.headers['content-type']).toBe('text/x');
    expect(seen[4]?.headers['idempotency-key']).toBeUndefined();
  });

  test("the manifest's headers go with every request, and no call replaces them", async () => {
    const server = await httpServer(echo);
    const { call } = await given(
      `{ url: "http://127.0.0.1:${server.port}", headers: { Authorization: "Bearer hunter2" } }`,
    );
    await call('api', { path: 'a', headers: { authorization: 'Bearer mine', 'x-more': 'yes' } });
    expect(server.seen[0]?.headers).toMatchObject({ authorization: 'Bearer hunter2', 'x-more': 'yes' });
  });

  test.each([
    '..',
    '../admin',
    'a/../../admin',
    '%2e%2e/admin',
    '..%2fadmin',
    '%252e%252e%252fadmin',
    '..\\admin',
    'a/..%5c..%5cadmin',
    '.%2e/admin',
  ])('no path climbs above its address: %s', async (path) => {
    const { failure, seen } = await service();
    expect(await failure('api', { path })).toMatchObject({
      code: 'not_permitted',
      hint: expect.stringContaining('needs its own relic'),
    });
    expect(seen).toEqual([]);
  });

  test.each([
    '//evil.example/x',
    'https://evil.example/x',
    '\\\\evil.example',
    '@evil.example',
    ':80@evil.example/',
  ])('no path leads to another host: %s', async (path) => {
    const { call, seen } = await service();
    await call('api', { path });
    expect(seen).toHaveLength(1);
    expect(seen[0]?.url).toMatch(/^\/v1\//);
  });

  test('whatever the path, the address stays below the base', () => {
    const url = createRelicUrl('relic "api"', new URL('https://api.example.com/v1/x'));
    const piece = fc.constantFrom(
      '..',
      '.',
      '/',
      '\\',
      '%2e',
      '%2f',
      '%5c',
      '%25',
      '@',
      ':',
      '?',
      '#',
      'a',
      '//',
      '\t',
      'é',
      'https:',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 12 }).map((all) => all.join('')),
          fc.string(),
        ),
        (path) => {
          let found: URL;
          try {
            found = url.resolve(path);
          } catch (error) {
            expect(error).toBeInstanceOf(RuntimeError);
            return;
          }
          expect(found.origin).toBe('https://api.example.com');
          expect(`${found.pathname}/`.startsWith('/v1/x/')).toBe(true);
          expect(decoded(decoded(found.pathname)).split(/[\\/]/)).not.toContain('..');
        },
      ),
      { numRuns: moreRuns(2_000) },
    );
  });

  test('a redirect is followed below the address, and nowhere else', async () => {
    const elsewhere = await httpServer(echo);
    const { call, failure, seen } = await service(({ url }, response) => {
      const to: Readonly<Record<string, string>> = {
        '/v1/here': '/v1/there',
        '/v1/up': '/admin',
        '/v1/away': `http://127.0.0.1:${elsewhere.port}/v1/x`,
      };
      const location = to[url];
      if (location === undefined) json(response, 200, url);
      else response.writeHead(302, { location }).end();
    });
    expect(await call('api', { path: 'here' })).toMatchObject({
      body: '/v1/there',
      url: expect.stringContaining('/v1/there'),
    });
    expect(await failure('api', { path: 'up' })).toMatchObject({ code: 'not_permitted' });
    expect(await failure('api', { path: 'away' })).toMatchObject({ code: 'not_permitted' });
    expect(elsewhere.seen).toEqual([]);
    expect(seen.map(({ url }) => url)).not.toContain('/admin');
  });

  test('a status of 400 or more is a failure with what the service says', async () => {
    const { failure } = await service(({ url }, response) =>
      json(response, Number(url.slice(4)), { why: 'Because.' }),
    );
    expect(await failure('api', { path: '404' })).toMatchObject({
      code: 'http_failed',
      message: 'The request of relic "api" failed with status 404: {"why":"Because."}',
      retryable: false,
    });
    for (const path of ['429', '503'])
      expect(await failure('api', { path })).toMatchObject({ retryable: true });
  });

  test('a long body is cut', async () => {
    const server = await httpServer((_, response) => void response.end('x'.repeat(5_000)));
    const { call } = await given(`{ url: "http://127.0.0.1:${server.port}", max_bytes: 100 }`);
    expect(await call('api', {})).toMatchObject({ body: 'x'.repeat(100), cut: 'after 100 bytes' });
  });

  test('a call is stopped with its signal', async () => {
    const controller = new AbortController();
    const { failure } = await service(() => controller.abort(new RuntimeError('timeout', 'Too slow.')));
    expect(await failure('api', { path: 'slow' }, { signal: controller.signal })).toMatchObject({
      code: 'timeout',
      message: 'Too slow.',
    });
  });

  test('a service that is away is worth another try; one that breaks off, if the method allows it', async () => {
    const away = await given(`http://127.0.0.1:${await freePort()}/v1`);
    for (const operation of ['get', 'post'])
      expect(await away.failure('api', { operation, path: 'x' })).toMatchObject({
        code: 'relic_unavailable',
        retryable: true,
      });
    const { failure } = await service((_, response) => void response.socket?.destroy());
    expect(await failure('api', { path: 'x' })).toMatchObject({ code: 'relic_unavailable', retryable: true });
    expect(await failure('api', { operation: 'post', path: 'x' })).toMatchObject({
      code: 'relic_unavailable',
      retryable: false,
      hint: expect.stringContaining('is unknown'),
    });
  });

  test('what may be run again is what its method says', async () => {
    const { tool } = await service();
    const again = (input: JsonObject) => tool('api').idempotentFor?.(input);
    expect(
      ['get', 'put', 'delete', 'health', 'post', 'patch'].map((operation) => again({ operation })),
    ).toEqual([true, true, true, true, false, false]);
    expect(again({ operation: 'request' })).toBe(true);
    expect(again({ operation: 'request', method: 'POST' })).toBe(false);
  });
});

describe('its health', () => {
  test('is asked for with HEAD, or with GET where that is not known', async () => {
    const { call, base, seen } = await service(({ method }, response) =>
      json(response, method === 'HEAD' ? 405 : 200, 'ok'),
    );
    expect(await call('api', { operation: 'health' })).toEqual({
      ok: true,
      driver: 'http',
      where: base,
      latency_ms: expect.any(Number),
      status: 200,
    });
    expect(seen.map(({ method, url }) => [method, url])).toEqual([
      ['HEAD', '/v1'],
      ['GET', '/v1'],
    ]);
  });

  test('a service that refuses is there, one that fails or is away is not well', async () => {
    const refusing = await service((_, response) => json(response, 401, 'who?'));
    expect(await refusing.call('api', { operation: 'health' })).toMatchObject({ ok: true, status: 401 });
    const failing = await service((_, response) => json(response, 503, 'busy'));
    expect(await failing.call('api', { operation: 'health' })).toMatchObject({
      ok: false,
      error: { code: 'http_failed', message: expect.stringContaining('503'), retryable: true },
    });
    const away = await given(`http://127.0.0.1:${await freePort()}`);
    expect(await away.call('api', { operation: 'health' })).toMatchObject({
      ok: false,
      error: { code: 'relic_unavailable', retryable: true },
    });
  });

  test('a health that is stopped fails as every call does', async () => {
    const controller = new AbortController();
    const { failure } = await service(() => controller.abort());
    expect(await failure('api', { operation: 'health' }, { signal: controller.signal })).toMatchObject({
      code: 'cancelled',
    });
  });
});

/** As a server does that decodes more than it should. */
const decoded = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

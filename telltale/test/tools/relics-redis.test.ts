import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { hasRedis, needsRedis } from '../servers/needs-redis.ts';
import { type RedisServer, startRedis } from '../servers/start-redis.ts';
import { eventually, PATIENT } from '../store/eventually.ts';
import { agentTargets } from './agent-targets.ts';

needsRedis();

const PASSWORD = 'hunter2/with:odd@signs';
let server: RedisServer;
let other: RedisServer;

beforeAll(async () => {
  if (!hasRedis) return;
  [server, other] = await Promise.all([startRedis(), startRedis({ password: PASSWORD })]);
}, PATIENT.timeout);
afterAll(() => Promise.all([server?.stop(), other?.stop()]));

async function given(url = server.url) {
  const targets = await agentTargets({
    agent: 'import: { relics: [./cache.yml] }',
    files: { 'cache.yml': `kind: Relic\nname: cache\ndriver: redis\nconnection: "${url}"\n` },
  });
  onTestFinished(() => targets.table.close());
  const key = `test ${Math.random()}`;
  const call = (
    operation: string,
    input: JsonObject = {},
    signal = new AbortController().signal,
  ): Promise<Json> => targets.call('cache', { operation, ...input }, { signal });
  const failure = (operation: string, input: JsonObject = {}, signal = new AbortController().signal) =>
    targets.failure('cache', { operation, ...input }, { signal });
  return { ...targets, key, call, failure };
}

describe('a redis relic', PATIENT, () => {
  test('keeps texts as they are and other values as JSON; get is its default', async () => {
    const { call, key, tool, failure } = await given();
    expect(await call('get', { key })).toBeNull();
    expect(await call('set', { key, value: "it's\0 ünï 𝄞\r\n" })).toEqual({ set: true });
    expect(await call('get', { key })).toBe("it's\0 ünï 𝄞\r\n");
    await call('set', { key, value: { a: [1, null] } });
    expect(await call('get', { key })).toBe('{"a":[1,null]}');
    expect(await call('get', { key, json: true })).toEqual({ a: [1, null] });
    await call('set', { key, value: 'no json' });
    expect(await failure('get', { key, json: true })).toMatchObject({ code: 'bad_output' });
    expect(await call('delete', { key })).toEqual({ deleted: true });
    expect(await call('delete', { key })).toEqual({ deleted: false });
    expect(tool('cache').parameters).toMatchObject({ properties: { operation: { default: 'get' } } });
    expect(tool('cache').inFull?.({ key, value: 1 })).toEqual({ operation: 'set', key, value: 1 });
  });

  test('a value can be kept for a time, and only where there is none', async () => {
    const { call, key } = await given();
    expect(await call('set', { key, value: 'first', if_absent: true, ttl: '30ms' })).toEqual({ set: true });
    expect(await call('set', { key, value: 'second', if_absent: true })).toEqual({ set: false });
    await eventually(async () => expect(await call('get', { key })).toBeNull());
    await call('set', { key, value: 'third' });
    expect(await call('expire', { key, ttl: '1ms' })).toEqual({ found: true });
    await eventually(async () => expect(await call('get', { key })).toBeNull());
    expect(await call('expire', { key, ttl: 5 })).toEqual({ found: false });
  });

  test('numbers are counted, exactly, beyond 2^53 too', async () => {
    const { call, failure, key } = await given();
    expect(await call('increment', { key })).toBe(1);
    expect(await call('incr', { key, by: -3 })).toBe(-2);
    expect(await call('increment', { key, by: 0.5 })).toBe(-1.5);
    await call('set', { key, value: '9007199254740993' });
    expect(await call('increment', { key, by: 2 })).toBe('9007199254740995');
    await call('set', { key, value: 'text' });
    expect(await failure('increment', { key })).toMatchObject({
      code: 'redis_error',
      hint: expect.stringContaining('numbers'),
    });
  });

  test('lists are pushed to and popped from at both ends', async () => {
    const { call, key } = await given();
    expect(await call('pop', { key })).toBeNull();
    for (const value of ['b', { c: 1 }]) await call('push', { key, value });
    expect(await call('push', { key, value: 'a', side: 'left' })).toEqual({ length: 3 });
    expect(await call('range', { key })).toEqual({ items: ['a', 'b', '{"c":1}'] });
    expect(await call('range', { key, start: 1, limit: 1 })).toEqual({ items: ['b'] });
    expect(await call('range', { key, start: -2, limit: 10 })).toEqual({ items: ['b', '{"c":1}'] });
    expect(await call('pop', { key })).toBe('a');
    expect(await call('pop', { key, side: 'right', json: true })).toEqual({ c: 1 });
  });

  test('hashes are set and read by field, or whole', async () => {
    const { call, key } = await given();
    expect(await call('hash_get', { key })).toEqual({});
    expect(await call('hash_set', { key, fields: { a: 'x', b: [1], __proto__x: true } })).toEqual({
      added: 3,
    });
    expect(await call('hash_get', { key, field: 'a' })).toBe('x');
    expect(await call('hash_get', { key, field: 'nope' })).toBeNull();
    expect(await call('hash_get', { key, field: 'b', json: true })).toEqual([1]);
    expect(await call('hash_get', { key })).toEqual({ a: 'x', b: '[1]', __proto__x: 'true' });
  });

  test('keys are found by a pattern, in pages', async () => {
    const { call, key } = await given();
    for (let n = 0; n < 30; n++) await call('set', { key: `${key}:${n}`, value: n });
    expect(await call('keys', { pattern: `${key}:?` })).toMatchObject({ keys: expect.any(Array) });
    const { keys } = (await call('scan', { pattern: `${key}:?` })) as { keys: string[] };
    expect(keys.toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `${key}:${n}`));
    const seen = new Set<Json>();
    for (let cursor: Json = '0', pages = 0; pages < 50; pages++) {
      const page = (await call('keys', { cursor, limit: 5 })) as { keys: string[]; next?: string };
      for (const each of page.keys) seen.add(each);
      if (page.next === undefined) break;
      cursor = page.next;
    }
    for (let n = 0; n < 30; n++) expect(seen).toContain(`${key}:${n}`);
    expect((await call('keys', { pattern: 'nothing like this' })) as Json).toEqual({ keys: [] });
  });

  test('messages are published', async () => {
    const { call } = await given();
    const { createClient } = await import('@redis/client');
    const listener = createClient({ url: server.url });
    await listener.connect();
    onTestFinished(() => listener.destroy());
    const heard: string[] = [];
    await listener.subscribe('news', (message) => heard.push(message));
    expect(await call('publish', { channel: 'news', message: { a: 1 } })).toEqual({ receivers: 1 });
    await eventually(() => expect(heard).toEqual(['{"a":1}']));
    expect(await call('publish', { channel: 'nobody', message: 'x' })).toEqual({ receivers: 0 });
  });

  test('what the server refuses is an error with its words', async () => {
    const { call, failure, key } = await given();
    await call('push', { key, value: 'x' });
    expect(await failure('get', { key })).toMatchObject({
      code: 'redis_error',
      message: expect.stringContaining('WRONGTYPE'),
      hint: expect.stringContaining('another type'),
      retryable: false,
    });
    expect((await failure('set', { key, value: 'x'.repeat(2_000_000) })).code).toBe('bad_parameters');
  });

  test('an answer that is too large is refused', async () => {
    const { call, failure, key } = await given();
    for (let n = 0; n < 6; n++) await call('push', { key, value: 'x'.repeat(900_000) });
    expect(await failure('range', { key })).toMatchObject({ code: 'output_too_large' });
    expect(await call('range', { key, limit: 1 })).toMatchObject({ items: [expect.any(String)] });
  });

  test('what may be run again: reads, and writes that have the same effect twice', async () => {
    const { tool } = await given();
    const again = (input: JsonObject) => tool('cache').idempotentFor?.(input);
    for (const operation of [
      'get',
      'set',
      'delete',
      'expire',
      'keys',
      'scan',
      'range',
      'hash_get',
      'hash_set',
      'health',
    ])
      expect(again({ operation }), operation).toBe(true);
    for (const operation of ['increment', 'incr', 'push', 'pop', 'publish'])
      expect(again({ operation }), operation).toBe(false);
    expect(again({ operation: 'set', if_absent: true })).toBe(false);
  });

  test('calls at once share one connection', async () => {
    const { call, key } = await given();
    const before = await connections(server);
    await Promise.all(Array.from({ length: 100 }, () => call('increment', { key })));
    expect(await call('get', { key })).toBe('100');
    expect((await connections(server)) - before).toBe(1);
  });

  test('its health says where it is', async () => {
    const { call } = await given(`${other.url}/0`);
    expect(await call('health')).toEqual({
      ok: true,
      driver: 'redis',
      where: `redis://127.0.0.1:${other.port}/0`,
      latency_ms: expect.any(Number),
    });
  });
});

describe('a Redis that cannot be had', PATIENT, () => {
  test('fails calls at once while it is away, and works again when it is back', async () => {
    let own = await startRedis();
    onTestFinished(() => own.stop());
    const { call, failure, key } = await given(own.url);
    await call('set', { key, value: 'before' });
    process.kill(own.pid, 'SIGKILL');
    await own.stop();
    for (let tries = 0; tries < 3; tries++)
      expect(await failure('get', { key })).toMatchObject({ code: 'relic_unavailable', retryable: true });
    expect(await call('health')).toMatchObject({
      ok: false,
      error: { code: 'relic_unavailable', retryable: true },
    });
    own = await startRedis({ port: own.port });
    expect(await call('get', { key })).toBeNull();
    expect(await call('set', { key, value: 'after' })).toEqual({ set: true });
    expect(await call('health')).toMatchObject({ ok: true });
  });

  test('a command that was under way says whether to make it again', async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const { failure, call, key } = await given(own.url);
    await call('set', { key, value: '1' });
    process.kill(own.pid, 'SIGSTOP');
    const under = [failure('get', { key }), failure('increment', { key })];
    process.kill(own.pid, 'SIGKILL');
    expect(await Promise.all(under)).toMatchObject([
      { code: 'relic_unavailable', retryable: true },
      { code: 'relic_unavailable', retryable: false, hint: expect.stringContaining('is unknown') },
    ]);
  });

  test('a call to one that hangs is stopped with its signal, and the next waits for no old answer', async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const { failure, call, key } = await given(own.url);
    await call('set', { key, value: '1' });
    process.kill(own.pid, 'SIGSTOP');
    const controller = new AbortController();
    const stopped = failure('get', { key }, controller.signal);
    controller.abort(new RuntimeError('timeout', 'Too slow.'));
    expect(await stopped).toMatchObject({ code: 'timeout', message: 'Too slow.' });
    process.kill(own.pid, 'SIGCONT');
    expect(await call('get', { key })).toBe('1');
  });

  test('a server that takes the connection and says nothing can be given up', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => {
      socket.on('error', () => undefined);
      sockets.push(socket);
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { failure } = await given(`redis://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    const controller = new AbortController();
    const stopped = failure('get', { key: 'a' }, controller.signal);
    await eventually(() => expect(sockets).toHaveLength(1));
    controller.abort();
    expect(await stopped).toMatchObject({ code: 'cancelled' });
  });

  test('a wrong password is not worth another try, and is not shown', async () => {
    const wrong = other.url.replace('hunter2', 'hunter3');
    const { failure, call } = await given(wrong);
    const error = await failure('get', { key: 'a' });
    expect(error).toMatchObject({ code: 'relic_unavailable', retryable: false });
    const health = await call('health');
    for (const secret of ['hunter3', 'odd@signs', 'odd%40signs'])
      expect(JSON.stringify([error, health]) + String(error.stack)).not.toContain(secret);
  });

  test('after its table is closed it takes no call', async () => {
    const { table, failure, call, key } = await given();
    await call('get', { key });
    await table.close();
    expect(await failure('get', { key })).toMatchObject({ code: 'relic_unavailable', retryable: false });
  });
});

async function connections({ url }: RedisServer): Promise<number> {
  const { createClient } = await import('@redis/client');
  const client = createClient({ url });
  await client.connect();
  const list = await client.sendCommand(['CLIENT', 'LIST']);
  client.destroy();
  return String(list).trim().split('\n').length;
}

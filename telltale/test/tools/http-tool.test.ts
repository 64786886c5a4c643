import { expect, test } from 'vitest';
import { agentTargets } from './agent-targets.ts';
import { httpServer } from './http-server.ts';

const given = (http: string, more = '') =>
  agentTargets({
    agent: 'import: { tools: [./x.yml] }\npermissions: { network: [localhost] }',
    files: {
      'x.yml': `kind: Tool\nname: x\nparameters: { type: object, properties: { q: {}, list: {}, base: {} } }\nimplementation: { http: ${http} }\n${more}\n`,
    },
  });

test('parameters in the address are encoded, except one that begins it', async () => {
  const server = await httpServer((_, response) => response.end('text'));
  const { call } = await given('{ url: "{base}/s/{q}?q={q}" }');
  expect(await call('x', { base: `http://localhost:${server.port}`, q: '../a&b=c#d' })).toBe('text');
  expect(server.seen[0]?.url).toBe('/s/..%2Fa%26b%3Dc%23d?q=..%2Fa%26b%3Dc%23d');
});

test('no parameter leads to another place than the manifest names', async () => {
  const server = await httpServer((_, response) => response.end('text'));
  const base = `http://localhost:${server.port}`;
  const { failure } = await given(`{ method: DELETE, url: "${base}/users/{q}" }`);
  for (const q of ['..', '.']) expect((await failure('x', { q })).code).toBe('bad_parameters');
  const joined = await given('{ url: "{base}/a/{q}{list}/c?d=/./" }');
  expect((await joined.failure('x', { base, q: '.', list: '.' })).code).toBe('bad_parameters');
  expect(server.seen).toEqual([]);
  expect(await joined.call('x', { base: `${base}/x/..`, q: '..', list: 'b' })).toBe('text');
  expect(server.seen[0]?.url).toBe('/a/..b/c?d=/./');
});

test('a value is sent as JSON, its parameters with their types', async () => {
  const server = await httpServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"ok":true}');
  });
  const { call } = await given(
    `{ method: POST, url: "http://localhost:${server.port}/", headers: { X-Q: "<{q}>" }, body: { list: "{list}", text: "a {q}", gone: "{base}", who: "\${agent.agent_name}" } }`,
  );
  expect(await call('x', { q: 5, list: [1, 'b'] })).toEqual({ ok: true });
  expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ list: [1, 'b'], text: 'a 5', who: 'tester' });
  expect(server.seen[0]?.headers).toMatchObject({
    'x-q': '<5>',
    'content-type': 'application/json',
    'idempotency-key': 's1/a1',
  });
});

test('a status of 400 or more is a failure, and 5xx may be tried again', async () => {
  const server = await httpServer(({ url }, response) => {
    response.statusCode = Number(url.slice(1));
    response.end('the reason');
  });
  const { failure } = await given(`{ url: "http://localhost:${server.port}/{q}" }`);
  expect(await failure('x', { q: 404 })).toMatchObject({ code: 'http_failed', retryable: false });
  const error = await failure('x', { q: 503 });
  expect(error.retryable).toBe(true);
  expect(error.message).toContain('503: the reason');
});

test('a host that is not permitted is refused, whoever wrote the address', async () => {
  const { failure } = await given('{ url: "http://127.0.0.1/" }');
  expect((await failure('x')).code).toBe('not_permitted');
});

test('a result above max_bytes is refused', async () => {
  const server = await httpServer((_, response) => response.end('x'.repeat(1000)));
  const { failure } = await given(
    `{ url: "http://localhost:${server.port}/" }`,
    'output: { max_bytes: 100 }',
  );
  expect((await failure('x')).code).toBe('output_too_large');
});

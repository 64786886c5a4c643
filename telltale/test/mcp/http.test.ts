import { spawn } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { agentTargets, until } from '../tools/agent-targets.ts';
import { httpServer, type SeenRequest } from '../tools/http-server.ts';
import { callOf, failureOf } from './fake-server.ts';
import { httpPeer, openHttp } from './http-peer.ts';

const textOf = async (work: Promise<{ readonly content: readonly unknown[] }>) =>
  (await work).content.map((block) => (block as { readonly text?: string }).text).join('\n');
const echo = (text: string) => callOf({ tool: 'echo', input: { text } });
const ask = () => ({ what: 'tool "far_x"', signal: new AbortController().signal });

interface Asked {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string; readonly name?: string };
}
type Answer = (message: Asked, response: ServerResponse, request: SeenRequest) => void;

const json = (response: ServerResponse, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const sse = (response: ServerResponse, text = '') => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(text);
};
const result = (id: number | undefined, value: unknown) => ({ jsonrpc: '2.0', id, result: value });
const done = (id: number | undefined) => result(id, { content: [{ type: 'text', text: 'done' }] });
const event = (id: string, data: unknown) =>
  `id: ${id}\ndata: ${data === '' ? '' : JSON.stringify(data)}\n\n`;

/** A server that behaves, but for what `on` answers, by method (`GET` for a stream). */
async function oddServer(on: Readonly<Record<string, Answer>>) {
  const answers: Readonly<Record<string, Answer>> = {
    initialize: ({ id, params }, response) =>
      json(
        response,
        result(id, {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'odd', version: '1' },
        }),
        { 'mcp-session-id': 's1' },
      ),
    'tools/list': ({ id }, response) => json(response, result(id, { tools: [{ name: 'go' }] })),
    'tools/call': ({ id }, response) => json(response, done(id)),
    GET: (_, response) => response.writeHead(405).end(),
    ...on,
  };
  const { port, seen } = await httpServer((request, response) => {
    const message = request.body === '' ? { method: request.method } : (JSON.parse(request.body) as Asked);
    const answer = answers[message.method];
    if (answer === undefined) response.writeHead(202).end();
    else answer(message, response, request);
  });
  return { url: `http://127.0.0.1:${port}/mcp`, seen, port };
}

test.each([true, false])(
  'tools, resources and prompts of a server over HTTP can be used, as JSON: %s',
  async (asJson) => {
    const peer = await httpPeer({ json: asJson });
    const server = await openHttp(peer.url, { headers: { 'X-Who': 'me' } });
    expect(server.tools.map(({ name }) => name)).toEqual(['echo', 'count', 'wait', 'grow', 'shrink']);
    expect(await textOf(server.call(echo('hällo')))).toBe('Echo: hällo');
    expect(await server.resources?.list(ask())).toMatchObject({
      resources: [{ uri: 'memo://notes' }],
      templates: [],
    });
    expect(await server.resources?.read({ ...ask(), uri: 'memo://notes' })).toMatchObject([
      { text: 'Buy milk.' },
    ]);
    expect(server.prompts?.all).toMatchObject([
      { name: 'greet', arguments: [{ name: 'name', required: true }] },
    ]);
    const prompt = await server.prompts?.get({ ...ask(), prompt: 'greet', input: { name: 'Ada' } });
    expect(prompt?.messages).toMatchObject([{ role: 'user', content: { text: 'Say hello to Ada.' } }]);
    const later = peer.seen.filter(({ body }) => body.includes('tools/call'));
    expect(later[0]?.headers).toMatchObject({
      'mcp-session-id': peer.sessions()[0],
      'mcp-protocol-version': '2025-11-25',
      'x-who': 'me',
    });
    await server.close();
    expect(peer.sessions()).toEqual([]);
    expect((await failureOf(server.call(echo('x')))).code).toBe('cancelled');
  },
);

test('progress comes before the answer, and a call that is stopped is cancelled at the server', async () => {
  const peer = await httpPeer();
  const server = await openHttp(peer.url);
  const seen: unknown[] = [];
  const counted = server.call(
    callOf({ tool: 'count', input: { to: 3 }, onProgress: (data) => seen.push(data) }),
  );
  expect(await textOf(counted)).toBe('counted');
  expect(seen).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
  const controller = new AbortController();
  const failed = failureOf(
    server.call(callOf({ tool: 'wait', input: { name: 'a' }, signal: controller.signal })),
  );
  await until(() => peer.seen.some(({ body }) => body.includes('"wait"')));
  controller.abort();
  expect((await failed).code).toBe('cancelled');
  await until(() => peer.cancelled.length > 0);
  expect(await textOf(server.call(echo('still there')))).toBe('Echo: still there');
});

test('a list that changes is taken up, and a tool that is gone says so with what is there', async () => {
  const peer = await httpPeer();
  const server = await openHttp(peer.url);
  let changes = 0;
  server.onChange?.(() => changes++);
  const before = server.tools;
  await server.call(callOf({ tool: 'grow' }));
  await until(() => server.tools !== before && server.prompts?.all.length === 2);
  expect(server.tools.map(({ name }) => name)).toContain('fruit');
  expect(changes).toBeGreaterThan(0);
  expect(await textOf(server.call(callOf({ tool: 'fruit', input: { kind: 'pear' } })))).toBe('A pear.');
  await server.call(callOf({ tool: 'shrink' }));
  await until(() => server.tools.length === 5);
  const gone = await failureOf(server.call(callOf({ what: 'tool "far_fruit"', tool: 'fruit' })));
  expect(gone.code).toBe('tool_gone');
  expect(gone.message).toContain('"far" no longer has what tool "far_fruit" stands for');
  expect(gone.hint).toBe('It has now: far_echo, far_count, far_wait, far_grow, far_shrink.');
});

test('a server that has forgotten the session is greeted again, and the call is made', async () => {
  const peer = await httpPeer();
  const server = await openHttp(peer.url);
  const [first] = peer.sessions();
  peer.forget();
  const answers = await Promise.all([1, 2, 3].map((n) => textOf(server.call(echo(String(n))))));
  expect(answers).toEqual(['Echo: 1', 'Echo: 2', 'Echo: 3']);
  expect(peer.sessions()).toHaveLength(1);
  expect(peer.sessions()[0]).not.toBe(first);
});

test('a server that forgets every session is not greeted for ever', async () => {
  const { url, seen } = await oddServer({ 'tools/call': (_, response) => response.writeHead(404).end() });
  const server = await openHttp(url);
  const error = await failureOf(server.call(callOf()));
  expect(error).toMatchObject({ code: 'mcp_session_lost', retryable: true });
  for (let calls = 0; calls < 5; calls++) await failureOf(server.call(callOf()));
  expect((await failureOf(server.call(callOf()))).message).toContain('has ended 6 times');
  expect(seen.filter(({ body }) => body.includes('"initialize"'))).toHaveLength(6);
});

test('a server that says 400 of a session it does not know is greeted again', async () => {
  let calls = 0;
  const { url } = await oddServer({
    'tools/call': ({ id }, response) =>
      ++calls === 1
        ? response.writeHead(400).end('Bad Request: No valid session ID provided')
        : json(response, done(id)),
  });
  expect(await textOf((await openHttp(url)).call(callOf()))).toBe('done');
});

test('headers are sent, and are never shown, though the server quotes them', async () => {
  const { url, seen } = await oddServer({
    initialize: (_, response, { headers }) =>
      response.writeHead(401).end(`not with ${headers.authorization} nor ${headers['x-key']}`),
  });
  const headers = { Authorization: 'Bearer s3cr3t-token', 'X-Key': 'k3y-value' };
  const error = await failureOf(openHttp(`${url}/in-the-path`, { headers }));
  expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer s3cr3t-token', 'x-key': 'k3y-value' });
  expect(error.code).toBe('mcp_failed');
  expect(error.message).toContain('"far" responded with status 401: not with [hidden] nor [hidden]');
  expect(error.hint).toContain('"headers"');
  expect(JSON.stringify(error)).not.toMatch(/s3cr3t|k3y|in-the-path/);
});

test('what a server says in an error or a log is shown without the headers that it was sent', async () => {
  const { url } = await oddServer({
    'tools/call': ({ id }, response, { headers }) =>
      json(response, {
        jsonrpc: '2.0',
        id,
        error: { code: -32_000, message: `no such user: ${headers['x-key']}` },
      }),
  });
  const error = await failureOf((await openHttp(url, { headers: { 'X-Key': 'k3y-value' } })).call(callOf()));
  expect(error.code).toBe('tool_failed');
  expect(error.message).toContain('no such user: [hidden]');
  expect(JSON.stringify(error)).not.toContain('k3y');
});

test('a redirect is followed within the same origin, and to no other', async () => {
  const { url, port } = await oddServer({});
  const inside = await httpServer((request, response) =>
    request.url === '/mcp'
      ? response.writeHead(307, { location: '/there' }).end()
      : request.method === 'GET'
        ? response.writeHead(405).end()
        : json(
            response,
            result(JSON.parse(request.body).id, {
              protocolVersion: '2025-11-25',
              capabilities: { prompts: {} },
              serverInfo: { name: 'x', version: '1' },
              tools: [],
              prompts: [],
            }),
          ),
  );
  expect((await openHttp(`http://127.0.0.1:${inside.port}/mcp`)).tools).toEqual([]);
  const outside = await httpServer((_, response) => response.writeHead(307, { location: url }).end());
  const error = await failureOf(
    openHttp(`http://127.0.0.1:${outside.port}/mcp`, { headers: { Authorization: 'secret' } }),
  );
  expect(error.code).toBe('mcp_failed');
  expect(error.message).toContain(`redirects to http://127.0.0.1:${port}, which is not followed`);
});

test('an agent reaches a server over HTTP by its permissions, and a private address only by its name', async () => {
  const peer = await httpPeer();
  const agent = (network: string) =>
    `import: { tools: [{ mcp: { name: far, url: "${peer.url}", timeout: 5s } }] }\npermissions: { network: [${network}] }`;
  const options = { mcp: createMcpClient(), graceMs: 100 };
  const { table, call, tool } = await agentTargets({ agent: agent('127.0.0.1'), options });
  onTestFinished(() => table.close());
  expect(await call('far_echo', { text: 'x' })).toBe('Echo: x');
  expect(tool('far_echo').timeoutMs).toBe(5_000);
  expect(await call('far_list_resources', { matching: 'NOTED' })).toEqual({
    resources: [{ uri: 'memo://notes', name: 'notes', description: 'What was noted' }],
  });
  expect(await call('far_read_resource', { uri: 'memo://notes' })).toBe('Buy milk.');
  expect(await call('far_get_prompt', { name: 'greet', arguments: { name: 'Ada' } })).toBe(
    'Say hello to Ada.',
  );
  const refused = await failureOf(agentTargets({ agent: agent('"*"'), options }));
  expect(refused).toMatchObject({ code: 'not_permitted' });
  expect(refused.message).toContain('"far" cannot be reached. "127.0.0.1" is a loopback address.');
});

test('a stream that breaks off is resumed where it was, and one that cannot be fails the call', async () => {
  let resumes = 0;
  let canResume = true;
  let asked: number | undefined;
  const { url, seen } = await oddServer({
    'tools/call': ({ id }, response) => {
      asked = id;
      sse(response, canResume ? `retry: 10\n${event('e1', '')}` : ': nothing\n\n');
      setTimeout(() => response.destroy(), 20);
    },
    GET: (_, response, { headers }) => {
      if (headers['last-event-id'] === undefined) return response.writeHead(405).end();
      if (++resumes === 1) return response.writeHead(503).end();
      sse(
        response,
        event('e2', {
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { level: 'info', data: 'x' },
        }),
      );
      return resumes === 2 ? response.end() : response.end(event('e3', done(asked)));
    },
  });
  const server = await openHttp(url);
  expect(await textOf(server.call(callOf()))).toBe('done');
  const ids = seen.filter(({ method }) => method === 'GET').map(({ headers }) => headers['last-event-id']);
  expect(ids).toEqual([undefined, 'e1', 'e1', 'e2']);
  canResume = false;
  const error = await failureOf(server.call(callOf()));
  expect(error).toMatchObject({ code: 'mcp_failed', retryable: true });
  expect(error.message).toContain('closed the connection before it answered');
});

test('a stream that never brings anything is not resumed for ever', async () => {
  const { url, seen } = await oddServer({
    'tools/call': (_, response) => {
      sse(response, `retry: 1\n${event('e1', '')}`);
      response.end();
    },
    GET: (_, response, { headers }) =>
      headers['last-event-id'] === undefined ? response.writeHead(405).end() : response.writeHead(502).end(),
  });
  const error = await failureOf((await openHttp(url)).call(callOf()));
  expect(error.message).toContain('could not be resumed in 5 attempts');
  expect(seen.filter(({ method }) => method === 'GET')).toHaveLength(6);
});

const BIG = 'x'.repeat(200_000);
test.each<[string, Answer, string]>([
  [
    'a huge body',
    ({ id }, response) => json(response, result(id, { content: [{ type: 'text', text: BIG }] })),
    'more than 100000 bytes',
  ],
  [
    'a huge event',
    (_, response) => {
      sse(response, `data: ${BIG}`);
    },
    'more than 100000 bytes',
  ],
  [
    'an event of many lines',
    (_, response) => {
      sse(response, `data: ${'x'.repeat(999)}\n`.repeat(200));
    },
    'more than 100000 bytes',
  ],
  [
    'a web page',
    (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hi'),
    'responded with "text/html"',
  ],
  ['no type', (_, response) => response.writeHead(200).end('hm'), 'responded with no content type'],
  [
    'no JSON',
    (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a"'),
    'does not answer the request',
  ],
  [
    'an answer to another question',
    (_, response) => json(response, done(999)),
    'does not answer the request',
  ],
  [
    'events without end',
    (_, response) => {
      sse(response, 'data: noise\n\n'.repeat(10_001));
    },
    'events that are not messages',
  ],
  [
    'a stream that ends',
    (_, response) => {
      sse(response, 'data: noise\n\n');
      response.end();
    },
    'closed the connection before it answered',
  ],
  [
    'a body that breaks off',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '50' }).write('{');
      setTimeout(() => response.destroy(), 10);
    },
    'closed the connection before it answered',
  ],
  [
    'a status',
    (_, response) => response.writeHead(500).end('{"error":{"message":"on fire"}}'),
    'status 500: on fire',
  ],
  ['nothing at all', (_, response) => void response.destroy(), 'cannot be reached'],
])('%s in place of an answer fails the call, and the next one is made', async (_, answer, words) => {
  let isOdd = true;
  const { url } = await oddServer({
    'tools/call': (message, response, request) => {
      if (isOdd) answer(message, response, request);
      else json(response, done(message.id));
    },
  });
  const server = await openHttp(url, { maxMessageBytes: 100_000 });
  const error = await failureOf(server.call(callOf({ signal: AbortSignal.timeout(10_000) })));
  expect(error.code).toBe('mcp_failed');
  expect(error.message).toContain(words);
  isOdd = false;
  expect(await textOf(server.call(callOf()))).toBe('done');
});

test('a server that drips, and one that never answers, have the time of the action', async () => {
  const { url, seen } = await oddServer({
    'tools/call': ({ params }, response) => {
      if (params?.name === 'go') sse(response);
      const timer = setInterval(() => response.write(': drip\n'), 5);
      response.once('close', () => clearInterval(timer));
    },
  });
  const server = await openHttp(url);
  const error = await failureOf(server.call(callOf({ signal: AbortSignal.timeout(50) })));
  expect(error.code).toBe('cancelled');
  await until(() => seen.some(({ body }) => body.includes('notifications/cancelled')));
});

test('a server that never answers a greeting is given up after the time', async () => {
  const { url } = await oddServer({ initialize: () => undefined });
  const error = await failureOf(openHttp(url, { startTimeoutMs: 100 }));
  expect(error).toMatchObject({ code: 'mcp_failed', retryable: true });
  expect(error.message).toMatch(/"far" \(http:\/\/127\.0\.0\.1:\d+\) did not answer within 0\.1 s/);
});

test('a greeting and a list are asked for again where the server is too busy, a call is not', async () => {
  const tries = { initialize: 0, call: 0 };
  const { url } = await oddServer({
    initialize: ({ id, params }, response) =>
      ++tries.initialize === 1
        ? response.writeHead(503).end()
        : json(
            response,
            result(id, { ...params, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
          ),
    'tools/call': (_, response) => {
      tries.call++;
      response.writeHead(429).end();
    },
  });
  const server = await openHttp(url);
  expect(await failureOf(server.call(callOf()))).toMatchObject({ code: 'mcp_failed', retryable: true });
  expect(tries).toEqual({ initialize: 2, call: 1 });
});

test('a process that has nothing left to do ends, though a stream of the server is open', async () => {
  const peer = await httpPeer();
  const source = new URL('../../src/', import.meta.url).href;
  const code = `
    const { createMcpClient } = await import(${JSON.stringify(`${source}mcp/open-mcp-server.ts`)});
    const { createSystemClock } = await import(${JSON.stringify(`${source}lib/clock.ts`)});
    const { createHttpSender } = await import(${JSON.stringify(`${source}tools/http/http-sender.ts`)});
    const { createPermittedHosts } = await import(${JSON.stringify(`${source}tools/access/permitted-hosts.ts`)});
    const url = ${JSON.stringify(peer.url)};
    const { send } = createHttpSender(url, { hosts: createPermittedHosts({ allow: ['127.0.0.1'], ask: [], deny: [] }) });
    const server = await createMcpClient()({ type: 'http', name: 'far', url, headers: {}, send, clock: createSystemClock() });
    const answer = await server.call({ what: 'x', tool: 'echo', input: { text: 'x' }, signal: new AbortController().signal });
    console.log(answer.content[0].text);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk));
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
  expect(out).toBe('Echo: x\n');
  expect(peer.seen.some(({ method }) => method === 'GET')).toBe(true);
});

import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { main } from '../../../src/cli/main.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { McpServerMcpServer } from '../../../src/mcp/server/create-mcp-server.ts';
import { serveStdio } from '../../../src/mcp/server/serve-stdio.ts';
import { recordedIo } from '../../cli/recorded-io.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { AGENT, NOTES, type Told, task, workflow } from './serve-stage.ts';

const BIN = fileURLToPath(new URL('../../../bin/telltale.js', import.meta.url));
const SUITE = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const FIXTURE = fileURLToPath(new URL('./conformance', import.meta.url));
const SLOW_MS = 60_000;

const project = () =>
  temporaryProject({
    'agent.yml': `${AGENT}${workflow('release', task('plan') + task('build') + task('ship'))}`,
  });

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** `telltale mcp` in a process of its own, ended with the test. */
function serve(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [BIN, 'mcp', ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
  onTestFinished(() => void child.kill('SIGKILL'));
  const messages = () =>
    out
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return {
    child,
    ended,
    messages,
    err: () => err,
    say: (line: string) => void child.stdin.write(`${line}\n`),
    /** Where it serves over HTTP. */
    async url() {
      await expect
        .poll(() => `${err}${child.exitCode ?? ''}`, { timeout: 20_000 })
        .toMatch(/Serving MCP at (\S+)\.|\d$/);
      return /Serving MCP at (\S+)\. /.exec(err)?.[1] ?? `none: ${err}`;
    },
  };
}

async function connect(transport: Transport) {
  const client = new Client({ name: 'tester', version: '1.0.0' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return async (name: string, args: object) =>
    (await client.callTool({ name, arguments: { ...args } })).structuredContent as Told;
}

const kill = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    child.on('close', () => resolve());
    child.kill('SIGKILL');
  });

/** Three steps, with the server killed after the second claim was sent: `again` gives another server on the same store. */
async function drive(open: () => Promise<Awaited<ReturnType<typeof connect>>>, again: () => Promise<void>) {
  const before = await open();
  const first = await before('start_workflow', { workflow: 'release', goal: 'a release' });
  const sent = { continueToken: first.continueToken, notes: NOTES };
  const second = await before('continue_workflow', sent);
  expect(second).toMatchObject({ step: { prompt: 'Do the part called build.' } });
  await again();
  const after = await open();
  expect(await after('continue_workflow', sent)).toEqual(second);
  const third = await after('continue_workflow', { continueToken: second.continueToken, notes: NOTES });
  expect(third).toMatchObject({ step: { prompt: 'Do the part called ship.' } });
  expect(await after('continue_workflow', sent)).toMatchObject({ error: { code: 'token_replayed' } });
  expect(
    await after('continue_workflow', { continueToken: third.continueToken, notes: NOTES }),
  ).toMatchObject({ isComplete: true });
}

describe('a client drives a workflow to its end, over a kill -9', () => {
  it('over stdio', { timeout: SLOW_MS }, async () => {
    const cwd = project();
    const pids: (number | null)[] = [];
    const open = async () => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [BIN, 'mcp', '--store', 'x.db'],
        cwd,
      });
      const call = await connect(transport);
      pids.push(transport.pid);
      return call;
    };
    await drive(open, async () => void process.kill(pids[0] ?? 0, 'SIGKILL'));
  });

  it('over HTTP, in a session of its own', { timeout: SLOW_MS }, async () => {
    const cwd = project();
    const servers: ReturnType<typeof serve>[] = [];
    const open = async () => {
      const server = serve(['agent.yml', '--http', '0', '--store', 'x.db', '--token', 'secret'], cwd);
      servers.push(server);
      const url = new URL(await server.url());
      const headers = { authorization: 'Bearer secret' };
      return connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as Transport);
    };
    await drive(open, () => kill((servers[0] as ReturnType<typeof serve>).child));
    const [, last] = servers;
    last?.child.kill('SIGINT');
    expect((await last?.ended)?.code).toBe(130);
  });
});

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
});

describe('over stdio', () => {
  it('what is no message is answered by an error, and the next one is served', {
    timeout: SLOW_MS,
  }, async () => {
    const { say, messages, child, ended } = serve(['agent.yml', '--store', 'memory'], project());
    say('{"jsonrpc": "2.0", ');
    say('[1, 2]');
    say('{"id": 7}');
    say(`{"jsonrpc": "2.0", "id": 8, "method": "${'x'.repeat(9_000_000)}"}`);
    say(INITIALIZE);
    say('{"jsonrpc": "2.0", "id": 2, "method": "no/such"}');
    say('{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "start_workflw"}}');
    say('{"jsonrpc": "2.0", "id": 4, "method": "tools/list"}');
    // What was asked for is answered, though nothing more is to come.
    child.stdin.end();
    const { code, err } = await ended;
    const codes = messages().map(({ id, error, result }) => [
      id,
      error?.code ?? (result === undefined ? 'none' : 'fine'),
    ]);
    expect(codes).toEqual(
      expect.arrayContaining([
        [null, -32_700],
        [null, -32_600],
        [7, -32_600],
        [1, 'fine'],
        [2, -32_601],
        [3, -32_602],
        [4, 'fine'],
      ]),
    );
    expect(codes).toHaveLength(8);
    expect(messages().find(({ id }) => id === 3).error.message).toContain('start_workflow');
    expect([code, err]).toEqual([0, '']);
  });

  it('a client that does not read any more is no crash', { timeout: SLOW_MS }, async () => {
    const { say, child, ended, messages } = serve(['agent.yml', '--store', 'memory'], project());
    say(INITIALIZE);
    await expect.poll(() => messages().length, { timeout: 20_000 }).toBe(1);
    child.stdout.destroy();
    for (let id = 2; id < 20; id++) say(`{"jsonrpc": "2.0", "id": ${id}, "method": "tools/list"}`);
    child.stdin.end();
    expect(await ended).toMatchObject({ code: 0, err: '' });
  });
});

describe('a client that asks and does not read', () => {
  it('is asked to wait, and gets every answer once it does', async () => {
    const ask = Buffer.from('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n');
    const answer = { jsonrpc: '2.0' as const, id: 1, result: { long: 'x'.repeat(1_000_000) } };
    let asked = 0;
    const input = async function* () {
      for (; asked < 100; asked++) {
        yield ask;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const reads: (() => void)[] = [];
    let isReading = false;
    let answers = 0;
    const write = () => {
      answers++;
      return isReading ? Promise.resolve() : new Promise<void>((resolve) => reads.push(resolve));
    };
    const connect: McpServerMcpServer['connect'] = async (transport) => {
      transport.onmessage = () => void transport.send(answer);
      return { close: async () => undefined } as Awaited<ReturnType<McpServerMcpServer['connect']>>;
    };
    const deps = { input: input(), output: { write, closed: false }, clock: createSystemClock() };
    const { signal } = new AbortController();
    const served = serveStdio({ tools: [], connect }, { ...deps, signal, onError: () => undefined });
    await expect.poll(() => answers).toBe(17);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([answers, asked]).toEqual([17, 17]);
    isReading = true;
    for (const read of reads) read();
    await served;
    expect(answers).toBe(100);
  });
});

describe('the command line', () => {
  const run = async (args: readonly string[], cwd: string) => {
    const io = recordedIo({ cwd });
    return { code: await main(['mcp', ...args], io), out: io.out(), err: io.err() };
  };

  it('mistakes are told on stderr, with nothing on stdout', async () => {
    const cwd = project();
    for (const [args, said] of [
      [['none.yml'], 'none.yml'],
      [['agent.yml', '--token', 'x'], '--http'],
      [['agent.yml', '--token-ttl', 'soon'], 'not a duration'],
      [['agent.yml', '--http', '70000'], 'not a port'],
      [['agent.yml', '--http', '0', '--host', '0.0.0.0'], 'TELLTALE_MCP_TOKEN'],
      [['agent.yml', '--http', '0', '--host', '0.0.0.0', '--token', ''], '--token is empty'],
    ] as const) {
      const { code, out, err } = await run([...args, '--store', 'memory'], cwd);
      expect([args, code, out, err.includes(said)]).toEqual([args, 2, '', true]);
    }
    expect((await run([], temporaryProject())).err).toContain('There is no agent.yml here');
  });

  it('rotates the key, and never shows a secret', async () => {
    const cwd = project();
    const rotate = async () => JSON.parse((await run(['rotate-key', '--store', 'x.db', '--json'], cwd)).out);
    const first = await rotate();
    expect(first.previous).toBe(null);
    expect(await rotate()).toMatchObject({ previous: first.key });
    const { out } = await run(['rotate-key', '--store', 'x.db'], cwd);
    expect(out).toMatch(/^Tokens are signed with the new key [\w-]{8}; tokens of [\w-]{8} stay valid/);
    expect((await run(['rotate-key', '--store', 'memory'], cwd)).code).toBe(2);
  });
});

/** Passes requests on with a token. Resolves to where it listens, with the path of the server behind it. */
async function withToken(url: string, token: string): Promise<string> {
  const { port, pathname } = new URL(url);
  const proxy = createServer((asked, response) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` };
    const { method, url: path } = asked;
    const passed = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${pathname}`;
}

describe('over HTTP', () => {
  it('a client goes on with runs of its own key only, whatever name it claims', {
    timeout: SLOW_MS,
  }, async () => {
    const cwd = project();
    const token = async (name: string, role: string) => {
      const io = recordedIo({ cwd });
      await main(['token', 'create', name, '--role', role, '--store', 'x.db'], io);
      return io.out().trim();
    };
    const [ann, bob, reader] = [
      await token('ann', 'run'),
      await token('bob', 'run'),
      await token('eve', 'read'),
    ];
    const server = serve(['agent.yml', '--http', '0', '--store', 'x.db'], cwd);
    const url = new URL(await server.url());
    await expect.poll(server.err).toMatch(/Bearer tt_/);
    const start = /Bearer (tt_[\w-]{43})"/.exec(server.err())?.[1] ?? '';
    // All of them call themselves "tester".
    const open = (own: string) =>
      connect(
        new StreamableHTTPClientTransport(url, {
          requestInit: { headers: { authorization: `Bearer ${own}` } },
        }) as Transport,
      );
    const [annCalls, bobCalls, ownCalls] = [await open(ann), await open(bob), await open(start)];
    const begun = await annCalls('start_workflow', { workflow: 'release' });
    const sent = { continueToken: begun.continueToken, notes: NOTES };
    for (const calls of [bobCalls, ownCalls]) {
      expect(await calls('resume_session', {})).toEqual({ runs: [] });
      expect(await calls('resume_session', { run: begun.run })).toMatchObject({
        error: { code: 'run_unknown' },
      });
      expect(await calls('continue_workflow', sent)).toMatchObject({ error: { code: 'token_foreign' } });
    }
    expect(await annCalls('continue_workflow', sent)).toMatchObject({
      step: { prompt: 'Do the part called build.' },
    });
    // Also over another connection of the same key.
    const again = await open(ann);
    expect((await again('resume_session', {})).runs).toMatchObject([{ run: begun.run, client: 'tester' }]);
    const io = recordedIo({ cwd });
    await main(['workflow', 'logs', begun.run, '--json', '--store', 'x.db'], io);
    expect(io.out()).toContain('"by":"mcp:token:ann (tester)"');
    expect(io.out()).not.toContain('"by":"tester"');
    for (const wrong of [reader, 'secret', '']) await expect(open(wrong)).rejects.toThrow(/401|token/i);
  });

  it('a session is of no use to a client with another key', { timeout: SLOW_MS }, async () => {
    const cwd = project();
    const io = recordedIo({ cwd });
    await main(['token', 'create', 'bob', '--role', 'run', '--store', 'x.db'], io);
    const server = serve(['agent.yml', '--http', '0', '--store', 'x.db', '--token', 'secret'], cwd);
    const url = await server.url();
    const send = (token: string, body: string, session?: string) =>
      fetch(url, {
        method: 'POST',
        body,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session === undefined ? {} : { 'mcp-session-id': session }),
        },
      });
    const begun = await send('secret', INITIALIZE);
    await begun.text();
    const session = begun.headers.get('mcp-session-id') ?? '';
    const list = '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}';
    expect((await send('secret', list, session)).status).toBe(200);
    expect((await send(io.out().trim(), list, session)).status).toBe(404);
  });

  it('only this machine, its own pages and who has the token are listened to', {
    timeout: SLOW_MS,
  }, async () => {
    const server = serve(['agent.yml', '--http', '0', '--store', 'memory'], project(), {
      TELLTALE_MCP_TOKEN: 'secret',
    });
    const url = await server.url();
    const { port } = new URL(url);
    const send = (headers: object, more: { method?: string; path?: string; body?: string } = {}) =>
      new Promise<number>((resolve, reject) => {
        const { method = 'POST', path = '/mcp', body = INITIALIZE } = more;
        const all = {
          host: `127.0.0.1:${port}`,
          authorization: 'Bearer secret',
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        };
        const asked = request({ host: '127.0.0.1', port, method, path, headers: all }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
          response.destroy();
        });
        asked.on('error', reject);
        asked.end(body);
      });
    expect(await send({})).toBe(200);
    expect(await send({ host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(200);
    expect(await send({ host: `127.0.0.2:${port}`, authorization: 'bearer secret' })).toBe(200);
    expect(await send({ host: '127.0.0.1.evil.example' })).toBe(403);
    expect(await send({ host: 'evil.example' })).toBe(403);
    expect(await send({ origin: 'https://evil.example' })).toBe(403);
    expect(await send({ origin: 'null' })).toBe(403);
    expect(await send({ authorization: 'Bearer secrets' })).toBe(401);
    expect(await send({ authorization: '' })).toBe(401);
    expect(await send({}, { path: '/' })).toBe(404);
    expect(await send({}, { method: 'PUT' })).toBe(405);
    expect(await send({}, { body: '{' })).toBe(400);
    expect(await send({}, { body: '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' })).toBe(400);
    expect(await send({ 'mcp-session-id': 'none' })).toBe(404);
    expect(await send({}, { method: 'GET', body: '' })).toBe(400);
    const tooLong = await send({}, { body: `"${'x'.repeat(9_000_000)}"` }).catch(() => 413); // or cut off meanwhile
    expect(tooLong).toBe(413);
    expect(await send({})).toBe(200);
    expect(server.child.exitCode).toBe(null);
  });

  it('the published suite passes, but for what is listed with its reasons', {
    timeout: SLOW_MS,
  }, async () => {
    const cwd = temporaryProject();
    const server = serve(
      [`${FIXTURE}/agent.yml`, '--http', '0', '--prefix', 'test_', '--store', 'memory'],
      cwd,
      { TELLTALE_MCP_TOKEN: 'secret' },
    );
    const args = [
      SUITE,
      'server',
      '--url',
      // The suite knows of no tokens.
      await withToken(await server.url(), 'secret'),
      '--expected-failures',
      `${FIXTURE}/expected-failures.yml`,
    ];
    const suite = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [suite.stdout, suite.stderr])
      stream.on('data', (chunk) => {
        said += chunk;
      });
    const code = await new Promise((resolve) => suite.on('close', resolve));
    expect(said).toContain('Baseline check passed');
    expect(said.match(/^✓/gm)?.length).toBe(15);
    expect([code, server.err().split('\n').length]).toEqual([0, 2]);
  });
});

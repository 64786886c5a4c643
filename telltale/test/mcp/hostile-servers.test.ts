import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { until } from '../targets/agent-targets.ts';
import { callOf, failureOf, fakeServer, openFake, refusal } from './fake-server.ts';

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

const textOf = async (work: Promise<{ readonly content: readonly unknown[] }>) =>
  (await work).content.map((block) => (block as { readonly text?: string }).text);

test('a program that is not there is named, and so is a folder', async () => {
  const missing = await refusal('', {}, { command: 'no-such-program-here' });
  expect(missing.code).toBe('command_missing');
  expect(missing.message).toContain('"no-such-program-here" of the MCP server "fake"');
  const folder = await refusal('', {}, { cwd: join(temporaryProject(), 'nowhere') });
  expect(folder.code).toBe('folder_missing');
});

test('a server that ends at once is quoted', async () => {
  const error = await refusal('console.error("FATAL: no token in TOKEN"); process.exit(3)');
  expect(error.code).toBe('mcp_failed');
  expect(error.message).toContain('MCP server "fake"');
  expect(error.message).toContain('server.mjs');
  expect(error.message).toContain('it exited with 3');
  expect(error.message).toContain('FATAL: no token in TOKEN');
});

test('a server that never answers is given up after the time, ended, and quoted', async () => {
  const folder = temporaryProject();
  const pidFile = join(folder, 'pid');
  const error = await refusal(
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
     console.log('Welcome to the server!'); console.error('waiting for a browser'); delete on.initialize;`,
    { startTimeoutMs: 500 },
  );
  expect(error).toMatchObject({ code: 'mcp_failed', retryable: true });
  expect(error.message).toContain('did not answer within 0.5 s');
  expect(error.message).toContain('waiting for a browser');
  expect(error.message).toContain('Welcome to the server!');
  expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
});

test('a server that never lists its tools is given up after the time', async () => {
  const error = await refusal(`delete on['tools/list']`, { startTimeoutMs: 500 });
  expect(error.message).toContain('did not list its tools within 0.5 s');
});

test.each([
  [`on['tools/list'] = ({ id }) => reply(id, { tools: 5 })`, 'what it listed are no tools'],
  [`on['tools/list'] = ({ id }) => reply(id, { tools: [], nextCursor: 'again' })`, 'more than 100 pages'],
  [`tools = Array.from({ length: 1500 }, (_, n) => ({ name: 't' + n }))`, 'more than 1000 tools'],
  [
    `on['tools/list'] = ({ id }) => send({ id, error: { code: -32000, message: 'locked out' } })`,
    'locked out',
  ],
  [`on.initialize = ({ id }) => send({ id, error: { code: 1, message: 'too old' } })`, 'too old'],
  [
    `on.initialize = ({ id }) => reply(id, { protocolVersion: '1900-01-01', capabilities: {}, serverInfo: { name: 'x', version: '1' } })`,
    '1900-01-01',
  ],
])('a server that begins badly is refused: %s', async (code, words) => {
  const error = await refusal(code);
  expect(error.code).toBe('mcp_failed');
  expect(error.message).toContain(words);
});

test('lists of several pages are read to their end, and what is no tool is left out', async () => {
  const server = await openFake(`on['tools/list'] = ({ id, params }) => params?.cursor === 'p2'
    ? reply(id, { tools: [{ name: 'b', annotations: { readOnlyHint: true } }] })
    : reply(id, { tools: [{ name: 'a', description: 'A' }, null, {}, { name: '' }, { name: 'task', execution: { taskSupport: 'required' } }], nextCursor: 'p2' })`);
  expect(server.tools).toEqual([
    { name: 'a', description: 'A', inputSchema: {}, idempotent: false },
    { name: 'b', description: '', inputSchema: {}, idempotent: true },
  ]);
});

test('lines that are no messages are passed over', async () => {
  const server = await openFake(`
    process.stdout.write('banner\\n\\n[1,2]\\n42\\nnull\\n{"jsonrpc":"2.0"}\\n{"id":{},"result":1}\\n{"jsonrpc":"2.0","id":null}\\n');
    on['tools/call'] = ({ id }) => { console.log('debug: called'); send({ method: 'notifications/made_up', params: 5 }); reply(id, text('done')); }`);
  expect(await textOf(server.call(callOf()))).toEqual(['done']);
});

test('a server that prints without end what is no message is ended', async () => {
  const server = await openFake(
    `on['tools/call'] = () => { const more = () => { while (process.stdout.write('noise\\n')); process.stdout.once('drain', more); }; more(); }`,
  );
  const error = await failureOf(server.call(callOf()));
  expect(error).toMatchObject({ code: 'mcp_failed', retryable: true });
  expect(error.message).toContain('lines that are no messages');
});

test('a message without end is not kept, and ends its server', async () => {
  const server = await openFake(
    `on['tools/call'] = () => { const block = 'x'.repeat(65536); const more = () => { while (process.stdout.write(block)); process.stdout.once('drain', more); }; process.stdout.write('{"jsonrpc":"2.0","id":2,"result":"'); more(); }`,
    { maxMessageBytes: 1024 * 1024 },
  );
  const before = process.memoryUsage().arrayBuffers;
  const error = await failureOf(server.call(callOf()));
  expect(error.message).toContain('a message of more than 1048576 bytes');
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
});

const DIES_ONCE = (file: string) => `import { existsSync, writeFileSync } from 'node:fs';
  if (!existsSync(${JSON.stringify(file)})) on['tools/call'] = () => { writeFileSync(${JSON.stringify(file)}, ''); console.error('segfault, sort of'); process.exit(139); };`;

test('a server that dies in the midst of a call fails it, and is started again at the next', async () => {
  const server = await openFake(DIES_ONCE(join(temporaryProject(), 'died')));
  const error = await failureOf(server.call(callOf()));
  expect(error).toMatchObject({ code: 'mcp_failed', retryable: true });
  expect(error.message).toContain('it exited with 139');
  expect(error.message).toContain('segfault, sort of');
  expect(await textOf(server.call(callOf()))).toEqual(['done']);
});

test('calls that meet a dead server wait for one new one', async () => {
  const starts = join(temporaryProject(), 'starts');
  const server = await openFake(`import { appendFileSync } from 'node:fs';
    appendFileSync(${JSON.stringify(starts)}, 'x');
    on['tools/call'] = ({ id, params }) => params.arguments.die ? process.exit(1) : reply(id, text('done'));`);
  await failureOf(server.call(callOf({ input: { die: true } })));
  const answers = await Promise.all(Array.from({ length: 5 }, () => textOf(server.call(callOf()))));
  expect(answers.flat()).toEqual(Array(5).fill('done'));
  expect(readFileSync(starts, 'utf8')).toBe('xx');
});

test('a server that dies at every call is not started for ever', async () => {
  const server = await openFake(`on['tools/call'] = () => process.exit(1)`);
  const messages: string[] = [];
  for (let calls = 0; calls < 8; calls++) messages.push((await failureOf(server.call(callOf()))).message);
  expect(messages[5]).toContain('ended during the call');
  expect(messages[6]).toContain('has ended 6 times');
  expect(messages[7]).toBe(messages[6]);
});

test('an answer to another question is passed over, and the call ends when it is stopped', async () => {
  const server = await openFake(
    `on['tools/call'] = ({ id }) => { reply(id + 1000, text('not yours')); reply('x', text('nor this')); }`,
  );
  const controller = new AbortController();
  const failed = failureOf(server.call(callOf({ signal: controller.signal })));
  setTimeout(() => controller.abort(), 50);
  expect((await failed).code).toBe('cancelled');
});

test('a call that is stopped is cancelled at the server, one that has ended is not', async () => {
  const server = await openFake(`
    on['tools/call'] = ({ id, params }) => params.arguments.seen ? reply(id, text(JSON.stringify(seen.filter((m) => m.method === 'notifications/cancelled')))) : params.arguments.now ? reply(id, text('')) : undefined;`);
  const controller = new AbortController();
  const failed = failureOf(server.call(callOf({ signal: controller.signal })));
  await server.call(callOf({ signal: controller.signal, input: { now: true } }));
  controller.abort();
  expect((await failed).code).toBe('cancelled');
  const [text = ''] = await textOf(server.call(callOf({ input: { seen: true } })));
  expect(JSON.parse(text)).toMatchObject([{ params: { requestId: 2 } }]);
  expect((await failureOf(server.call(callOf({ signal: controller.signal })))).code).toBe('cancelled');
});

test.each([
  [`reply(id, 5)`, 'mcp_failed'],
  [`reply(id, {})`, 'mcp_failed'],
  [`reply(id, { content: 'text' })`, 'mcp_failed'],
  [`reply(id, { content: [5] })`, 'mcp_failed'],
  [`send({ id, error: { code: -32602, message: 'no such thing' } })`, 'tool_failed'],
  [`send({ id, error: 'odd' })`, 'mcp_failed'],
  [`send({ id })`, 'mcp_failed'],
])('%s is no answer', async (answer, code) => {
  const server = await openFake(`on['tools/call'] = ({ id }) => { ${answer} }`);
  const controller = new AbortController();
  const failed = failureOf(server.call(callOf({ signal: controller.signal })));
  const timer = setTimeout(() => controller.abort(), 1_000);
  expect((await failed).code).toBe(code);
  clearTimeout(timer);
});

test('all progress comes before the answer, up to a limit', async () => {
  const server = await openFake(`on['tools/call'] = ({ id, params }) => {
    const progressToken = params._meta.progressToken;
    for (let n = 1; n <= params.arguments.n; n++) send({ method: 'notifications/progress', params: { progressToken, progress: n, total: params.arguments.n, message: 'm' } });
    send({ method: 'notifications/progress', params: { progressToken: 999, progress: 1 } });
    reply(id, text('done')); }`);
  const seen: unknown[] = [];
  await server.call(callOf({ input: { n: 3 }, onProgress: (data) => seen.push(data) }));
  expect(seen).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: 'm' })));
  seen.length = 0;
  await server.call(callOf({ input: { n: 20_000 }, onProgress: (data) => seen.push(data) }));
  expect(seen).toHaveLength(10_000);
});

test('requests of a server for what this client does not offer are refused, and harm nothing', async () => {
  const server = await openFake(`
    on['tools/call'] = ({ id }) => { send({ id: 'q1', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }); send({ id: 'q2', method: 'roots/list' }); setTimeout(() => reply(id, text(JSON.stringify(seen.filter((m) => m.error).map((m) => [m.id, m.error.code])))), 50); };`);
  expect(await textOf(server.call(callOf()))).toEqual([
    JSON.stringify([
      ['q1', -32601],
      ['q2', -32601],
    ]),
  ]);
});

test('a server that will not end is killed, with all that it has started', async () => {
  const folder = temporaryProject();
  const file = join(folder, 'pids');
  const server = await createMcpClient()(
    fakeServer(`import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs';
      for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => {});
      setInterval(() => {}, 1000);
      const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      writeFileSync(${JSON.stringify(file)}, process.pid + ' ' + child.pid);`),
  );
  await until(() => existsSync(file));
  const pids = readFileSync(file, 'utf8').split(' ').map(Number);
  expect(pids.map(isAlive)).toEqual([true, true]);
  await server.close();
  await until(() => pids.every((pid) => !isAlive(pid)));
  expect((await failureOf(server.call(callOf()))).code).toBe('cancelled');
});

test('a server ends with a runtime that was killed', async () => {
  const file = join(temporaryProject(), 'pid');
  const start = fakeServer(
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(file)}, String(process.pid));`,
  );
  const { clock: _, ...plain } = start;
  const source = new URL('../../src/', import.meta.url).href;
  const code = `
    const { createMcpClient } = await import(${JSON.stringify(`${source}mcp/open-mcp-server.ts`)});
    const { createSystemClock } = await import(${JSON.stringify(`${source}kernel/clock.ts`)});
    await createMcpClient()({ ...${JSON.stringify(plain)}, clock: createSystemClock() });
    process.kill(process.pid, 'SIGKILL');`;
  const { spawn } = await import('node:child_process');
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' });
  const signal = await new Promise((resolve) => parent.once('exit', (_code, name) => resolve(name)));
  expect(signal).toBe('SIGKILL');
  const pid = Number(readFileSync(file, 'utf8'));
  await until(() => !isAlive(pid));
});

test('a process that has nothing left to do ends, and its idle servers with it', async () => {
  const start = fakeServer('');
  const { clock: _, ...plain } = start;
  const source = new URL('../../src/', import.meta.url).href;
  const code = `
    const { createMcpClient } = await import(${JSON.stringify(`${source}mcp/open-mcp-server.ts`)});
    const { createSystemClock } = await import(${JSON.stringify(`${source}kernel/clock.ts`)});
    const server = await createMcpClient()({ ...${JSON.stringify(plain)}, clock: createSystemClock() });
    const answer = await server.call({ what: 'x', tool: 'go', input: {}, signal: new AbortController().signal });
    console.log(answer.content[0].text);`;
  const { spawn } = await import('node:child_process');
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  parent.stdout.on('data', (chunk) => {
    out += chunk;
  });
  expect(await new Promise((resolve) => parent.once('close', resolve))).toBe(0);
  expect(out).toBe('done\n');
});

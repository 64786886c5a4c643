import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Clock, createSystemClock } from '../../src/lib/clock.ts';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { until } from '../tools/agent-targets.ts';
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

/** A clock on which the time for a start is over once the server has written the file, however busy the machine is. */
const overOnce = (file: string, startTimeoutMs: number): Clock => {
  const clock = createSystemClock();
  const after: Clock['after'] = (ms, fire) => {
    if (ms !== startTimeoutMs) return clock.after(ms, fire);
    const poll = setInterval(() => {
      if (!existsSync(file)) return;
      clearInterval(poll);
      setTimeout(fire, 50); // what it printed before is in the pipe
    }, 10);
    return () => clearInterval(poll);
  };
  return { ...clock, after };
};

test('a server that never answers is given up after the time, ended, and quoted', async () => {
  const pidFile = join(temporaryProject(), 'pid');
  const error = await refusal(
    `console.log('Welcome to the server!'); console.error('waiting for a browser'); delete on.initialize;
     import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));`,
    { startTimeoutMs: 567 },
    { clock: overOnce(pidFile, 567) },
  );
  expect(error).toMatchObject({ code: 'mcp_failed', retryable: true });
  expect(error.message).toContain('did not answer within 0.567 s');
  expect(error.message).toContain('waiting for a browser');
  expect(error.message).toContain('Welcome to the server!');
  expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
});

test.each(['tools', 'prompts'])(
  'a server that never lists its %s is given up after the time',
  async (what) => {
    const asked = join(temporaryProject(), 'asked');
    const error = await refusal(
      `import { writeFileSync } from 'node:fs';
     on.initialize = ({ id, params }) => reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {}, prompts: {} }, serverInfo: { name: 'x', version: '1' } });
     on['${what}/list'] = () => writeFileSync(${JSON.stringify(asked)}, '');`,
      { startTimeoutMs: 567 },
      { clock: overOnce(asked, 567) },
    );
    expect(error.message).toContain(`did not list its ${what} within 0.567 s`);
  },
);

test.each([
  [`on['tools/list'] = ({ id }) => reply(id, { tools: 5 })`, 'its list of tools is invalid'],
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

test('a schema nested without end is none', async () => {
  const server = await openFake(`on['tools/list'] = ({ id }) => process.stdout.write(
    '{"jsonrpc":"2.0","id":' + id + ',"result":{"tools":[{"name":"deep","inputSchema":{"type":"object","properties":' + '{"a":'.repeat(20000) + '{}' + '}'.repeat(20000) + '}}]}}\\n')`);
  expect(server.tools).toEqual([{ name: 'deep', description: '', inputSchema: {}, idempotent: false }]);
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
  expect(error.message).toContain('lines that are not messages');
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

const NO_ANSWERS: readonly (readonly [answer: string, code: string])[] = [
  [`reply(id, 5)`, 'mcp_failed'],
  [`reply(id, {})`, 'mcp_failed'],
  [`reply(id, { content: 'text' })`, 'mcp_failed'],
  [`reply(id, { content: [5] })`, 'mcp_failed'],
  [`send({ id, error: { code: -32602, message: 'no such thing' } })`, 'tool_failed'],
  [`send({ id, error: 'odd' })`, 'mcp_failed'],
  [`send({ id })`, 'mcp_failed'],
];

test('what is no answer fails its call at once, and harms no other', async () => {
  const answers = NO_ANSWERS.map(([answer]) => `(id) => { ${answer} }`);
  const server = await openFake(
    `const answers = [${answers}]; on['tools/call'] = ({ id, params: { arguments: { n } } }) => n === undefined ? reply(id, text('done')) : answers[n](id);`,
  );
  for (const [n, [answer, code]] of NO_ANSWERS.entries())
    expect((await failureOf(server.call(callOf({ input: { n } })))).code, answer).toBe(code);
  expect(await textOf(server.call(callOf()))).toEqual(['done']);
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

test('a ping is answered, and requests for what this client does not offer are refused, and harm nothing', async () => {
  const server = await openFake(`
    on['tools/call'] = ({ id }) => {
      send({ id: 'q1', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
      send({ id: 'q2', method: 'roots/list' });
      send({ id: 'q3', method: 'elicitation/create', params: { message: 'who?', requestedSchema: { type: 'object', properties: {} } } });
      send({ id: 'q4', method: 'ping' });
      const answers = () => seen.filter((m) => m.method === undefined);
      const poll = setInterval(() => { if (answers().length === 4) { clearInterval(poll); reply(id, text(JSON.stringify([seen[0].params.capabilities, ...answers().map((m) => [m.id, m.error?.code ?? m.result])]))); } }, 5);
    };`);
  const [answer = ''] = await textOf(server.call(callOf()));
  expect(JSON.parse(answer)).toEqual([{}, ['q1', -32601], ['q2', -32601], ['q3', -32601], ['q4', {}]]);
});

test('an answer that comes after its call was stopped is dropped', async () => {
  const server = await openFake(`
    let late;
    on['tools/call'] = ({ id, params }) => { if (params.arguments.wait) late = id; else { reply(late, text('late')); reply(id, text('in time')); } };`);
  const controller = new AbortController();
  const stopped = failureOf(server.call(callOf({ signal: controller.signal, input: { wait: true } })));
  controller.abort();
  expect((await stopped).code).toBe('cancelled');
  expect(await textOf(server.call(callOf()))).toEqual(['in time']);
});

test('what a server logs is told where it fails, as far as it is kept', async () => {
  const server = await openFake(`on['tools/call'] = () => {
    for (let n = 0; n < 5000; n++) send({ method: 'notifications/message', params: { level: 'debug', data: 'line ' + n } });
    send({ method: 'notifications/message', params: { level: 'error', logger: 'db', data: { why: 'disk full' } } });
    send({ method: 'notifications/message' });
    process.stdout.write('\\n', () => process.exit(1));
  }`);
  const { message } = await failureOf(server.call(callOf()));
  expect(message).toContain('it exited with 1');
  expect(message).toContain('[error db] {"why":"disk full"}');
  expect(message.length).toBeLessThan(3_000);
});

test('a server of resources alone has no tools, and its resources can be read', async () => {
  const server = await openFake(`
    on.initialize = ({ id, params }) => reply(id, { protocolVersion: params.protocolVersion, capabilities: { resources: {} }, serverInfo: { name: 'x', version: '1' } });
    on['tools/list'] = ({ id }) => send({ id, error: { code: -32601, message: 'Method not found' } });
    on['resources/list'] = ({ id }) => reply(id, { resources: [{ uri: 'a:1', name: 'one' }, 5, { name: 'no address' }] });
    on['resources/templates/list'] = ({ id }) => send({ id, error: { code: -32601, message: 'Method not found' } });
    on['resources/read'] = ({ id, params }) => reply(id, params.uri === 'a:1' ? { contents: [{ uri: 'a:1', text: 'one' }] } : { contents: 'odd' });`);
  const ask = { what: 'tool "fake_read_resource"', signal: new AbortController().signal };
  expect(server.tools).toEqual([]);
  expect(server.prompts).toBeUndefined();
  expect(await server.resources?.list(ask)).toEqual({
    resources: [{ uri: 'a:1', name: 'one' }],
    templates: [],
    isCut: false,
  });
  expect(await server.resources?.read({ ...ask, uri: 'a:1' })).toEqual([{ uri: 'a:1', text: 'one' }]);
  const odd = await failureOf(server.resources?.read({ ...ask, uri: 'a:2' }) ?? Promise.resolve());
  expect(odd).toMatchObject({ code: 'mcp_failed', message: expect.stringContaining('is not a result') });
});

test('resources without end are listed up to a limit, and prompts without end are refused', async () => {
  const WITH = (capability: string) =>
    `on.initialize = ({ id, params }) => reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {}, ${capability}: {} }, serverInfo: { name: 'x', version: '1' } });`;
  const server = await openFake(`${WITH('resources')}
    const page = Array.from({ length: 300 }, (_, n) => ({ uri: 'a:' + n }));
    on['resources/list'] = ({ id }) => reply(id, { resources: page, nextCursor: 'more' });
    on['resources/templates/list'] = ({ id }) => reply(id, { resourceTemplates: [] });`);
  const listed = await server.resources?.list({ what: 'x', signal: new AbortController().signal });
  expect(listed).toMatchObject({ isCut: true, templates: [] });
  expect(listed?.resources).toHaveLength(1_000);
  const error = await refusal(`${WITH('prompts')}
    on['prompts/list'] = ({ id }) => reply(id, { prompts: Array.from({ length: 2000 }, (_, n) => ({ name: 'p' + n })) });`);
  expect(error.message).toContain('more than 1000 prompts');
});

test('a server that says again and again that its list has changed is asked no more than now and then', async () => {
  const server = await openFake(`
    let lists = 0;
    on['tools/list'] = ({ id }) => { lists++; reply(id, { tools: [...tools, { name: 't' + lists }] }); send({ method: 'notifications/tools/list_changed' }); };
    on['tools/call'] = ({ id }) => setTimeout(() => reply(id, text(String(lists))), 1000);`);
  const [lists] = await textOf(server.call(callOf()));
  expect(Number(lists)).toBeGreaterThan(1);
  expect(Number(lists)).toBeLessThan(10);
});

test('a new list that cannot be read leaves the old one', async () => {
  const server = await openFake(`
    on['tools/call'] = ({ id }) => { on['tools/list'] = ({ id }) => reply(id, { tools: 5 }); send({ method: 'notifications/tools/list_changed' }); setTimeout(() => reply(id, text('done')), 50); };`);
  const before = server.tools;
  expect(await textOf(server.call(callOf()))).toEqual(['done']);
  expect(server.tools).toBe(before);
  expect(await textOf(server.call(callOf()))).toEqual(['done']);
});

test('a server that comes back with other tools has those, and a tool that is gone says so', async () => {
  const marker = join(temporaryProject(), 'died');
  const server = await openFake(`import { existsSync, writeFileSync } from 'node:fs';
    const file = ${JSON.stringify(marker)};
    if (existsSync(file)) tools = [{ name: 'other' }];
    else on['tools/call'] = () => { writeFileSync(file, ''); process.exit(1); };`);
  let changes = 0;
  server.onChange?.(() => changes++);
  await failureOf(server.call(callOf()));
  const error = await failureOf(server.call(callOf()));
  expect(error).toMatchObject({ code: 'tool_gone', hint: 'It has now: fake_other.' });
  expect(server.tools.map(({ name }) => name)).toEqual(['other']);
  expect(changes).toBe(1);
  expect(await textOf(server.call(callOf({ tool: 'other' })))).toEqual(['done']);
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
    const { createSystemClock } = await import(${JSON.stringify(`${source}lib/clock.ts`)});
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
    const { createSystemClock } = await import(${JSON.stringify(`${source}lib/clock.ts`)});
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

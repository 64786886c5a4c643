import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { runAgent } from '../agent/run-agent.ts';
import { fakeServer } from '../mcp/fake-server.ts';
import { agentTargets, until } from './agent-targets.ts';
import { httpServer } from './http-server.ts';

/**
 * One tool of each kind that answers `{"n": INPUT}` and, where it streams, says `first` before `second`; with the input
 * "long" it answers with 2000 characters.
 */
async function everyKind(more: string) {
  const { port } = await httpServer(async ({ url }, response) => {
    response.setHeader('content-type', 'application/json');
    const n = decodeURIComponent(url.slice(1));
    if (n === '"long"') return response.end(JSON.stringify('x'.repeat(2000)));
    response.write('{"n":');
    await new Promise((resolve) => setTimeout(resolve, 20));
    return response.end(`${n}}`);
  });
  const server = fakeServer(`on['tools/call'] = ({ id, params: { arguments: { n }, _meta } }) => {
    for (const [progress, message] of [[1, 'first'], [2, 'second']])
      if (_meta) send({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress, message } });
    reply(id, { content: [], structuredContent: n === 'long' ? { n: 'x'.repeat(2000) } : { n } }); }`);
  const tool = (name: string, implementation: string) =>
    `kind: Tool\nname: ${name}\nparameters: { type: object, properties: { n: {}, json: {} } }\nimplementation: ${implementation}\n${more}\n`;
  const print = `console.error('first'); setTimeout(() => { const n = JSON.parse(process.argv[1]); console.log(JSON.stringify(n === 'long' ? 'x'.repeat(2000) : { n })) }, 20)`;
  const files = {
    'tools/module.yml': tool('module', '{ module: ./module.mjs }'),
    'tools/module.mjs': `export const run = ({ n }, { progress }) => { progress('first'); progress('second'); return n === 'long' ? 'x'.repeat(2000) : { n }; }`,
    'tools/command.yml': tool('command', `{ command: [node, -e, ${JSON.stringify(print)}, "{json}"] }`),
    'tools/http.yml': tool('http', `{ http: { url: "http://127.0.0.1:${port}/{json}" } }`),
    'tools/script.yml': tool(
      'script',
      `{ script: "console.log('first'); console.log('second'); const { n } = parameters; n === 'long' ? 'x'.repeat(2000) : { n }" }`.replace(
        ': { n }"',
        ': ({ n })"',
      ),
    ),
    'tools/mcp.yml': tool('mcp', '{ mcp: { server: fake, tool: go } }'),
  };
  const mcp = `{ mcp: { name: fake, command: ${JSON.stringify(server.command)}, args: ${JSON.stringify(server.args)} } }`;
  const manifest = `import: { tools: ["./tools/*.yml", ${mcp}] }\npermissions: { network: [127.0.0.1] }\n`;
  return { files, manifest };
}

const KINDS = ['module', 'command', 'http', 'script', 'mcp'] as const;
const input = (n: unknown) => ({ n, json: JSON.stringify(n) }) as { n: string; json: string };

const given = async (more: string) => {
  const { files, manifest } = await everyKind(more);
  return agentTargets({ agent: manifest, files, options: { mcp: createMcpClient(), graceMs: 100 } });
};

test('a result that does not fit "output.schema" is an error with its path, whatever the tool is made of', async () => {
  const { call, failure, table } = await given(
    'output: { schema: { type: object, properties: { n: { type: integer } } } }',
  );
  const tried = KINDS.map(async (kind) => {
    expect(await call(kind, input(5)), kind).toEqual({ n: 5 });
    const error = await failure(kind, input('text'));
    expect(error.code, kind).toBe('bad_output');
    expect(error.message, kind).toContain('"/n" is "text"; it must be a whole number.');
  });
  await Promise.all(tried);
  await table.close();
});

test('"output.max_bytes" holds, whatever the tool is made of', async () => {
  const { call, failure, table } = await given('output: { max_bytes: 1000 }');
  for (const kind of KINDS.filter((each) => each !== 'command'))
    expect((await failure(kind, input('long'))).code, kind).toBe('output_too_large');
  // Of what a program prints the beginning and the end are kept, as for every command.
  expect(await call('command', input('long'))).toContain('bytes left out');
  await table.close();
});

test.each([true, false])('partial results are progress only where the tool streams: %s', async (stream) => {
  const { call, table } = await given(`stream: ${stream}`);
  const shown = await Promise.all(
    KINDS.map(async (kind) => {
      const seen: unknown[] = [];
      await call(kind, input(5), { progress: (data) => seen.push(data) });
      return [kind, seen];
    }),
  );
  expect(Object.fromEntries(shown)).toEqual(
    stream ? PROGRESS : Object.fromEntries(KINDS.map((kind) => [kind, []])),
  );
  await table.close();
});

const PROGRESS: Readonly<Record<(typeof KINDS)[number], readonly unknown[]>> = {
  module: ['first', 'second'],
  command: [
    { stream: 'stderr', text: 'first\n' },
    { stream: 'stdout', text: '{"n":5}\n' },
  ],
  http: [{ text: '{"n":' }, { text: '5}' }],
  script: [{ text: 'first' }, { text: 'second' }],
  mcp: [
    { progress: 1, message: 'first' },
    { progress: 2, message: 'second' },
  ],
};

test('an action template calls a tool of every kind, and its progress reaches the session', async () => {
  const { files, manifest } = await everyKind('stream: true');
  const templates = KINDS.map(
    (kind) => `  t_${kind}: { type: tool, name: ${kind}, parameters: { n: 7, json: "7" } }`,
  );
  const actions = KINDS.map((kind) => `<action id="${kind}">{"template":"t_${kind}"}</action>`).join('\n');
  const ran = await runAgent({
    manifest: `${manifest}action_templates:\n${templates.join('\n')}\n`,
    files,
    turns: [`${actions}<response>done</response>`],
    runtime: { mcp: createMcpClient(), env: { PATH: process.env.PATH } },
  });
  expect(ran.result).toMatchObject({ status: 'completed', result: 'done' });
  const outputs = new Map(ran.of('action.completed').map(({ id, output }) => [id, output]));
  for (const kind of KINDS)
    expect(outputs.get(kind), kind).toEqual(kind === 'command' ? '{"n":7}' : { n: 7 });
  for (const kind of KINDS)
    expect(
      ran.observed.filter((event) => event.type === 'action.progress' && event.id === kind).length,
      kind,
    ).toBeGreaterThan(0);
});

test('a session that cannot have its MCP server does not begin, and says why', async () => {
  const { manifest } = await everyKind('');
  const bad = manifest
    .replace(/command: "[^"]*"/, 'command: no-such-server-here')
    .replace('"./tools/*.yml", ', '');
  const error = await runAgent({ manifest: bad, turns: [], runtime: { mcp: createMcpClient() } }).catch(
    (e) => e,
  );
  expect(error).toMatchObject({ code: 'command_missing' });
  expect(error.message).toContain('no-such-server-here');
});

test('closing the runtime ends the servers of its agents', async () => {
  const folder = fakeServer('').cwd;
  const server = fakeServer(
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(join(folder, 'pid'))}, String(process.pid)); setInterval(() => {}, 1000);`,
  );
  const mcp = `{ mcp: { name: fake, command: ${JSON.stringify(server.command)}, args: ${JSON.stringify(server.args)} } }`;
  await runAgent({
    manifest: `import: { tools: [${mcp}] }\n`,
    turns: ['<response>done</response>'],
    runtime: { mcp: createMcpClient() },
  });
  const { readFileSync } = await import('node:fs');
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
  await until(() => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
});

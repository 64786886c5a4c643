import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { agentTargets, type Given } from '../targets/agent-targets.ts';

const require = createRequire(import.meta.url);
const BINS = {
  everything: require.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
  filesystem: require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'),
};

/** An agent that imports a published server. */
async function given(
  server: keyof typeof BINS,
  args: readonly string[],
  more: Partial<Given> & { mcp?: string } = {},
) {
  const command = JSON.stringify(process.execPath);
  const list = JSON.stringify([BINS[server], ...args]);
  const targets = await agentTargets({
    ...more,
    agent: `import: { tools: [{ mcp: { name: peer, command: ${command}, args: ${list}${more.mcp ?? ''} } }${more.agent ?? ']'} }`,
    options: { mcp: createMcpClient(), graceMs: 100, ...more.options },
  });
  onTestFinished(() => targets.table.close());
  return targets;
}

test('the tools of server-everything can be called, and give what they should', async () => {
  const { table, tool, call, failure } = await given('everything', ['stdio'], {
    mcp: ', env: { ONLY: this }',
  });
  expect(table.all.map(({ name }) => name)).toContain('peer_get-sum');
  expect(tool('peer_echo')).toMatchObject({ idempotent: true, parameters: { required: ['message'] } });
  expect(await call('peer_echo', { message: 'hällo' })).toBe('Echo: hällo');
  expect(await call('peer_get-structured-content', { location: 'Chicago' })).toMatchObject({
    temperature: expect.any(Number),
  });
  expect(await call('peer_get-tiny-image')).toEqual([
    expect.any(String),
    { type: 'image', mimeType: 'image/png', data: expect.stringMatching(/^iVBOR/) },
    expect.any(String),
  ]);
  expect(await call('peer_get-resource-links', { count: 2 })).toMatchObject([
    expect.any(String),
    { type: 'resource_link', uri: expect.stringContaining('demo://') },
    { type: 'resource_link' },
  ]);
  expect((await failure('peer_echo', { message: 5 })).code).toBe('bad_parameters');

  const env = JSON.parse(String(await call('peer_get-env')));
  expect(env).toMatchObject({ ONLY: 'this', PATH: process.env.PATH });
  expect(env).not.toHaveProperty('SECRET');

  const seen: unknown[] = [];
  const slow = 'peer_trigger-long-running-operation';
  await call(slow, { duration: 0.1, steps: 3 }, { progress: (data) => seen.push(data) });
  expect(seen).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
  const controller = new AbortController();
  const stopped = failure(slow, { duration: 60, steps: 2 }, { signal: controller.signal });
  controller.abort();
  expect((await stopped).code).toBe('cancelled');
  expect(await call('peer_echo', { message: 'still there' })).toBe('Echo: still there');
});

test('server-filesystem reads and writes in its folder, and what it refuses fails the action', async () => {
  const folder = temporaryProject({ 'a.txt': 'first' });
  mkdirSync(join(folder, 'sub'));
  const { call, failure } = await given('filesystem', [folder]);
  expect(await call('peer_read_text_file', { path: join(folder, 'a.txt') })).toMatchObject({
    content: 'first',
  });
  await call('peer_write_file', { path: join(folder, 'sub/b.txt'), content: 'second' });
  writeFileSync(join(folder, 'c.txt'), 'x'.repeat(3_000_000));
  const error = await failure('peer_read_text_file', { path: '/etc/passwd' });
  expect(error.code).toBe('tool_failed');
  expect(error.message).toContain('outside allowed directories');
  expect((await failure('peer_read_text_file', { path: join(folder, 'c.txt') })).code).toBe(
    'output_too_large',
  );
});

test('a Tool that stands for a tool of a server has its own name and rules, and takes its place', async () => {
  const { table, tool, call, failure } = await given('everything', ['stdio'], {
    agent: ', ./tools.yml]',
    files: {
      'tools.yml': [
        'kind: Tool\nname: add\nimplementation: { mcp: { server: peer, tool: get-sum } }',
        'kind: Tool\nname: say\ndescription: Says it.\napproval: always\nparameters: { type: object, properties: { message: { enum: [yes, no] } } }\nimplementation: { mcp: { server: peer, tool: echo } }',
        'kind: Tool\nname: weather\noutput: { schema: { type: object, properties: { temperature: { type: string } } } }\nimplementation: { mcp: { server: peer, tool: get-structured-content } }',
        'kind: Tool\nname: quiet\nimplementation: { mcp: { server: peer, tool: trigger-long-running-operation } }',
        'kind: Tool\nname: brief\noutput: { max_bytes: 10 }\nimplementation: { mcp: { server: peer, tool: get-annotated-message } }',
      ].join('\n---\n'),
    },
  });
  const names = table.all.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['add', 'say', 'peer_get-tiny-image']));
  expect(names).not.toEqual(expect.arrayContaining(['peer_echo']));
  expect(names).not.toEqual(expect.arrayContaining(['peer_get-sum']));
  expect(tool('add')).toMatchObject({
    description: expect.stringContaining('sum'),
    parameters: { required: ['a', 'b'] },
  });
  expect(await call('add', { a: 1, b: 2 })).toContain('3');
  expect(tool('say').description).toBe('Says it.');
  expect((await failure('say', { message: 'maybe' })).code).toBe('bad_parameters');
  expect((await failure('say', { message: 'yes' })).code).toBe('not_permitted');
  const wrong = await failure('weather', { location: 'Chicago' });
  expect(wrong.code).toBe('bad_output');
  expect(wrong.message).toContain('"/temperature"');
  const seen: unknown[] = [];
  await call('quiet', { duration: 0.05, steps: 2 }, { progress: (data) => seen.push(data) });
  expect(seen).toEqual([]);
  expect((await failure('brief', { messageType: 'debug' })).code).toBe('output_too_large');
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { agentTargets, type Given } from '../tools/agent-targets.ts';

const require = createRequire(import.meta.url);
const BINS = {
  everything: require.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
  filesystem: require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'),
  memory: require.resolve('@modelcontextprotocol/server-memory/dist/index.js'),
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

test('the resources of server-everything can be listed and read, and its prompts had', async () => {
  const { table, tool, call, failure } = await given('everything', ['stdio'], {
    mcp: ', timeout: 20s',
  });
  for (const name of ['peer_list_resources', 'peer_read_resource', 'peer_get_prompt'])
    expect(tool(name)).toMatchObject({ idempotent: true, timeoutMs: 20_000 });
  const all = (await call('peer_list_resources')) as Record<string, readonly { uri?: string }[]>;
  expect(all.templates?.map((template) => (template as { uriTemplate?: string }).uriTemplate)).toContain(
    'demo://resource/dynamic/text/{resourceId}',
  );
  const document = all.resources?.find(({ uri }) => uri?.endsWith('features.md'))?.uri ?? '';
  expect(await call('peer_read_resource', { uri: document })).toContain('# Everything Server');
  expect(await call('peer_list_resources', { matching: 'Features.md' })).toMatchObject({
    resources: [{ uri: document }],
  });
  expect(await call('peer_read_resource', { uri: 'demo://resource/dynamic/text/7' })).toContain('Resource 7');
  expect(await call('peer_read_resource', { uri: 'demo://resource/dynamic/blob/7' })).toMatchObject([
    { type: 'resource', mimeType: 'text/plain', data: expect.stringMatching(/^[A-Za-z0-9+/=]+$/) },
  ]);
  const missing = await failure('peer_read_resource', { uri: 'demo://nowhere' });
  expect(missing.code).toBe('tool_failed');
  expect(missing.message).toContain('demo://nowhere');

  expect(tool('peer_get_prompt').description).toContain(
    '"args-prompt": A prompt with two arguments, one required and one optional. Arguments: city (required), state.',
  );
  expect(await call('peer_get_prompt', { name: 'args-prompt', arguments: { city: 'Rome' } })).toContain(
    'Rome',
  );
  expect(
    await call('peer_get_prompt', {
      name: 'resource-prompt',
      arguments: { resourceType: 'Text', resourceId: '1' },
    }),
  ).toMatchObject([{ role: 'user' }, { role: 'user', content: [{ type: 'resource' }] }]);
  expect((await failure('peer_get_prompt', { name: 'args-prompt' })).code).toBe('tool_failed');
  const unknown = await failure('peer_get_prompt', { name: 'arg-prompt' });
  expect(unknown).toMatchObject({ code: 'target_unknown', hint: 'Did you mean "args-prompt"?' });
  expect((await failure('peer_get_prompt', { name: 'args-prompt', arguments: { city: 5 } })).code).toBe(
    'bad_parameters',
  );
  expect(table.latest()).toBe(table);
});

test('a manifest can leave out the resources and the prompts of a server', async () => {
  const { table } = await given('everything', ['stdio'], { mcp: ', resources: false, prompts: false' });
  const names = table.all.map(({ name }) => name);
  expect(names).toContain('peer_echo');
  for (const name of ['peer_list_resources', 'peer_read_resource', 'peer_get_prompt'])
    expect(names).not.toContain(name);
});

test('server-memory keeps what it is told, and has it after a restart', async () => {
  const file = join(temporaryProject(), 'memory.jsonl');
  const more = { mcp: `, env: { MEMORY_FILE_PATH: ${JSON.stringify(file)} }` };
  const first = await given('memory', [], more);
  await first.call('peer_create_entities', {
    entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }],
  });
  await first.table.close();
  const second = await given('memory', [], more);
  expect(await second.call('peer_search_nodes', { query: 'programs' })).toMatchObject({
    entities: [{ name: 'Ada' }],
  });
  expect(
    (await second.failure('peer_add_observations', { observations: [{ entityName: 'Bob', contents: [] }] }))
      .code,
  ).toBe('tool_failed');
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

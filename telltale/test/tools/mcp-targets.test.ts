import { expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { McpAnswer, McpServer, McpTool, OpenMcpServer } from '../../src/tools/mcp/mcp-server.ts';
import { mcpResult, mcpTargetName, usableSchema } from '../../src/tools/mcp/mcp-server.ts';
import { agentTargets, type Given } from './agent-targets.ts';

const toolNamed = (name: string, more: Partial<McpTool> = {}): McpTool => ({
  name,
  description: '',
  inputSchema: { type: 'object' },
  idempotent: false,
  ...more,
});

/** Servers that have these tools, and which of them were closed. */
function servers(tools: Readonly<Record<string, readonly McpTool[]>>) {
  const closed: string[] = [];
  const open: OpenMcpServer = async ({ name }): Promise<McpServer> => {
    const own = tools[name];
    if (own === undefined) throw new RuntimeError('mcp_failed', `no ${name}`);
    return {
      name,
      tools: own,
      call: async ({ tool }) => ({ isError: false, structured: { tool }, content: [] }),
      close: async () => void closed.push(name),
    };
  };
  return { open, closed };
}

const importing = (...names: readonly string[]) =>
  `import: { tools: [${names.map((name) => `{ mcp: { name: ${name}, command: x } }`).join(', ')}] }`;

const refusal = async (given: Given): Promise<RuntimeError> => {
  const thrown = await agentTargets(given).catch((error: unknown) => error);
  if (thrown instanceof RuntimeError) return thrown;
  throw thrown;
};

test.each([
  ['create_issue', 'gh_create_issue'],
  ['issues/create.now', 'gh_issues_create_now'],
  ['../../etc/passwd', 'gh_______etc_passwd'],
  ['"><action name="x">', 'gh____action_name__x__'],
  ['__proto__', 'gh___proto__'],
  ['😀', 'gh__'],
])('the tool %j of a server is called %s', (tool, name) => {
  expect(mcpTargetName('gh', tool)).toBe(name);
});

test('a name that is too long for providers is cut, and two such stay apart', () => {
  const [one, other] = ['a', 'b'].map((end) => mcpTargetName('server', `${'x'.repeat(500)}${end}`));
  expect(one).toMatch(/^server_x+_[0-9a-f]{8}$/);
  expect(one).toHaveLength(64);
  expect(other).not.toBe(one);
});

test('every tool of a server is in the table, and is called by the name the server gave it', async () => {
  const { open, closed } = servers({ gh: [toolNamed('a/b', { description: 'D', idempotent: true })] });
  const { table, call, tool } = await agentTargets({ agent: importing('gh'), options: { mcp: open } });
  expect(tool('gh_a_b')).toMatchObject({
    kind: 'tool',
    description: 'D',
    idempotent: true,
    start: 'on_close',
  });
  expect(await call('gh_a_b')).toEqual({ tool: 'a/b' });
  await table.close();
  expect(closed).toEqual(['gh']);
});

test('two tools that would have one name are refused, both named, and the server is ended', async () => {
  const { open, closed } = servers({ gh: [toolNamed('a.b'), toolNamed('a/b')] });
  const error = await refusal({ agent: importing('gh'), options: { mcp: open } });
  expect(error.code).toBe('name_taken');
  expect(error.message).toContain('"a.b" and "a/b"');
  expect(error.message).toContain('"gh_a_b"');
  expect(closed).toEqual(['gh']);
});

test('a tool that has the name of another of the agent is refused', async () => {
  const { open, closed } = servers({ gh: [toolNamed('x')] });
  const error = await refusal({
    agent: 'import: { tools: [{ mcp: { name: gh, command: x } }, ./t.yml] }',
    files: { 't.yml': 'kind: Tool\nname: gh_x\nimplementation: { command: [ls] }\n' },
    options: { mcp: open },
  });
  expect(error.code).toBe('name_taken');
  expect(error.message).toContain('gh_x');
  expect(closed).toEqual(['gh']);
});

test('where one server cannot be opened the others are ended', async () => {
  const { open, closed } = servers({ a: [], c: [] });
  const error = await refusal({ agent: importing('a', 'b', 'c'), options: { mcp: open } });
  expect(error.message).toBe('no b');
  expect(closed.toSorted()).toEqual(['a', 'c']);
});

test('a server is refused where there is no client', async () => {
  expect(await refusal({ agent: importing('gh') })).toMatchObject({ code: 'not_built' });
});

test.each([
  ['', 'The host "example.com" (port 443) is not permitted.'],
  [
    'permissions: { network: { allow: ["*"], deny: [example.com] } }',
    'not allowed to reach the host "example.com" (port 443)',
  ],
  ['permissions: { network: { ask: [example.com] } }', 'needs approval'],
])(
  'a server over HTTP is asked for nothing where its host is not allowed: %s',
  async (permissions, words) => {
    const { open } = servers({ far: [] });
    const agent = `import: { tools: [{ mcp: { name: far, url: "https://example.com/secret-path", headers: { Authorization: "Bearer abc123" } } }] }\n${permissions}`;
    const error = await refusal({ agent, options: { mcp: open } });
    expect(error).toMatchObject({ code: 'not_permitted' });
    expect(error.message).toContain('The MCP server "far" cannot be reached');
    expect(error.message).toContain(words);
    expect(JSON.stringify(error)).not.toMatch(/secret-path|abc123/);
  },
);

test('a Tool for a tool that the server does not have is refused, with the nearest name', async () => {
  const { open } = servers({ gh: [toolNamed('create_issue')] });
  const error = await refusal({
    agent: 'import: { tools: [{ mcp: { name: gh, command: x } }, ./t.yml] }',
    files: { 't.yml': 'kind: Tool\nname: t\nimplementation: { mcp: { server: gh, tool: creat_issue } }\n' },
    options: { mcp: open },
  });
  expect(error).toMatchObject({ code: 'target_unknown', hint: 'Did you mean "create_issue"?' });
});

test('a Tool for a server that the agent does not import is refused', async () => {
  const error = await refusal({
    agent: 'import: { tools: [./t.yml] }',
    files: { 't.yml': 'kind: Tool\nname: t\nimplementation: { mcp: { server: gh, tool: x } }\n' },
    allowErrors: true,
    options: { mcp: servers({}).open },
  });
  expect(error.code).toBe('target_unknown');
  expect(error.message).toContain('"gh"');
});

test('a schema that names another draft is used, and its draft dropped', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  expect(usableSchema({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema })).toEqual(schema);
});

test.each<[string, JsonObject]>([
  ['of no type', {}],
  ['of a list', { type: 'array' }],
  ['with an unknown type', { type: 'object', properties: { a: { type: 'strng' } } }],
  [
    'that refers to the network',
    { type: 'object', properties: { a: { $ref: 'http://evil.example/x.json' } } },
  ],
  ['with a pattern no engine takes', { type: 'object', properties: { a: { pattern: '(((' } } }],
  ['of enormous size', { type: 'object', description: 'x'.repeat(100_000) }],
  ['of enormous depth', { type: 'object', not: nested(200) }],
  ['that refers to itself without end', { type: 'object', allOf: [{ $ref: '#' }] }],
])('a schema %s lets every object pass', (_, schema) => {
  expect(usableSchema(schema)).toEqual({ type: 'object' });
});

function nested(depth: number): JsonObject {
  return depth === 0 ? {} : { not: nested(depth - 1) };
}

const answer = (more: Partial<McpAnswer>): McpAnswer => ({
  isError: false,
  structured: undefined,
  content: [],
  ...more,
});
const text = (words: string): JsonObject => ({ type: 'text', text: words });
const read = (more: Partial<McpAnswer>, maxBytes = 1000, wantsJson = false) =>
  mcpResult(answer(more), { what: 'tool "t"', maxBytes, wantsJson });
const failureOf = (work: () => Json): RuntimeError => {
  try {
    throw new Error(`should have failed, but gave ${JSON.stringify(work())}`);
  } catch (thrown) {
    if (thrown instanceof RuntimeError) return thrown;
    throw thrown;
  }
};

test('a result is the structured content, or the text, or a list of its parts', () => {
  expect(read({ structured: { a: 1 }, content: [text('{"a":1}')] })).toEqual({ a: 1 });
  expect(read({ content: [text('a'), text('b')] })).toBe('a\nb');
  expect(read({})).toBe('');
  expect(read({ content: [text('{"a":1}')] }, 1000, true)).toEqual({ a: 1 });
  expect(
    read({
      content: [
        text('see'),
        { type: 'image', mimeType: 'image/png', data: 'AAAA', annotations: { priority: 1 } },
        { type: 'resource', resource: { uri: 'file:///a', text: 'inside', _meta: {} } },
        { type: 'resource', resource: { uri: 'file:///b', blob: 'BBBB' } },
        { type: 'hologram', what: 'ever' },
        { type: 'text', text: { no: 'text' } },
        {},
      ],
    }),
  ).toEqual([
    'see',
    { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    { type: 'resource', uri: 'file:///a', text: 'inside' },
    { type: 'resource', uri: 'file:///b', data: 'BBBB' },
    { type: 'hologram', what: 'ever' },
    { type: 'text', text: { no: 'text' } },
    {},
  ]);
});

test('data that does not fit is left out, text that does not fit is an error', () => {
  const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(900) };
  expect(read({ content: [image, image] })).toEqual([
    image,
    { type: 'image', mimeType: 'image/png', omitted: '900 characters of base64' },
  ]);
  expect(failureOf(() => read({ content: [text('x'.repeat(1001))] })).code).toBe('output_too_large');
  expect(failureOf(() => read({ structured: { a: 'x'.repeat(1001) } })).code).toBe('output_too_large');
  expect(failureOf(() => read({ content: [{ type: 'odd', x: 'x'.repeat(1001) }] })).code).toBe(
    'output_too_large',
  );
});

test('an answer that says it is an error fails, with its words', () => {
  const error = failureOf(() => read({ isError: true, structured: {}, content: [text('no such repo')] }));
  expect(error).toMatchObject({ code: 'tool_failed', message: 'The call of tool "t" failed: no such repo' });
  const long = failureOf(() => read({ isError: true, content: [text('x'.repeat(1e6))] }));
  expect(long.message.length).toBeLessThan(2_100);
});

test('text that should have been JSON is an error', () => {
  expect(failureOf(() => read({ content: [text('no JSON')] }, 1000, true)).code).toBe('bad_output');
});

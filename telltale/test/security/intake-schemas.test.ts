import { expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { compileUserSchema } from '../../src/manifest/schema/user-schemas/check-user-schema.ts';
import { spawned } from '../cli/spawned.ts';
import { busyMs } from '../manifest/schema/busy-ms.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

/** Far more than a check takes, and far less than what is guarded against. */
const MAX_MS = 10_000;

/** A server over stdio whose one tool has this schema. */
const serverOf = (schema: object) => `
import { createInterface } from 'node:readline';
const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
  if (method === 'tools/list') reply(id, { tools: [{ name: 'go', description: 'Goes.', inputSchema: ${JSON.stringify(schema)} }] });
  if (method === 'tools/call') reply(id, { content: [{ type: 'text', text: 'the server was asked' }] });
});
`;

const ref = { $ref: '#/$defs/node' };
/** Refers to itself twice, so each level of a value doubles the work. */
const RECURSIVE = {
  type: 'object',
  properties: { tree: ref },
  $defs: {
    node: {
      anyOf: [
        { allOf: [{ properties: { child: ref } }, { required: ['left'] }] },
        { allOf: [{ properties: { child: ref } }, { required: ['right'] }] },
      ],
    },
  },
};

const nested = (levels: number): Json => {
  let value: Json = {};
  for (let level = 0; level < levels; level++) value = { child: value };
  return value;
};

const project = (schema: object, input: Json) =>
  temporaryProject({
    'server.mjs': serverOf(schema),
    'agent.yml': `kind: Agent
name: worker
model: scripted:./turns.yml
import:
  tools:
    - mcp: { name: far, command: ${JSON.stringify(process.execPath)}, args: [./server.mjs] }
permissions: { shell: allow }
`,
    'turns.yml': `turns:
  - |
    <action id="a1">${JSON.stringify({ name: 'far_go', parameters: input })}</action>
  - |
    <response final="true">Went on.</response>
`,
  });

it('a tool of an MCP server whose schema refers to itself twice fails the call, and the session goes on', async () => {
  const cwd = project(RECURSIVE, { tree: nested(60) });
  const { code, out, err } = await spawned(['run', 'agent.yml', 'Go', '--events'], cwd).ended;
  expect(err).not.toContain('error:');
  expect(code).toBe(0);
  expect(out).toContain('schema_too_complex');
  expect(out).toContain('MCP server \\"far\\"');
  expect(out).toContain('Went on.');
  expect(out).not.toContain('the server was asked');
});

it('the same tool still takes what can be judged', async () => {
  const cwd = project(RECURSIVE, { tree: { left: 1, child: { right: 1 } } });
  const { code, out } = await spawned(['run', 'agent.yml', 'Go', '--events'], cwd).ended;
  expect(code).toBe(0);
  expect(out).toContain('the server was asked');
});

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const wide = (): JsonObject => Object.fromEntries(many(50_000, (index) => [`p${index}`, index]));
const deepList = (): Json => {
  let value: Json = many(20_000, (index) => [index]);
  for (let level = 0; level < 400; level++) value = [value];
  return value;
};

it.each<[string, JsonObject, () => Json]>([
  ['alternatives that refer to themselves', RECURSIVE as JsonObject, () => ({ tree: nested(200) })],
  [
    'alternatives one in another over lists',
    {
      $ref: '#/$defs/n',
      $defs: {
        n: {
          anyOf: [
            { allOf: [{ items: { $ref: '#/$defs/n' } }, { minItems: 9 }] },
            { allOf: [{ items: { $ref: '#/$defs/n' } }, { minItems: 8 }] },
          ],
        },
      },
    },
    () => JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`) as Json,
  ],
  [
    'the length of a long text, again and again',
    { anyOf: many(2_000, (n) => ({ minLength: 10_000_000 + n })) },
    () => 'x'.repeat(1_000_000),
  ],
  [
    'many patterns on a long text',
    { anyOf: many(300, (n) => ({ pattern: `(a|b${n})*c{1,20}$` })) },
    () => 'ab'.repeat(30_000),
  ],
  [
    'the keys of a wide object, again and again',
    { anyOf: many(1_000, (n) => ({ minProperties: 10_000_000 + n })) },
    wide,
  ],
  [
    'names of properties',
    { anyOf: many(1_000, () => ({ propertyNames: { maxLength: 0 }, required: ['zz'] })) },
    wide,
  ],
  [
    'whether items are unique, at each level',
    { $ref: '#/$defs/n', $defs: { n: { uniqueItems: true, items: { $ref: '#/$defs/n' } } } },
    deepList,
  ],
])('a schema that judges %s takes a bounded time', (_what, schema, value) => {
  const compiled = compileUserSchema(schema);
  if (!compiled.ok) throw new Error(compiled.error[0]?.message);
  const judged = value();
  const started = busyMs();
  expect(compiled.value(judged)).toContain('too many steps');
  expect(busyMs() - started).toBeLessThan(MAX_MS);
  expect(compiled.value(null)).toBe(compiled.value(null)); // and it judges the next value as ever
});

it('a large value of a plain schema is judged whole', () => {
  const properties = Object.fromEntries(many(10, (n) => [`p${n}`, { type: 'string' }]));
  const compiled = compileUserSchema({
    type: 'array',
    items: { type: 'object', properties, additionalProperties: false },
  });
  if (!compiled.ok) throw new Error(compiled.error[0]?.message);
  const item = Object.fromEntries(many(10, (n) => [`p${n}`, 'x']));
  const items = many(50_000, () => item);
  expect(compiled.value(items)).toBeUndefined();
  expect(compiled.value([...items, { p0: 5 }])).toBe('/50000/p0 must be string');
});

it('a server that lists a thousand large schemas holds nothing up', async () => {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      many(600, (n) => [`p${n}`, { anyOf: [{ const: n }, { pattern: `^x{${(n % 9) + 1}}$` }] }]),
    ),
  };
  expect(JSON.stringify(schema).length).toBeLessThan(64 * 1024);
  const { mcpTargets } = await import('../../src/tools/mcp/server-targets.ts');
  const tools = many(1_000, (n) => ({
    name: `t${n}`,
    description: '',
    inputSchema: schema as JsonObject,
    idempotent: true,
  }));
  const server = { name: 'far', tools, call: async () => expect.unreachable(), close: async () => undefined };
  const started = busyMs();
  const targets = [...mcpTargets(server, new Set())];
  expect(busyMs() - started).toBeLessThan(MAX_MS);
  expect(targets).toHaveLength(1_000);
  expect(targets.at(-1)?.parameters).toEqual({ type: 'object' });
});

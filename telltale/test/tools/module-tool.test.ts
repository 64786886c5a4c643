import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { agentTargets, callOf, moduleTool, until } from './agent-targets.ts';

const IMPORT = 'import: { tools: ["./*.yml"] }';
const given = (code: string, more?: string) =>
  agentTargets({ agent: 'import: { tools: [./x.yml] }', files: moduleTool('x', code, more) });

test('a module is called with the parameters and the context of the call', async () => {
  const { call } = await given(
    'export const run = (p, c) => ({ p, key: c.idempotencyKey, agent: c.agent.agent_name, aborted: c.signal.aborted });',
  );
  expect(await call('x', { a: 1 })).toEqual({ p: { a: 1 }, key: 's1/a1', agent: 'tester', aborted: false });
});

test('defaults of the schema are filled in', async () => {
  const { call } = await given(
    'export const run = (p) => p;',
    'parameters: { type: object, properties: { n: { type: number, default: 3 }, m: { type: number } } }',
  );
  expect(await call('x', { m: 1 })).toEqual({ n: 3, m: 1 });
});

test('a TypeScript module with a named export is run', async () => {
  const { call } = await agentTargets({
    agent: 'import: { tools: [./tools/t.yml] }',
    files: {
      'tools/t.yml': 'kind: Tool\nname: t\nimplementation: { module: ./t.ts, export: twice }\n',
      'tools/t.ts': 'export async function twice({ n }: { n: number }): Promise<number> { return 2 * n; }\n',
    },
  });
  expect(await call('t', { n: 4 })).toBe(8);
});

test('no result is null, and a date is its text', async () => {
  const { call } = await given(
    'export const run = ({ what }) => what === "date" ? { at: new Date(0), gone: undefined, list: [undefined] } : undefined;',
  );
  expect(await call('x')).toBeNull();
  expect(await call('x', { what: 'date' })).toEqual({ at: '1970-01-01T00:00:00.000Z', list: [null] });
});

test.each([
  [
    'a cycle',
    'const a = { list: [] }; a.list.push({ a }); return a;',
    '"/list/0/a" is an object that holds itself',
  ],
  ['a BigInt', 'return { n: 1n };', '"/n" is a BigInt'],
  ['a function', 'return { f() {} };', '"/f" is a function'],
  ['a symbol', 'return Symbol("s");', 'it is a symbol'],
  ['not a number', 'return [0, 0 / 0];', '"/1" is NaN'],
  ['a Map', 'return { m: new Map() };', '"/m" is a Map'],
  ['bytes', 'return Buffer.from("x");', 'it is bytes'],
  ['an Error', 'return new Error("x");', 'it is an Error'],
  ['a getter that throws', 'return { get a() { throw new Error("no"); } };', 'one of its properties throws'],
  [
    'nesting without end',
    'let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; return a;',
    'deeper than 100',
  ],
])('a result with %s is bad output, and the place is named', async (_, code, words) => {
  const { failure } = await given(`export const run = () => { ${code} };`);
  const error = await failure('x');
  expect(error.code).toBe('bad_output');
  expect(error.message).toContain(words);
});

test('the same object twice is no cycle, and __proto__ is a name like any other', async () => {
  const { call } = await given(
    'export const run = () => { const a = JSON.parse(\'{"__proto__": 1}\'); return [a, a]; };',
  );
  expect(JSON.stringify(await call('x'))).toBe('[{"__proto__":1},{"__proto__":1}]');
});

test('a result above max_bytes is refused', async () => {
  const big = await given('export const run = () => "x".repeat(50_000_000);');
  expect((await big.failure('x')).code).toBe('output_too_large');
  const small = await given('export const run = () => ["12345"];', 'output: { max_bytes: 8 }');
  expect((await small.failure('x')).message).toContain('more than 8 bytes');
});

test.each([
  [
    'an Error',
    'throw new Error("the disk is on fire", { cause: new Error("a match") })',
    'the disk is on fire',
  ],
  ['a text', 'throw "just text"', 'just text'],
  ['undefined', 'throw undefined', 'undefined'],
  [
    'an error whose message throws',
    'throw Object.defineProperty(new Error(), "message", { get() { throw 1; } })',
    'cannot be read',
  ],
  [
    'a Proxy that throws when it is looked at',
    'throw new Proxy({}, { getPrototypeOf() { throw new Error("proto"); } })',
    'The code of tool "x" failed: Something that cannot be read was thrown.',
  ],
  [
    'an error of several without a message',
    'throw new AggregateError([new Error("connect ECONNREFUSED ::1:80"), new Error("and 127.0.0.1:80")])',
    'connect ECONNREFUSED ::1:80; and 127.0.0.1:80',
  ],
])('%s that a module throws is tool_failed', async (_, code, words) => {
  const { failure } = await given(`export async function run() { ${code}; }`);
  const error = await failure('x');
  expect(error.code).toBe('tool_failed');
  expect(error.message).toContain(words);
  expect(JSON.stringify(error)).toContain('tool_failed');
});

test('the log has the place where a module threw, and the model is not told', async () => {
  const { failure } = await given('export function run() {\n  throw new TypeError("boom");\n}');
  const { hint, cause } = (await failure('x')).toJSON();
  expect(hint).toBeUndefined();
  expect(cause).toMatchObject({
    message: 'boom',
    hint: expect.stringMatching(/^Thrown at \/.*x\.mjs:2:9\.$/),
  });
});

test.each([
  ['an error while loading', { 'x.mjs': 'throw new Error("early");' }, ': early', /^Fix \/.*x\.mjs:1:7\.$/],
  [
    'a missing package, named by another module',
    {
      'x.mjs': 'export { run } from "./y.mjs";',
      'y.mjs': 'import "@none/here"; export const run = () => 1;',
    },
    /x\.mjs of tool "x" cannot be loaded: \/.*y\.mjs imports "@none\/here", which is not installed\.$/,
    /^Install it: npm install @none\/here$/,
  ],
  [
    'no such export',
    { 'x.mjs': 'export const rum = () => 1; export const n = 1;' },
    'exports no "run".',
    /^Did you mean "rum"\? Add it: export function run\(.* Or name another one with "export" in .*x\.yml\.$/,
  ],
  ['no export at all', { 'x.mjs': '' }, 'exports no "run".', /^Add it: export function run\(parameters/],
  [
    'an export that is no function',
    { 'x.mjs': 'export const run = 5;' },
    'exports "run" as a number, not as a function.',
    /^Make it a function: export function run\(/,
  ],
  // Vite words a syntax error and a missing file otherwise than Node: see "telltale validate".
])('%s fails the action, names the file and says what to do', async (_, files, words, remedy) => {
  const { failure } = await agentTargets({
    agent: 'import: { tools: [./x.yml] }',
    files: { ...moduleTool('x', ''), ...files },
  });
  const error = await failure('x');
  expect(error.code).toBe('module_failed');
  expect(error.message).toEqual(
    words instanceof RegExp ? expect.stringMatching(words) : expect.stringContaining(words),
  );
  expect(error.message).toContain('x.mjs of tool "x" ');
  expect(error.hint).toMatch(remedy);
});

test.each([
  [
    'file',
    './gone.mjs',
    /^The module \/.*gone\.mjs of tool "x" does not exist\.$/,
    /fix "module" in \/.*x\.yml\.$/,
  ],
  [
    'package',
    'none-here',
    /^The package "none-here" of tool "x" is not installed\.$/,
    /^Install it: npm install none-here\./,
  ],
])('a missing %s fails the action and is named', async (_, module, words, remedy) => {
  const { failure } = await agentTargets({
    agent: 'import: { tools: [./x.yml] }',
    files: { 'x.yml': `kind: Tool\nname: x\nimplementation: { module: ${module} }\n` },
  });
  const error = await failure('x');
  expect(error.code).toBe('module_failed');
  expect(error.message).toMatch(words);
  expect(error.hint).toMatch(remedy);
});

test('a module that hangs until its signal is aborted ends as stopped', async () => {
  const { failure } = await given(
    'export const run = (_, { signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(new Error("gone"))));',
  );
  const controller = new AbortController();
  const failed = failure('x', {}, { signal: controller.signal });
  controller.abort();
  expect((await failed).code).toBe('cancelled');
});

test('progress is passed on where the tool streams, and only while it runs', async () => {
  const code = `export const run = async (_, { progress }) => {
    progress({ done: 1 });
    setTimeout(() => { progress({ done: 2 }); globalThis.lateProgress = true; }, 1);
    return "ok";
  };`;
  const seen: unknown[] = [];
  const streaming = await given(code, 'stream: true');
  await streaming.call('x', {}, { progress: (data) => seen.push(data) });
  await until(() => 'lateProgress' in globalThis);
  expect(seen).toEqual([{ done: 1 }]);
  const quiet = await given(code);
  await quiet.call('x', {}, { progress: (data) => seen.push(data) });
  expect(seen).toHaveLength(1);
});

test('a result that does not fit its schema is bad output with the path', async () => {
  const { failure } = await given(
    'export const run = () => ({ n: "five" });',
    'output: { schema: { type: object, properties: { n: { type: number } } } }',
  );
  const error = await failure('x');
  expect(error.code).toBe('bad_output');
  expect(error.message).toContain('"/n" is "five"; it must be a number');
});

test('what a person has to approve does not run without', async () => {
  const files = moduleTool('x', 'export const run = () => "done";', 'approval: always');
  const given = (approve?: () => boolean) =>
    agentTargets({ agent: IMPORT.replace('./*.yml', './x.yml'), files, approve });
  expect(await (await given(() => true)).call('x')).toBe('done');
  expect((await (await given(() => false)).failure('x')).message).toContain('refused');
  const nobody = await (await given()).failure('x');
  expect(nobody.code).toBe('not_permitted');
  expect(nobody.hint).toContain('approval: never');
});

test('the snapshot of the agent is made only for code that reads it', async () => {
  let reads = 0;
  const agent = () => {
    reads++;
    return { n: 1 };
  };
  const target = (input: JsonObject) => ({ ...callOf(input, {}), agent });
  const { tool } = await given(
    'export const run = ({ read }, context) => (read ? context.agent.n : "unread");',
  );
  expect(await tool('x').run(target({}))).toBe('unread');
  expect(reads).toBe(0);
  expect(await tool('x').run(target({ read: true }))).toBe(1);
  expect(reads).toBe(1);
});

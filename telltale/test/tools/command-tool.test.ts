import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentTargets, type Given } from './agent-targets.ts';

const SHOW =
  'console.log(JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), env: process.env }))';

const given = (tool: string, more: Partial<Given> = {}) =>
  agentTargets({
    agent: 'import: { tools: [./x.yml] }',
    ...more,
    files: { 'x.yml': `kind: Tool\nname: x\n${tool}\n`, 'show.mjs': SHOW, ...more.files },
  });

const shown = (args: string, parameters: string, more = '') =>
  given(
    `parameters: { type: object, properties: { ${parameters} } }\nimplementation: { command: [node, show.mjs, ${args}] ${more} }\noutput: { schema: {} }`,
  );

test('an argument stays one argument, whatever the parameter holds', async () => {
  const { call } = await shown('"{text}", "--n={n}", "{text}!"', 'text: {}, n: {}');
  const hostile = '$(touch x); `id` "a b" {n} ${agent.agent_name} \n *';
  expect(await call('x', { text: hostile, n: 5 })).toMatchObject({ args: [hostile, '--n=5', `${hostile}!`] });
});

test('a list alone in an argument becomes several; inside a longer one it is JSON', async () => {
  const { call } = await shown('"{files}", "all={files}"', 'files: {}');
  expect(await call('x', { files: ['a b', 'c', 1] })).toMatchObject({
    args: ['a b', 'c', '1', 'all=["a b","c",1]'],
  });
  expect(await call('x', { files: [] })).toMatchObject({ args: ['all=[]'] });
});

test('a parameter that was not given leaves its argument out', async () => {
  const { call } = await shown('"{a}", "b={b}", "{unknown}"', 'a: {}, b: {}');
  expect(await call('x')).toMatchObject({ args: ['b=', '{unknown}'] });
});

test('the agent snapshot can be named, and what it lacks is an error', async () => {
  const { call } = await shown(
    '"${agent.agent_name}", "a-${agent.session_id}-${agent.metadata.mood ?? calm}"',
    '',
  );
  expect(await call('x')).toMatchObject({ args: ['tester', 'a-s1-calm'] });
  const { failure } = await shown('"${agent.metadata.mood}"', '');
  expect((await failure('x')).code).toBe('bad_reference');
});

test('the environment is small: no secret, the own variables, the idempotency key', async () => {
  const { call } = await shown('', 'v: {}', ', env: { OWN: "is {v}" }');
  const { env } = (await call('x', { v: 'here' })) as { env: Record<string, string> };
  expect(env.OWN).toBe('is here');
  expect(env.TELLTALE_IDEMPOTENCY_KEY).toBe('s1/a1');
  expect(env.PATH).toBeTypeOf('string');
  expect(env).not.toHaveProperty('SECRET');
});

test('a permitted environment variable is passed on', async () => {
  const { call } = await given('implementation: { command: [printenv, SECRET] }', {
    agent: 'import: { tools: [./x.yml] }\npermissions: { environment: [SECRET] }',
  });
  expect(await call('x')).toBe('hidden');
});

test('the folder is relative to the agent', async () => {
  const { call, folder } = await given('implementation: { command: [pwd, -P], cwd: sub }', {
    files: { 'sub/file': '' },
  });
  expect(await call('x')).toBe(realpathSync(join(folder, 'sub')));
});

test('a folder that a parameter names stays inside the permitted paths', async () => {
  const { failure } = await given(
    'parameters: { type: object, properties: { dir: { type: string } } }\nimplementation: { command: [node, -v], cwd: "{dir}" }',
  );
  expect((await failure('x', { dir: '../..' })).code).toBe('not_permitted');
});

test('standard input is filled and need not be read', async () => {
  const cat = await given(
    'parameters: { type: object, properties: { t: {} } }\nimplementation: { command: [cat], stdin: "<{t}>" }',
  );
  expect(await cat.call('x', { t: 'in' })).toBe('<in>');
  const deaf = await given(
    'parameters: { type: object, properties: { t: {} } }\nimplementation: { command: ["true"], stdin: "{t}" }',
  );
  expect(await deaf.call('x', { t: 'x'.repeat(1_000_000) })).toBe('');
});

test('{*} as a whole argument or as standard input is all parameters as JSON', async () => {
  const parameters = { text: 'a "b" ${x} {n}', n: 1, list: [1] };
  const cat = await given('implementation: { command: [cat], stdin: "{*}" }');
  expect(JSON.parse(String(await cat.call('x', parameters)))).toEqual(parameters);
  const echo = await given('implementation: { command: [printf, "%s|%s", "{*}", "x{*}"] }');
  expect(await echo.call('x', parameters)).toBe(`${JSON.stringify(parameters)}|x{*}`);
});

test('without a schema the result is what was printed, but for the last line break', async () => {
  const { call } = await given('implementation: { command: [printf, "{\\"a\\":1}\\n\\n"] }');
  expect(await call('x')).toBe('{"a":1}\n');
});

test('with a schema what is printed has to be JSON of it', async () => {
  const tool = (print: string) =>
    given(`implementation: { command: [echo, '${print}'] }\noutput: { schema: { type: object } }`);
  expect(await (await tool('{"a": 1}')).call('x')).toEqual({ a: 1 });
  expect((await (await tool('hello')).failure('x')).message).toContain('is not JSON');
  expect((await (await tool('[1]')).failure('x')).message).toContain(
    'it is a list of 1; it must be an object',
  );
});

test('an exit code and the end of stderr are in the error', async () => {
  const { failure } = await given(
    `implementation: { command: [sh, -c, 'printf %010000d 0 >&2; echo the last word >&2; exit 3'] }`,
  );
  const error = await failure('x');
  expect(error.code).toBe('command_failed');
  expect(error.message).toMatch(/exited with 3.*the last word$/s);
  expect(error.message.length).toBeLessThan(3000);
});

test('what it printed is in the error, too, whatever else it complained of', async () => {
  const { failure } = await given(
    `implementation: { command: [sh, -c, 'printf %010000d 0; echo 1 of 3 failed; echo deprecated >&2; exit 1'] }`,
  );
  const { message } = await failure('x');
  expect(message).toMatch(/exited with 1: deprecated\nIt printed: …0+1 of 3 failed$/);
  expect(message.length).toBeLessThan(3000);
});

test('a program that a signal ends says which', async () => {
  const { failure } = await given('implementation: { command: [sh, -c, "kill -SEGV $$"] }');
  const error = await failure('x');
  expect(error.code).toBe('command_failed');
  expect(error.message).toContain('SIGSEGV');
});

test('a program that is not there, a folder that is not there and a zero byte are told apart', async () => {
  const missing = await given('implementation: { command: [no-such-program-here] }');
  expect((await missing.failure('x')).code).toBe('command_missing');
  const folder = await given('implementation: { command: ["true"], cwd: nowhere }');
  expect((await folder.failure('x')).code).toBe('folder_missing');
  const zero = await given(
    'parameters: { type: object, properties: { t: {} } }\nimplementation: { command: [echo, "{t}"] }',
  );
  expect((await zero.failure('x', { t: 'a\0b' })).code).toBe('bad_parameters');
});

test('partial output reaches progress where the tool streams', async () => {
  const { call } = await given(
    `implementation: { command: [sh, -c, 'echo one; echo two >&2'] }\nstream: true`,
  );
  const seen: unknown[] = [];
  expect(await call('x', {}, { progress: (data) => seen.push(data) })).toBe('one');
  expect(seen).toContainEqual({ stream: 'stdout', text: 'one\n' });
  expect(seen).toContainEqual({ stream: 'stderr', text: 'two\n' });
});

test('of a gigabyte of output the head and the tail are kept, and memory stays small', {
  timeout: 30_000,
}, async () => {
  const { call } = await given(
    'implementation: { command: [sh, -c, "echo first; head -c 1000000000 /dev/zero; echo; echo last"] }\noutput: { max_bytes: 64KiB }',
  );
  const held = () => process.memoryUsage().arrayBuffers;
  const before = held();
  let most = before;
  const looking = setInterval(() => {
    most = Math.max(most, held());
  }, 20);
  const text = String(await call('x').finally(() => clearInterval(looking)));
  // Chunks that were read wait for the next collection, some 60 MB of them.
  expect(most - before).toBeLessThan(256 * 1024 * 1024);
  expect(text.startsWith('first\n\0')).toBe(true);
  expect(text.endsWith('\0\nlast')).toBe(true);
  expect(text).toMatch(/\[9999\d{5} bytes left out\]/);
  expect(text.length).toBeLessThan(70_000);
});

test('JSON above max_bytes is refused, not cut', async () => {
  const { failure } = await given(
    'implementation: { command: [sh, -c, "yes | head -c 100000"] }\noutput: { max_bytes: 1KiB, schema: {} }',
  );
  expect((await failure('x')).code).toBe('output_too_large');
});

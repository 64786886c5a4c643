import { expect, test } from 'vitest';
import type { Approve } from '../../src/targets/target.ts';
import { agentTargets } from './agent-targets.ts';

const given = (shell: string, approve?: Approve) =>
  agentTargets({
    agent: `import: { tools: ["builtin:shell"] }\npermissions: { shell: ${shell} }`,
    files: { 'sub/file': '' },
    options: { approve, graceMs: 50 },
  });

test('a command line is run by a shell', async () => {
  const { call } = await given('allow');
  expect(await call('shell', { command: 'cat | tr a-z A-Z; ls >&2', cwd: 'sub', stdin: 'in' })).toEqual({
    exit_code: 0,
    stdout: 'IN',
    stderr: 'file\n',
  });
});

test('a failure says how it ended, unless it is allowed', async () => {
  const { call, failure } = await given('allow');
  const error = await failure('shell', { command: 'echo broken; exit 7' });
  expect(error.code).toBe('command_failed');
  expect(error.message).toContain('exited with 7: broken');
  expect(await call('shell', { command: 'exit 7', allow_failure: true })).toMatchObject({ exit_code: 7 });
});

test('it is stopped after its time', async () => {
  const { failure } = await given('allow');
  expect((await failure('shell', { command: 'sleep 1000', timeout: 0.05 })).code).toBe('timeout');
});

test('by permission it is asked or denied', async () => {
  const asked: unknown[] = [];
  const approve: Approve = async ({ what, target, input }) => {
    asked.push({ what, target, input });
    return what === 'echo yes';
  };
  const ask = await given('ask', approve);
  expect(await ask.call('shell', { command: 'echo yes' })).toMatchObject({ stdout: 'yes\n' });
  expect((await ask.failure('shell', { command: 'echo no' })).code).toBe('not_permitted');
  expect(asked[0]).toEqual({ what: 'echo yes', target: 'tool "shell"', input: { command: 'echo yes' } });
  const nobody = await (await given('ask')).failure('shell', { command: 'echo' });
  expect(nobody.hint).toContain('permissions: { shell: allow }');
  const deny = await given('deny', async () => true);
  expect((await deny.failure('shell', { command: 'echo' })).hint).toContain('shell: deny');
});

test('it begins inside the permitted paths', async () => {
  const { failure } = await given('allow');
  expect((await failure('shell', { command: 'pwd', cwd: '..' })).code).toBe('not_permitted');
});

test('secrets of the environment are not in its view', async () => {
  const { call } = await given('allow');
  expect(await call('shell', { command: 'echo "[$SECRET]"' })).toMatchObject({ stdout: '[]\n' });
});

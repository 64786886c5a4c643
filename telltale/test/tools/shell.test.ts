import { expect, test } from 'vitest';
import { agentTargets, type Given } from './agent-targets.ts';

const given = (shell: string, approve?: Given['approve']) =>
  agentTargets({
    agent: `import: { tools: ["builtin:shell"] }\npermissions: { shell: ${shell} }`,
    files: { 'sub/file': '' },
    options: { graceMs: 50 },
    approve,
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
  const ask = await given('ask', (need) => {
    asked.push(need);
    return need.what === 'echo yes';
  });
  expect(await ask.call('shell', { command: 'echo yes' })).toMatchObject({ stdout: 'yes\n' });
  expect((await ask.failure('shell', { command: 'echo no' })).code).toBe('not_permitted');
  expect(asked[0]).toEqual({
    what: 'echo yes',
    target: 'tool "shell"',
    because: 'permissions: { shell }',
    grants: ['shell echo yes'],
    always: {
      key: 'exactly {"command":"echo yes"}',
      covers: 'this exact call, as long as the files that it names do not change',
    },
  });
  const nobody = await (await given('ask')).failure('shell', { command: 'echo' });
  expect(nobody.message).toContain('nobody could be asked');
  const deny = await given('deny', () => true);
  expect((await deny.failure('shell', { command: 'echo' })).hint).toContain('shell: deny');
});

test.each(['["*"]', '{ allow: ["*"], deny: ["rm *"] }'])('%s asks about nothing', async (shell) => {
  const { call } = await given(shell, () => false);
  expect(await call('shell', { command: 'echo yes' })).toMatchObject({ stdout: 'yes\n' });
});

test('it begins inside the permitted paths', async () => {
  const { failure } = await given('allow');
  expect((await failure('shell', { command: 'pwd', cwd: '..' })).code).toBe('not_permitted');
});

test('secrets of the environment are not in its view', async () => {
  const { call } = await given('allow');
  expect(await call('shell', { command: 'echo "[$SECRET]"' })).toMatchObject({ stdout: '[]\n' });
});

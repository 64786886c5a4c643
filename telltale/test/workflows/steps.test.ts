import { expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { chosenAnswer } from '../../src/workflows/steps/create-step-executors.ts';
import { moduleTool } from '../tools/agent-targets.ts';
import { completed, failure } from './fake-run.ts';

import { settled, stepStage } from './step-stage.ts';

const given = stepStage();

// Tools and relics

test('a tool is called with resolved parameters, the key of its step and the agent as of the start', async () => {
  const run = await given({
    agent: 'import: { tools: [./look.yml] }',
    files: moduleTool(
      'look',
      'export const run = (parameters, { agent, idempotencyKey }) => ({ parameters, idempotencyKey, agent: agent.session_id })',
      'parameters: { type: object, properties: { n: { type: number } }, required: [n] }\nidempotent: true\ntimeout: 3s',
    ),
    input: { n: 4 },
    session: true,
    steps: [
      { name: 'a', type: 'tool', target: 'look', parameters: { n: '${input.n}' } },
      { name: 'bad', type: 'tool', target: 'look', parameters: { n: 'four' } },
      { name: 'gone', type: 'tool', target: 'lok', parameters: {} },
    ],
  });
  expect(await run.ready('a')).toMatchObject({ input: { n: 4 }, repeatable: true, timeoutMs: 3_000 });
  expect(await run.do('a')).toEqual({ parameters: { n: 4 }, idempotencyKey: 'run1:a', agent: 's1' });
  expect((await failure(run.ready('bad'))).code).toBe('bad_parameters');
  const gone = await failure(run.ready('gone'));
  expect([gone.code, gone.hint]).toEqual(['target_unknown', 'Did you mean "look"?']);
});

test('a relic keeps what one step sets for the next; what only reads may be done again', async () => {
  const run = await given({
    agent: 'import: { relics: [./notes.yml] }',
    files: { 'notes.yml': 'kind: Relic\nname: notes\ndriver: kv\n' },
    steps: [
      { name: 'put', type: 'relic', target: 'notes', parameters: { operation: 'set', key: 'k', value: [1] } },
      { name: 'take', type: 'relic', target: 'notes', parameters: { key: '${steps.put.output.key}' } },
    ],
  });
  await run.do('put');
  expect(await run.do('take')).toEqual([1]);
  expect((await run.ready('take')).repeatable).toBe(true);
});

const ASKING = {
  agent: 'import: { tools: [./deploy.yml] }',
  files: moduleTool(
    'deploy',
    'export const run = ({ to }) => `deployed to ${to}`',
    'parameters: { type: object, properties: { to: { type: string } } }\napproval: always',
  ),
  input: { to: 'live' },
  steps: [{ name: 'd', type: 'tool', target: 'deploy', parameters: { to: '${input.to}' } }],
};

test('a call that needs approval waits for a person, and may be left and taken up again until they answer', async () => {
  const run = await given(ASKING);
  const first = await run.begin('d');
  await settled();
  expect(first.suspended()?.for).toMatch(/^review rev_/);
  expect(run.typed('review.requested')).toMatchObject([
    { step: 'd', options: ['approve', 'reject'], call: { target: 'tool "deploy"', input: { to: 'live' } } },
  ]);
  expect(run.typed('step.started')).toMatchObject([{ repeatable: true }]);
  const takeUp = run.restart();
  first.stop();
  await failure(first.result);
  takeUp();
  const again = await run.begin('d');
  await settled();
  run.answer('approve');
  expect(await again.result).toBe('deployed to live');
  expect(run.typed('review.requested')).toHaveLength(1);
  // From the approval on, a crash leaves it in doubt.
  expect(run.typed('step.started').at(-1)).toMatchObject({ step: 'd', repeatable: false });
});

test('a call that needs approval and a slot takes the slot once a person has answered, and gives it back', async () => {
  const story: string[] = [];
  const run = await given({
    ...ASKING,
    files: moduleTool('deploy', 'export const run = () => "deployed"', 'approval: always\nmax_parallel: 2'),
    deps: {
      takeSlot(key, max) {
        story.push(`take ${key} of ${max}, ${run.typed('step.started').length} on the log`);
        return () => story.push('free');
      },
    },
  });
  const doing = await run.begin('d');
  await settled();
  expect(story).toEqual([]);
  run.answer('approve');
  expect(await doing.result).toBe('deployed');
  // The one that says that a crash leaves it in doubt comes after it.
  expect(story).toEqual(['take tool "deploy" of 2, 1 on the log', 'free']);
  expect(run.typed('step.started')).toHaveLength(2);
});

test('what undoes a step has the time of the tool that it calls, and a slot ahead of the word that it begins', async () => {
  const story: string[] = [];
  const run = await given({
    agent: 'import: { tools: [./undo.yml] }',
    files: moduleTool(
      'undo',
      'export const run = () => { throw new Error("no") }',
      'max_parallel: 1\ntimeout: 5s',
    ),
    steps: [
      {
        name: 'a',
        type: 'tool',
        target: 'undo',
        parameters: {},
        compensate: { type: 'tool', target: 'undo' },
      },
    ],
    deps: {
      takeSlot() {
        story.push('take');
        return () => story.push('free');
      },
    },
  });
  const undone = run.executors.compensate(
    { step: run.stepNamed('a'), address: 'a', locals: {} },
    null,
    new AbortController().signal,
    async (_repeatable, timeoutMs) => void story.push(`begin, with ${timeoutMs} ms`),
  );
  expect((await failure(undone)).code).toBe('tool_failed');
  expect(story).toEqual(['take', 'begin, with 5000 ms', 'free']);
});

test('a call that a person refuses fails, and says who and why', async () => {
  const run = await given(ASKING);
  const doing = await run.begin('d');
  await settled();
  run.answer('reject', 'rejected', 'not on a Friday');
  const error = await failure(doing.result);
  expect(error.code).toBe('not_permitted');
  expect(error.message).toContain('(ada): not on a Friday');
});

test('what a person approved does not count for another input', async () => {
  const run = await given(ASKING);
  const doing = await run.begin('d');
  await settled();
  run.answer('approve');
  await doing.result;
  run.journal.state.input = { to: 'elsewhere' };
  const other = await run.begin('d');
  await settled();
  expect(other.suspended()?.for).toMatch(/^review rev_/);
});

test('a question is withdrawn when its step is stopped, not when the run is let go of', async () => {
  const run = await given(ASKING);
  const first = await run.begin('d');
  await settled();
  const takeUp = run.restart();
  first.stop();
  await failure(first.result);
  expect(run.typed('review.resolved')).toEqual([]);
  takeUp();
  const again = await run.begin('d');
  await settled();
  again.stop();
  expect((await failure(again.result)).code).toBe('cancelled');
  expect(run.typed('review.resolved')).toMatchObject([{ answer: 'withdrawn', by: 'runtime' }]);
});

// Models

test('an llm step asks by a prompt of the agent or by its own, with the model it names; what that used is on the log', async () => {
  const run = await given({
    agent: 'models: { fast: scripted:./fast.yml }\nprompts: { greet: { template: "Greet {who}." } }',
    input: { who: 'Ada' },
    says: ['Hello', 'Hi', 'Yes'],
    steps: [
      { name: 'a', type: 'llm', target: 'greet', parameters: { who: '${input.who}' } },
      { name: 'b', type: 'llm', target: 'greet', parameters: { who: 'Bo' }, model: 'fast' },
      { name: 'c', type: 'llm', prompt: 'Is ${input.who} well?', parameters: { since: [1] }, model: 'fast' },
    ],
  });
  expect([await run.do('a'), await run.do('b'), await run.do('c')]).toEqual(['Hello', 'Hi', 'Yes']);
  expect(run.asked).toEqual([
    { model: 'scripted:./model.yml', text: 'Greet Ada.' },
    { model: 'scripted:./fast.yml', text: 'Greet Bo.' },
    { model: 'scripted:./fast.yml', text: 'Is Ada well?\n\nsince: [1]' },
  ]);
  expect(run.typed('model.used')[2]).toEqual(
    expect.objectContaining({
      step: 'c',
      model: 'scripted:./fast.yml',
      usage: { input: 7, output: 3, cached: 2 },
      cost_usd: 0.01,
    }),
  );
  expect(run.journal.state.usage.output).toBe(9);
});

const CHOOSING = (answers: Record<string, string>) => ({
  document: {
    initial: 'here',
    states: {
      here: {
        steps: [{ name: 't', type: 'transition', prompt: 'Good?', transition_map: answers }],
        transitions: [{ to: 'there' }],
      },
      there: { final: true },
    },
  },
});

test('a transition leads to the state of the answer that the model gave', async () => {
  const run = await given({ ...CHOOSING({ yes: 'there', no: 'here' }), says: ['**Yes.**', 'I think so.'] });
  expect(await run.do('t')).toEqual({ state: 'there', answer: 'yes' });
  expect(run.asked[0]?.text).toBe('Good?\n\nAnswer with one of these, and with nothing else: yes, no');
  const error = await run.fails('t');
  expect([error.code, error.retryable]).toEqual(['no_answer', true]);
  expect(error.message).toContain('I think so.');
});

test.each([
  ['yes', 'yes'],
  [' "Yes." ', 'yes'],
  ['My answer is: NOT READY', 'not ready'],
  ['It is ready', 'ready'],
  ['yes and no', undefined],
  ['eyes', undefined],
  ['', undefined],
  ['c++ it is', 'c++'],
])('of the answers, %j means %j', (said, answer) => {
  expect(chosenAnswer(said, ['yes', 'no', 'ready', 'not ready', 'c++'])).toBe(answer);
});

test('an artifact names the state of a transition', async () => {
  const transition_source = { invoke: 'judge', method: 'next', fallback: 'here' };
  const run = await given({
    document: {
      initial: 'here',
      states: { here: { steps: [{ name: 't', type: 'transition', transition_source }], final: true } },
    },
  });
  expect(await run.do('t')).toEqual({ state: 'judge t:transition_source here' });
});

// Agents and workflows

test('an agent gets its input, with other parameters as lines below it, in a session whose id stays', async () => {
  const run = await given({
    steps: [
      {
        name: 'w',
        type: 'agent',
        target: 'writer',
        parameters: { input: 'Write.', tone: 'dry', n: 2, vars: { v: 1 } },
      },
      { name: 'p', type: 'agent', target: 'writer', parameters: { project_name: 'x' } },
      { name: 'e', type: 'agent', target: 'writer' },
      { name: 'own', type: 'agent', target: 'tester', parameters: { input: 'x' } },
      { name: 'gone', type: 'agent', target: 'wirter', parameters: { input: 'x' } },
    ],
  });
  expect(await run.do('w')).toEqual({
    name: 'writer',
    input: 'Write.\n\ntone: dry\nn: 2',
    vars: { v: 1 },
    key: 'run1.w',
  });
  expect(await run.do('p')).toMatchObject({ input: 'project_name: x' });
  expect(await run.ready('w')).toMatchObject({ repeatable: true, timeoutMs: 5_000 });
  expect((await run.fails('e')).message).toBe('Step "e" gives the agent "writer" nothing to do.');
  expect(await run.do('own')).toMatchObject({ name: 'tester' });
  expect((await run.fails('gone')).hint).toBe('Did you mean "writer"?');
});

test('a try after a failed one is a session of its own, one after a crash is the same', async () => {
  const run = await given({
    steps: [{ name: 'w', type: 'agent', target: 'writer', parameters: { input: 'x' } }],
  });
  expect(await run.do('w')).toMatchObject({ key: 'run1.w' });
  expect(await run.do('w', { attempt: 2 })).toMatchObject({ key: 'run1.w' });
  const error = { code: 'x', message: 'x', retryable: true };
  run.journal.append({ type: 'step.retrying', step: 'w', attempt: 2, error, due: 0 });
  expect(await run.do('w', { attempt: 2 })).toMatchObject({ key: 'run1.w#2' });
  const deep = `${'each[1]/'.repeat(40)}w`;
  expect(await run.do(deep)).toMatchObject({ key: expect.stringMatching(/^ses_[0-9a-f]{32}$/) });
});

test('a workflow gets its parameters as input, and parks its caller while it waits', async () => {
  const run = await given({
    input: { n: 1 },
    steps: [{ name: 'w', type: 'workflow', target: 'other', parameters: { n: '${input.n}' } }],
    deps: {
      runWorkflow: ({ suspend, signal, ...call }) =>
        new Promise((_, reject) => {
          suspend('other: timer x', 5);
          signal.addEventListener('abort', () =>
            reject(new RuntimeError('cancelled', JSON.stringify(call.input))),
          );
        }),
    },
  });
  const doing = await run.begin('w');
  expect(doing.suspended()).toEqual({ for: 'other: timer x', due: 5 });
  doing.stop();
  expect((await failure(doing.result)).message).toBe('{"n":1}');
});

// Scripts

test('a script sees its parameters and the scope, which it cannot change', async () => {
  const run = await given({
    input: { list: [3, 1, 2] },
    session: true,
    steps: [
      { name: 'before', type: 'emit', event: 'e' },
      {
        name: 's',
        type: 'script',
        script:
          'const sorted = parameters.list.toSorted();\n({ sorted, n: input.list.length, before: steps.before.status, item, id: agent.session_id })',
        parameters: { list: '${input.list}' },
      },
      { name: 'f', type: 'script', script: '"use strict"; input.list.push(4)' },
      { name: 'r', type: 'script', script: 'Math.random()' },
      { name: 'long', type: 'script', script: 'for (;;);', timeout: '30ms' },
    ],
  });
  expect(await run.do('s', { locals: { item: null } })).toEqual({
    sorted: [1, 2, 3],
    n: 3,
    before: 'pending',
    item: null,
    id: 's1',
  });
  expect((await run.fails('f')).code).toBe('script_error');
  expect(await run.do('r')).toBe(await run.do('r'));
  expect((await run.fails('long')).code).toBe('script_timeout');
  expect((await run.ready('s')).repeatable).toBe(true);
});

const NODE = 'node';

test('a command gets its arguments as they are, never through a shell', async () => {
  const print =
    'console.log(JSON.stringify([process.argv.slice(1), process.env.X, process.env.SECRET ?? null, process.env.TELLTALE_IDEMPOTENCY_KEY]))';
  const run = await given({
    input: { text: '$(id); "x"', list: ['a b', 2], none: null },
    steps: [
      {
        name: 'c',
        type: 'script',
        command: [NODE, '-e', print, '${input.text}', '${input.list}', '${input.none}', 'n=${input.list}'],
        env: { X: '${input.list[0]}' },
      },
      {
        name: 'sealed',
        type: 'script',
        command: [NODE, '-e', 'console.log(process.env.KEY, process.env.X)'],
        env: { KEY: 'hunter2', X: '${input.list[1]}' },
      },
      {
        name: 'in',
        type: 'script',
        command: [NODE, '-e', 'process.stdin.pipe(process.stdout); console.error("note")'],
        stdin: '${input.text}',
      },
    ],
  });
  const result = (await run.do('c')) as { stdout: string; exit_code: number };
  expect(JSON.parse(result.stdout)).toEqual([
    ['$(id); "x"', 'a b', '2', 'n=["a b",2]'],
    'a b',
    null,
    'run1:c',
  ]);
  expect(result.exit_code).toBe(0);
  expect(await run.do('in')).toEqual({ exit_code: 0, stdout: '$(id); "x"', stderr: 'note\n' });
  expect((await run.ready('c')).repeatable).toBe(false);
  // What the manifest took from the environment reaches the program, and neither the log nor hooks.
  expect(await run.do('sealed')).toEqual({ exit_code: 0, stdout: 'hunter2 2' });
  expect((await run.ready('sealed')).input).toMatchObject({ env: { X: '2' } });
  expect(JSON.stringify((await run.ready('sealed')).input)).not.toContain('hunter2');
});

test('a command that exits with another code than 0 fails its step', async () => {
  const run = await given({
    steps: [{ name: 'c', type: 'script', command: [NODE, '-e', 'console.error("broken"); process.exit(3)'] }],
  });
  const error = await run.fails('c');
  expect(error.code).toBe('command_failed');
  expect(error.message).toContain('step "c" exited with 3: broken');
});

test('references choose neither the program nor a folder outside of the permitted ones', async () => {
  const run = await given({
    input: { p: 'sh', up: '..' },
    steps: [
      { name: 'p', type: 'script', command: ['${input.p}', '-c', 'id'] },
      { name: 'd', type: 'script', command: [NODE, '-v'], cwd: '${input.up}' },
    ],
  });
  expect((await run.fails('p')).code).toBe('bad_command');
  expect((await run.fails('d')).code).toBe('not_permitted');
});

// Acts on the session

const ACTS = [
  { name: 'm', type: 'set_metadata', values: { status: '${input.s}' } },
  { name: 'n', type: 'notify', message: 'Now ${input.s}', to: 'ops', data: { n: 1 } },
  { name: 'e', type: 'emit', event: 'moved', data: { to: '${input.s}' } },
];

test('steps act on the session through its inbox, each under the key of its address', async () => {
  const run = await given({ session: true, input: { s: 'DONE' }, steps: ACTS });
  for (const { name } of ACTS) await run.do(name);
  expect(run.acts).toEqual([
    ['m', { kind: 'set_metadata', values: { status: 'DONE' } }],
    ['n', { kind: 'notify', message: 'Now DONE', to: 'ops', data: { n: 1 } }],
    ['e', { kind: 'emit', event: 'moved', data: { to: 'DONE' } }],
  ]);
  expect(run.typed('custom')).toEqual([]);
});

test.each([undefined, 'ended' as const])(
  'without a session (%s) who watches the run is told',
  async (session) => {
    const run = await given({
      ...(session === undefined ? {} : { session }),
      input: { s: 'DONE' },
      steps: ACTS,
    });
    await run.do('n');
    await run.do('e');
    expect(run.typed('custom')).toMatchObject([
      { name: 'notify', data: { message: 'Now DONE', to: 'ops', data: { n: 1 } } },
      { name: 'moved', data: { to: 'DONE' } },
    ]);
    const error = await run.fails('m');
    expect(error.code).toBe(session === undefined ? 'no_session' : 'session_ended');
    expect(error.hint).toBeDefined();
  },
);

const VARIABLES = {
  context_variables: {
    runtime: [
      { name: 'count', type: 'number', default: 0 },
      { name: 'fixed', writers: ['user'] },
    ],
    derived: [{ name: 'seen', expression: 'true' }],
  },
};

test('variables that the workflow declares are the run’s own; others go to the session, and the run sees both', async () => {
  const steps = [
    { name: 's', type: 'set_variable', values: { count: 2, phase: 'x' } },
    { name: 'r', type: 'emit', event: 'e', data: ['${vars.count}', '${vars.phase}'] },
  ];
  const run = await given({ session: true, document: { ...VARIABLES, steps } });
  await run.do('s');
  expect(run.acts).toEqual([['s', { kind: 'set_variable', values: { phase: 'x' } }]]);
  expect(run.typed('variable.changed')).toMatchObject([
    { name: 'count', from: null, to: 2, by: 'step s' },
    { name: 'phase', from: null, to: 'x' },
  ]);
  expect(await run.do('r')).toEqual({ event: 'e', data: [2, 'x'] });
});

test.each([
  ['a text for a number', { count: 'two' }, 'bad_parameters'],
  ['what only users set', { fixed: 1 }, 'variable_denied'],
  ['what is derived', { seen: false }, 'variable_denied'],
  ['what is too large', { other: 'x'.repeat(70_000) }, 'bad_parameters'],
])('a variable is not set: %s', async (_, values, code) => {
  const run = await given({
    document: { ...VARIABLES, steps: [{ name: 's', type: 'set_variable', values }] },
  });
  expect((await run.fails('s')).code).toBe(code);
  expect(run.typed('variable.changed')).toEqual([]);
});

test('values may be one reference to a map', async () => {
  const step = { name: 's', type: 'set_variable', values: '${input.all}' };
  expect(await (await given({ input: { all: { a: 1 } }, steps: [step] })).do('s')).toEqual({ a: 1 });
  expect((await (await given({ input: { all: 3 }, steps: [step] })).fails('s')).message).toContain(
    'must be a map',
  );
});

// People

const approval = (more: object = {}) => [
  { name: 'ok', type: 'approval', prompt: 'Ship ${input.v}?', ...more },
];

test('an approval asks once, whatever happens to the process, and results in who said what', async () => {
  const run = await given({ input: { v: 2 }, steps: approval({ assignee: 'ada' }) });
  const first = await run.begin('ok');
  const takeUp = run.restart();
  first.stop();
  await failure(first.result);
  takeUp();
  const again = await run.begin('ok');
  expect(run.typed('review.requested')).toMatchObject([{ step: 'ok', prompt: 'Ship 2?', assignee: 'ada' }]);
  run.answer('approve', 'approved', 'fine');
  expect(await again.result).toEqual({ choice: 'approve', by: 'ada', note: 'fine' });
  expect(again.suspended()).toBeUndefined();
});

test('an answer that came while nobody worked on the run counts; a try after a failed one asks anew', async () => {
  const run = await given({ input: { v: 2 }, steps: approval() });
  const first = await run.begin('ok');
  const takeUp = run.restart();
  first.stop();
  await failure(first.result);
  run.answer('reject', 'rejected');
  takeUp();
  const again = await run.begin('ok');
  expect((await failure(again.result)).code).toBe('rejected');
  const error = { code: 'rejected', message: '', retryable: false };
  run.journal.append({ type: 'step.retrying', step: 'ok', attempt: 2, error, due: 0 });
  const retried = await run.begin('ok', { attempt: 2 });
  expect(run.typed('review.requested')).toHaveLength(2);
  run.answer('approve');
  expect(await retried.result).toEqual({ choice: 'approve', by: 'ada' });

  const call = await given(ASKING);
  const asked = await call.begin('d');
  await settled();
  const goOn = call.restart();
  asked.stop();
  await failure(asked.result);
  call.answer('approve');
  goOn();
  expect(await call.do('d')).toBe('deployed to live');
  expect(call.typed('review.requested')).toHaveLength(1);
});

test('rejecting fails the step where the options are approve and reject, and is an answer where they are others', async () => {
  const run = await given({ input: { v: 2 }, steps: approval() });
  const doing = await run.begin('ok');
  run.answer('reject', 'rejected', 'too early');
  const error = await failure(doing.result);
  expect([error.code, error.message]).toEqual(['rejected', 'Step "ok" was rejected by ada: too early']);
  const other = await given({ input: { v: 2 }, steps: approval({ options: ['ship', 'hold', 'reject'] }) });
  const asked = await other.begin('ok');
  other.answer('reject', 'rejected');
  expect(await asked.result).toEqual({ choice: 'reject', by: 'ada' });
});

test('an approval that nobody answers in time fails, or takes the option that on_timeout names', async () => {
  const late = await given({ input: { v: 2 }, steps: approval({ timeout: '1h' }) });
  const doing = await late.begin('ok');
  expect(doing.suspended()?.due).toBe(late.clock.now() + 3_600_000);
  // The time counts from the question on, also after a restart.
  await late.clock.advance(1_800_000);
  const takeUp = late.restart();
  doing.stop();
  await failure(doing.result);
  takeUp();
  const again = await late.begin('ok');
  await late.clock.advance(1_800_000);
  expect((await failure(again.result)).code).toBe('timeout');
  expect(late.typed('review.resolved')).toMatchObject([{ answer: 'withdrawn', by: 'timeout' }]);

  const option = await given({ input: { v: 2 }, steps: approval({ timeout: '1h', on_timeout: 'approve' }) });
  const taken = await option.begin('ok');
  await option.clock.advance(3_600_000);
  expect(await taken.result).toEqual({ choice: 'approve', by: 'timeout' });
  expect(option.typed('review.resolved')).toMatchObject([{ answer: 'approved', choice: 'approve' }]);
});

// Waiting

test('a wait is due by its first start, also after a restart, and fires once', async () => {
  const run = await given({ steps: [{ name: 'w', type: 'wait', for: '10m' }] });
  const due = run.clock.now() + 600_000;
  const first = await run.begin('w');
  expect(first.suspended()).toEqual({ for: 'timer w', due });
  await run.clock.advance(400_000);
  const takeUp = run.restart();
  first.stop();
  await failure(first.result);
  takeUp();
  const again = await run.begin('w');
  expect(again.suspended()?.due).toBe(due);
  await run.clock.advance(199_999);
  expect(run.typed('timer.fired')).toEqual([]);
  await run.clock.advance(1);
  expect(await again.result).toEqual({ until: new Date(due).toISOString() });
  // A crash between the timer and the step's end: it is not waited for again.
  expect(await (await run.begin('w')).result).toEqual({ until: new Date(due).toISOString() });
  expect(run.typed('timer.set')).toHaveLength(1);
  expect(run.typed('timer.fired')).toHaveLength(1);
  expect(run.clock.pending).toBe(0);
});

test.each([
  [{ for: '${input.d}' }, { d: 90 }, 90_000],
  [{ for: '${input.d}' }, { d: '2m' }, 120_000],
  [{ until: '2026-01-01T00:05:00Z' }, {}, 300_000],
  [{ until: '2026-01-01T00:05:00' }, {}, 300_000],
  [{ until: '${input.at}' }, { at: '2026-01-01T01:05:00+01:00' }, 300_000],
])('%j with %j waits %d ms', async (step, input, ms) => {
  const run = await given({ input: input as JsonObject, steps: [{ name: 'w', type: 'wait', ...step }] });
  const doing = await run.begin('w');
  expect(doing.suspended()?.due).toBe(run.clock.now() + ms);
  doing.stop();
});

test('what has been by then is not waited for; what is no time is an error', async () => {
  const wait = (until: Json) => ({
    input: { until },
    steps: [{ name: 'w', type: 'wait', until: '${input.until}' }],
  });
  expect(await (await given(wait('2025-12-31'))).do('w')).toEqual({ until: '2025-12-31T00:00:00.000Z' });
  for (const bad of ['tomorrow', 7, '2026-13-01'])
    expect((await (await given(wait(bad))).fails('w')).code).toBe('bad_parameters');
});

const waitFor = (name: string, event: string, match?: object) => ({
  name,
  type: 'wait',
  event,
  ...(match === undefined ? {} : { match }),
});

test('a wait takes the first event that matches, also one that came before it began', async () => {
  const run = await given({
    input: { who: 'bo' },
    steps: [waitFor('w', 'metadata.changed', { by: '${input.who}' })],
  });
  run.signal('metadata.changed', { by: 'ada', n: 1 });
  run.signal('turn.completed', { by: 'bo', n: 2 });
  const doing = await run.begin('w');
  expect(doing.suspended()).toEqual({ for: 'event metadata.changed', due: undefined });
  const { seq } = run.signal('metadata.changed', { by: 'bo', n: 3 });
  expect(await doing.result).toEqual({ event: 'metadata.changed', data: { by: 'bo', n: 3 }, seq });
  const early = await given({ steps: [waitFor('w', 'fault')] });
  early.signal('fault', { n: 1 });
  expect(await early.do('w')).toMatchObject({ data: { n: 1 } });
});

test('each event is taken by one wait only, also after a restart', async () => {
  const run = await given({ steps: [waitFor('a', 'fault'), waitFor('b', 'fault'), waitFor('c', 'fault')] });
  const a = await run.begin('a');
  const b = await run.begin('b');
  run.signal('fault', { n: 1 });
  expect(await a.result).toMatchObject({ data: { n: 1 } });
  expect(b.suspended()).toBeDefined();
  run.signal('fault', { n: 2 });
  expect(await b.result).toMatchObject({ data: { n: 2 } });
  run.restart()();
  const c = await run.begin('c');
  expect(c.suspended()).toBeDefined();
  c.stop();
});

test('a signal of a name of its own is a custom event of that name', async () => {
  const run = await given({
    steps: [waitFor('w', 'custom', { name: 'deployed', 'data.ok': true }), waitFor('f', 'fault')],
  });
  run.signal('fault');
  run.signal('deployed', { ok: false });
  run.signal('deployed', { ok: true });
  expect(await run.do('w')).toMatchObject({ event: 'deployed', data: { ok: true } });
  run.signal('custom', { name: 'deployed', data: { ok: true }, n: 2 });
  expect(await run.do('w')).toMatchObject({ event: 'custom', data: { n: 2 } });
});

// Undoing, and what is not built

test('a compensation is called with the output of its step', async () => {
  const run = await given({
    agent: 'import: { relics: [./notes.yml] }',
    files: { 'notes.yml': 'kind: Relic\nname: notes\ndriver: log\n' },
    steps: [
      {
        name: 'a',
        type: 'emit',
        event: 'e',
        compensate: {
          type: 'relic',
          target: 'notes',
          parameters: { value: { undo: '${output.id}', of: '${steps.a.output.id}' } },
        },
      },
      { name: 'look', type: 'relic', target: 'notes', parameters: { operation: 'read' } },
    ],
  });
  completed(run.journal, 'a', { id: 7 });
  await run.compensate('a', { id: 7 });
  expect(JSON.stringify(await run.do('look'))).toContain('{"undo":7,"of":7}');
});

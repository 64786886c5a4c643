import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  createHooks,
  type HookDeps,
  type HookSources,
  readAnswer,
} from '../../src/agent/hooks/create-hooks.ts';
import type { HookEvent, HookLists } from '../../src/agent/hooks/hook-types.ts';
import { createStepHooks } from '../../src/agent/hooks/session-hooks.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { RunJournal } from '../../src/engine/run-log.ts';
import type { InvokeRecord } from '../../src/lib/calls.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { reduceRun } from '../../src/log/reduce-run.ts';
import type { RunEventBody } from '../../src/log/run-event.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import type { SimpleStep } from '../../src/manifest/schema/steps/step.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import type { InvokeRequest } from '../../src/tools/artifacts/create-invoke.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';
import { speak } from './speak.ts';

// Real processes, on a machine that may be busy.
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** Writes down what it was given, in `FILE`, then does as `then` says. */
const sh = (then: string, file = 'seen') =>
  `{ command: [sh, -c, ${JSON.stringify(`cat >> ${file}; ${then}`)}], fallback: true }`;
const answer = (value: Json) => `printf '%s' '${JSON.stringify(value)}'`;

const HEAD = 'permissions: { sandbox: "off" }\nimport: { tools: [./tools/*.yml] }\n';
const echo = (extra = '') =>
  tool(
    'echo',
    `const fs = await import('node:fs');
fs.appendFileSync(new URL('../calls', import.meta.url), JSON.stringify(input) + '\\n');
if (input.fail) throw new Error('No luck.');
return { said: input.text };`,
    `parameters: { type: object, properties: { text: { type: string }, fail: {} }, required: [text] }\n${extra}`,
  );
const CALL = speak('tags', [{ call: 'echo', input: { text: 'hello' }, run: { id: 'one', mode: 'sync' } }]);
const DONE = speak('tags', [{ respond: 'Done.' }]);

async function run(hooks: string, turns: readonly string[] = [CALL, DONE], more = '', extra = '') {
  const ran = await runAgent({
    manifest: `${HEAD}${more}hooks:\n${hooks}`,
    files: echo(extra),
    turns,
    runtime: { env: { PATH: process.env.PATH } },
  });
  folders.push(ran.folder);
  return {
    ...ran,
    seen: (file = 'seen') => linesOf(join(ran.folder, file)),
    calls: linesOf(join(ran.folder, 'calls')),
  };
}

const linesOf = (file: string): readonly JsonObject[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as JsonObject)
    : [];

const typesFrom = (events: readonly SessionEvent[], first: string) => {
  const types = events.map(({ type }) => type as string);
  return types.slice(types.indexOf(first));
};

describe('before_action', () => {
  it('is given the action on its standard input, and stands on the log before the start', async () => {
    const ran = await run(
      `  before_action: [${sh('')}]\n`,
      undefined,
      'metadata: { fields: { status: { values: [IDLE, BUSY], default: IDLE } } }\ncontext_variables: { runtime: [{ name: tries, type: number, default: 2 }] }\n',
    );
    expect(ran.result.status).toBe('completed');
    expect(ran.seen()).toEqual([
      {
        hook: 'before_action',
        agent: 'tester',
        session: ran.result.session,
        turn: 1,
        action: { id: 'one', kind: 'tool', name: 'echo', parameters: { text: 'hello' } },
        metadata: { status: 'IDLE' },
        variables: { tries: 2 },
      },
    ]);
    const [record] = ran.of('hook.ran');
    expect(record).toMatchObject({
      hook: 'before_action',
      of: 'agent',
      index: 0,
      action: 'one',
      outcome: 'passed',
    });
    expect(record?.by).toBe('sh');
    expect(record).not.toHaveProperty('input');
    const declared = ran.of('action.declared')[0];
    expect(record?.cause.seq).toBe(declared?.seq);
    expect(typesFrom(ran.events, 'action.declared').filter((type) => /^(action|hook)\./.test(type))).toEqual([
      'action.declared',
      'hook.ran',
      'action.started',
      'action.completed',
    ]);
  });

  it('may refuse: the model is told why, and the target is never called', async () => {
    const ran = await run(
      `  before_action: [${sh(answer({ refuse: 'Not on a Friday.' }))}, ${sh('', 'second')}]\n`,
    );
    expect(ran.calls).toEqual([]);
    expect(ran.seen('second')).toEqual([]);
    expect(ran.of('hook.ran')).toMatchObject([{ outcome: 'refused', reason: 'Not on a Friday.' }]);
    expect(ran.of('action.failed')).toMatchObject([
      { id: 'one', attempts: 0, error: { code: 'hook_refused' } },
    ]);
    expect(ran.prompts[1]).toContain('hook_refused');
    expect(ran.prompts[1]).toContain('Not on a Friday.');
  });

  it('may change the parameters: those are on action.started, are what runs, and what the next hook sees', async () => {
    const ran = await run(
      `  before_action: [${sh(answer({ parameters: { text: 'changed' } }))}, ${sh('', 'second')}]\n`,
    );
    expect(ran.calls).toEqual([{ text: 'changed' }]);
    expect(ran.seen('second')).toMatchObject([{ action: { parameters: { text: 'changed' } } }]);
    expect(ran.of('hook.ran')).toMatchObject([
      { index: 0, outcome: 'changed', input: { text: 'changed' } },
      { index: 1, outcome: 'passed' },
    ]);
    expect(ran.of('hook.ran')[1]).not.toHaveProperty('input');
    expect(ran.of('action.started')).toMatchObject([{ input: { text: 'changed' } }]);
  });

  it('whose parameters do not fit the target comes to its fallback', async () => {
    const bad = answer({ parameters: { text: 7 } });
    const ran = await run(
      `  before_action: [{ command: [sh, -c, ${JSON.stringify(bad)}], fallback: { refuse: It is broken. } }]\n`,
    );
    expect(ran.calls).toEqual([]);
    const [record] = ran.of('hook.ran');
    expect(record).toMatchObject({ outcome: 'refused', reason: 'It is broken.' });
    expect(record?.fallback).toMatch(/^the parameters it gave do not fit: .*text/);
  });

  it('that fails in any way comes to its fallback, and the log says why', async () => {
    const hook = (command: string, more = '') =>
      `{ command: [sh, -c, ${JSON.stringify(command)}], fallback: true${more} }`;
    const ran = await run(
      `  before_action:\n    - ${hook('echo broken >&2; exit 3')}\n    - ${hook('echo well')}\n    - ${hook('echo 42')}\n    - ${hook('sleep 20', ', timeout: 50ms')}\n    - { command: [no-such-program], fallback: true }\n`,
    );
    expect(ran.calls).toHaveLength(1);
    const reasons = ran.of('hook.ran').map(({ fallback }) => fallback);
    expect(reasons).toEqual([
      expect.stringMatching(/exited with 3: broken$/),
      'it printed "well", which is no JSON',
      'it answered 42; a hook here answers nothing, true, false, {"refuse": "why"} or {"parameters": {…}}',
      expect.stringMatching(/took more than 0.05 s\.$/),
      'The program "no-such-program" of the before_action hook "no-such-program" was not found.',
    ]);
    expect(ran.of('hook.ran').map(({ outcome }) => outcome)).toEqual(Array(5).fill('passed'));
  });

  it('is asked before a person is, who sees the changed parameters', async () => {
    const questions: Json[] = [];
    const ran = await runAgent({
      manifest: `${HEAD}hooks:\n  before_action: [${sh(answer({ parameters: { text: 'safe' } }))}]\n`,
      files: echo('approval: always\n'),
      turns: [CALL, DONE],
      runtime: {
        env: { PATH: process.env.PATH },
        approve: async ({ input }) => {
          questions.push(input);
          return true;
        },
      },
    });
    folders.push(ran.folder);
    expect(questions).toEqual([{ text: 'safe' }]);
    expect(ran.of('review.requested')).toMatchObject([{ input: { text: 'safe' } }]);
    expect(ran.types.indexOf('hook.ran')).toBeLessThan(ran.types.indexOf('review.requested'));
  });

  it('is asked once, however often the action is tried', async () => {
    const call = speak('tags', [
      { call: 'echo', input: { text: 'x', fail: true }, run: { id: 'one', retry: 2, on_error: 'retry' } },
    ]);
    const ran = await run(`  before_action: [${sh('')}]\n  on_error: [${sh('', 'errors')}]\n`, [
      call,
      DONE,
      DONE,
    ]);
    expect(ran.calls).toHaveLength(3);
    expect(ran.seen()).toHaveLength(1);
    expect(ran.seen('errors')).toHaveLength(1);
  });

  it('is asked about internal actions and about each round of a foreach, with the parameters resolved', async () => {
    const turn = `<action type="internal" id="set">{"name":"set_variable","parameters":{"name":"list","value":["a","b"]}}</action>
<foreach in="$list" as="item"><action id="each">{"name":"echo","parameters":{"text":"$item"},"depends_on":["set"]}</action></foreach>`;
    const ran = await run(
      `  before_action: [${sh('')}]\n`,
      [turn, DONE],
      'context_variables: { runtime: [{ name: list, type: array, default: [a, b] }] }\n',
    );
    // The rounds are asked about side by side, each by a process of its own.
    const [first, ...rounds] = ran.seen().map(({ action }) => (action as JsonObject).id);
    expect([first, ...rounds.toSorted()]).toEqual(['set', 'each[0]', 'each[1]']);
    const records = ran.of('hook.ran').filter(({ action }) => action !== 'set');
    expect(new Map(records.map(({ action, input }) => [action, input]))).toEqual(
      new Map([
        ['each[0]', { text: 'a' }],
        ['each[1]', { text: 'b' }],
      ]),
    );
  });
});

describe('after_action', () => {
  it('may change the result that the model sees', async () => {
    const ran = await run(`  after_action: [${sh(answer({ result: 'hidden' }))}, ${sh('', 'second')}]\n`);
    expect(ran.seen()).toMatchObject([{ action: { id: 'one' }, result: { said: 'hello' } }]);
    expect(ran.seen('second')).toMatchObject([{ result: 'hidden' }]);
    expect(ran.of('hook.ran')).toMatchObject([{ outcome: 'changed' }, { outcome: 'passed' }]);
    expect(ran.of('action.completed')).toMatchObject([{ output: 'hidden' }]);
    expect(ran.prompts[1]).toContain('hidden');
    expect(ran.prompts[1]).not.toContain('said');
  });

  it('takes no time of the action, and cannot make one fail that is done', async () => {
    const call = speak('tags', [
      { call: 'echo', input: { text: 'x' }, run: { id: 'one', timeout: 0.3, retry: 1, on_error: 'retry' } },
    ]);
    const ran = await run(`  after_action: [${sh('sleep 0.6; exit 1')}]\n`, [call, DONE]);
    expect(ran.calls).toHaveLength(1);
    expect(ran.of('action.completed')).toHaveLength(1);
    expect(ran.of('action.failed')).toEqual([]);
  });

  it('is not asked where the action failed: on_error is', async () => {
    const call = speak('tags', [{ call: 'echo', input: { text: 'x', fail: true }, run: { id: 'one' } }]);
    const ran = await run(`  after_action: [${sh('')}]\n  on_error: [${sh('', 'errors')}]\n`, [
      call,
      DONE,
      DONE,
    ]);
    expect(ran.seen()).toEqual([]);
    expect(ran.seen('errors')).toMatchObject([
      {
        hook: 'on_error',
        turn: 1,
        action: { id: 'one' },
        error: { message: expect.stringContaining('No luck') },
      },
    ]);
    const [record] = ran.of('hook.ran');
    expect(record).toMatchObject({ hook: 'on_error', action: 'one', outcome: 'passed' });
    expect(record?.cause.seq).toBe(ran.of('action.failed')[0]?.seq);
  });
});

describe('hooks of turns', () => {
  it('observe each turn, in order, whatever they answer', async () => {
    const ran = await run(
      `  before_turn: [${sh(answer(false), 'order')}]\n  after_turn: [${sh(answer({ refuse: 'no' }), 'order')}]\n`,
    );
    expect(ran.result.status).toBe('completed');
    expect(ran.seen('order').map(({ hook, turn }) => `${hook} ${turn}`)).toEqual([
      'before_turn 1',
      'after_turn 1',
      'before_turn 2',
      'after_turn 2',
    ]);
    expect(ran.of('hook.ran').map(({ outcome }) => outcome)).toEqual(Array(4).fill('passed'));
    const marks = ran.types.filter((type) =>
      ['hook.ran', 'turn.started', 'session.completed'].includes(type),
    );
    expect(marks).toEqual([
      'hook.ran',
      'turn.started',
      'hook.ran',
      'hook.ran',
      'turn.started',
      'hook.ran',
      'session.completed',
    ]);
  });

  it('on_error is told of a turn that failed, and of the action that ends the session', async () => {
    const model = {
      id: 'broken',
      async stream({ turn }: { readonly turn: number }, sink: { text(delta: string): void }) {
        if (turn === 1) throw new RuntimeError('model_failed', 'It is down.', { retryable: false });
        sink.text(CALL);
        return { finish: 'stop' as const };
      },
    };
    const ran = await runAgent({
      manifest: `${HEAD}hooks:\n  on_error: [${sh('', 'errors')}]\n`,
      files: echo(),
      turns: [],
      model,
      runtime: { env: { PATH: process.env.PATH } },
    });
    folders.push(ran.folder);
    expect(ran.result.status).toBe('failed');
    expect(linesOf(join(ran.folder, 'errors'))).toMatchObject([{ turn: 1, error: { code: 'model_failed' } }]);
    const fatal = speak('tags', [
      { call: 'echo', input: { text: 'x', fail: true }, run: { id: 'one', on_error: 'fail', mode: 'sync' } },
    ]);
    const second = await run(`  on_error: [${sh('sleep 0.1', 'errors')}]\n`, [fatal]);
    expect(second.result.status).toBe('failed');
    expect(second.of('hook.ran')).toHaveLength(1);
    expect(second.types.at(-1)).toBe('session.failed');
  });
});

describe('a session that is stopped while a hook is asked', () => {
  it('does not wait for it', async () => {
    const ran = await runAgent({
      manifest: `${HEAD}hooks:\n  before_action: [${sh('sleep 60')}]\n`,
      files: echo(),
      turns: [CALL, DONE],
      runtime: { env: { PATH: process.env.PATH } },
      during: (session) => {
        session.subscribe((event) => {
          if (event.type === 'action.declared') void session.cancel('enough');
        });
      },
    });
    folders.push(ran.folder);
    expect(ran.result.status).toBe('cancelled');
    expect(ran.of('action.cancelled')).toMatchObject([{ id: 'one' }]);
    expect(ran.of('hook.ran')).toEqual([]);
  });
});

describe('a log with hooks', () => {
  it('that ends behind any of its appends is taken up there: a hook on it is not asked again', async () => {
    const input = '"text":"$word"';
    const turn = `<action id="one">{"name":"echo","parameters":{${input}}}</action><action id="two">{"name":"echo","parameters":{"text":"x","fail":true}}</action>`;
    const hook = (then: string) => sh(then, 'asked');
    const setUp = async () => {
      const folder = agentFolder(
        `${HEAD}context_variables: { runtime: [{ name: word, type: string, default: hello }] }\nhooks:\n  before_turn: [${hook('')}]\n  after_turn: [${hook('')}]\n  before_action: [${hook('')}, ${hook(answer({ parameters: { text: 'changed' } }))}]\n  after_action: [${hook(answer({ result: 'hidden' }))}]\n  on_error: [${hook('')}]\n`,
        echo('idempotent: true\n'),
      );
      folders.push(folder);
      return { folder, agent: await loadAgent('agent.yml', { cwd: folder }) };
    };
    const { scripted } = await import('../../src/testing/scripted.ts');
    const model = scripted([turn, DONE, DONE]);
    let places = 0;
    await resumeEverywhere(
      {
        setUp,
        input: 'Do it.',
        runtime: { env: { PATH: process.env.PATH } },
        start: { model },
        resume: { model },
      },
      ({ scene, left, events, result, where }) => {
        places++;
        expect(result.status, where).toBe('completed');
        const id = left[0]?.session;
        const keyOf = (event: { hook: Json; action?: Json; index: Json; turn: Json }) =>
          `${event.hook} ${event.index} ${event.action ?? `turn ${event.turn}`}`;
        const ran = events.flatMap((event) => (event.type === 'hook.ran' ? [event] : []));
        const known = left.flatMap((event) => (event.type === 'hook.ran' ? [event] : []));
        // Nothing stands twice on the log, and what stood there was not asked again in the second life.
        const perAction = ran.filter(({ action }) => action !== undefined).map(keyOf);
        expect(new Set(perAction).size, where).toBe(perAction.length);
        const asked = linesOf(join(scene.folder, 'asked')).filter(({ session }) => session === id);
        expect(asked.length, where).toBe(ran.length - known.length);
        // The parameters and the result are what hooks made of them, in either life.
        const started = events.filter((event) => event.type === 'action.started');
        expect(
          started.map(({ input: given }) => given),
          where,
        ).toEqual(started.map(() => ({ text: 'changed' })));
        const completed = events.filter((event) => event.type === 'action.completed');
        for (const { output } of completed) expect(output, where).toBe('hidden');
        expect(
          perAction.filter((key) => key.startsWith('before_action')),
          where,
        ).toHaveLength(4);
      },
      { sideBySide: 4 },
    );
    expect(places).toBeGreaterThan(12);
  });
});

const lists = (more: Partial<HookLists>): HookLists => ({
  before_turn: [],
  after_turn: [],
  before_action: [],
  after_action: [],
  on_error: [],
  ...more,
});
const invocation = (invoke: string, fallback: Json = true) => ({
  invoke,
  method: 'judge',
  args: ['strict'],
  cache: true,
  fallback,
});

function fakeHooks(
  sources: HookSources,
  decide: (question: InvokeRequest) => Partial<InvokeRecord>,
  start = 5,
) {
  const log: HookEvent[] = [];
  const questions: InvokeRequest[] = [];
  const deps: HookDeps = {
    stream: 'run_1',
    clock: createSystemClock(),
    command: () => Promise.reject(new RuntimeError('internal', 'No command is expected.')),
    async invoke(question) {
      questions.push(question);
      const { where, invocation: asked } = question;
      const { invoke: artifact, method, args } = asked;
      return {
        where,
        artifact,
        method,
        args,
        result: null,
        cached: false,
        ms: 1,
        cost: 0,
        ...decide(question),
      };
    },
    context: () => ({
      agent_id: 'tester',
      current_state: null,
      step_name: null,
      balance: 1,
      success_rate: 1,
      recent_actions: [],
      last_result: null,
      metadata: {},
      variables: {},
    }),
    marks: () => [],
    hookContext: () => ({ agent: 'tester', run: 'run_1', metadata: {}, variables: {} }),
    balance: () => log.findLast((event) => event.type === 'budget.charged')?.balance ?? start,
    append(body) {
      log.push(body);
      return { stream: 'run_1', seq: log.length, depth: 1 };
    },
  };
  return { hooks: createHooks(sources, deps), log, questions };
}

const STEP_CALL = {
  id: 'build',
  kind: 'tool',
  name: 'make',
  parameters: { target: 'all' },
  signal: new AbortController().signal,
};

describe('hooks of a call in a workflow', () => {
  it('are asked in order: the agent, the workflow, the step', async () => {
    const { hooks, log, questions } = fakeHooks(
      {
        agent: lists({ before_action: [invocation('first')] }),
        workflow: lists({ before_action: [invocation('second')] }),
        step: { name: 'build', hooks: lists({ before_action: [invocation('third')] }) },
      },
      ({ invocation: { invoke, args } }) => {
        const { action } = args[0] as { action: { parameters: { target: string } } };
        return { result: { parameters: { target: `${action.parameters.target} ${invoke}` } }, cost: 0.1 };
      },
    );
    expect(await hooks?.before(STEP_CALL, undefined)).toEqual({ target: 'all first second third' });
    expect(
      log.flatMap((event) => (event.type === 'hook.ran' ? [[event.of, event.by, event.input]] : [])),
    ).toEqual([
      ['agent', 'first.judge', { target: 'all first' }],
      ['workflow', 'second.judge', { target: 'all first second' }],
      ['step build', 'third.judge', { target: 'all first second third' }],
    ]);
    expect(log.slice(0, 3).map(({ type }) => type)).toEqual(['invoke', 'budget.charged', 'hook.ran']);
    expect(log[1]).toMatchObject({ what: 'artifact', amount: 0.1, balance: 4.9 });
    expect(questions[0]).toMatchObject({ where: 'hook before_action', expected: { type: 'any' } });
    expect(questions[0]?.invocation.args).toMatchObject([
      { hook: 'before_action', run: 'run_1', action: { id: 'build' } },
      'strict',
    ]);
  });

  it('that are asked about one result are each paid from what the one before left', async () => {
    const { hooks, log } = fakeHooks(
      { agent: lists({ after_action: [invocation('first'), invocation('second')] }) },
      () => ({ result: true, cost: 2 }),
      5,
    );
    const looked = await hooks?.after(STEP_CALL, 'made');
    expect(log.flatMap((event) => (event.type === 'budget.charged' ? [event.balance] : []))).toEqual([3, 1]);
    expect(looked?.records.map(({ type }) => type)).toEqual(['hook.ran', 'hook.ran']);
  });

  it('that are programs are named without their arguments, which may hold secrets', async () => {
    const command = (...parts: string[]) => ({ command: parts, env: {}, fallback: true });
    const { hooks, log } = fakeHooks(
      {
        agent: lists({
          before_action: [
            command('node', 'hooks/guard.mjs', '--key', 'hunter2'),
            command('curl', '-H', 'Authorization: hunter2'),
          ] as HookLists['before_action'],
        }),
      },
      () => ({}),
    );
    await hooks?.before(STEP_CALL, undefined);
    expect(log.map((event) => (event.type === 'hook.ran' ? event.by : event.type))).toEqual([
      'node hooks/guard.mjs',
      'curl',
    ]);
    expect(JSON.stringify(log)).not.toContain('hunter2');
  });

  it('that are told of nothing new write the parameters once', async () => {
    const { hooks, log } = fakeHooks(
      { agent: lists({ before_action: [invocation('first'), invocation('second')] }) },
      () => ({ result: true }),
    );
    await hooks?.before(STEP_CALL, undefined);
    expect(log.map((event) => (event.type === 'hook.ran' ? event.input : event.type))).toEqual([
      'invoke',
      { target: 'all' },
      'invoke',
      undefined,
    ]);
  });

  it('an artifact that cannot decide counts by its fallback, and refuses where even that cannot be used', async () => {
    const unable = {
      result: false,
      fallback: { reason: 'missing', message: 'There is no artifact "gate".' },
    } as const;
    const first = fakeHooks(
      { workflow: lists({ before_action: [invocation('gate', false)] }) },
      () => unable,
    );
    await expect(first.hooks?.before(STEP_CALL, undefined)).rejects.toMatchObject({ code: 'hook_refused' });
    expect(first.log.at(-1)).toMatchObject({ outcome: 'refused', fallback: 'There is no artifact "gate".' });
    const second = fakeHooks({ workflow: lists({ before_action: [invocation('gate', 7)] }) }, () => ({
      result: 'x',
    }));
    await expect(second.hooks?.before(STEP_CALL, undefined)).rejects.toThrow(
      'neither its answer nor its fallback',
    );
  });

  it('are on the journal of the run, and one that is there is not asked again about the same step', async () => {
    const state = emptyRun();
    const asked: string[] = [];
    const journal: RunJournal = {
      state,
      append(body, cause = { stream: 'run_1', seq: 0, depth: 0 }) {
        const seq = state.seq + 1;
        reduceRun(state, { ...body, seq, at: 0, run: 'run_1', cause });
        bodies.push(body);
        return { stream: 'run_1', seq, depth: cause.depth + 1 };
      },
      flushed: () => Promise.resolve(),
      committedSeq: () => state.seq,
      subscribe: () => () => undefined,
      seal: () => undefined,
    };
    const bodies: RunEventBody[] = [];
    const hooksOf = createStepHooks({
      agent: { name: 'tester', hooks: lists({ before_action: [invocation('gate')] }) },
      workflow: { hooks: lists({ after_action: [invocation('mask')], on_error: [invocation('alarm')] }) },
      journal,
      clock: createSystemClock(),
      command: () => Promise.reject(new RuntimeError('internal', 'No command is expected.')),
      async invoke({ where, invocation: { invoke: artifact, method, args } }) {
        asked.push(artifact);
        const result = artifact === 'mask' ? { result: 'masked' } : { parameters: { target: 'one' } };
        return { where, artifact, method, args, result, cached: false, ms: 0, cost: 0 };
      },
      context: (step) => ({
        agent_id: 'tester',
        current_state: null,
        step_name: step,
        balance: null,
        success_rate: 1,
        recent_actions: [],
        last_result: null,
        metadata: {},
        variables: {},
      }),
      metadata: () => ({ status: 'IDLE' }),
    });
    const step = { name: 'build', type: 'tool', target: 'make', parameters: {} } as unknown as SimpleStep;
    const first = hooksOf(step);
    expect(await first?.before(STEP_CALL)).toEqual({ target: 'one' });
    // After a restart the run is walked again, and its log is the memory.
    const second = hooksOf(step);
    expect(await second?.before(STEP_CALL)).toEqual({ target: 'one' });
    expect(asked).toEqual(['gate']);
    journal.append({ type: 'step.started', step: 'build', attempt: 1, input: {}, repeatable: true });
    expect(await second?.after(STEP_CALL, 'secret')).toBe('masked');
    await second?.failed(STEP_CALL, { code: 'x', message: 'y', retryable: false });
    expect(asked).toEqual(['gate', 'mask', 'alarm']);
    const ran = bodies.flatMap((body) =>
      body.type === 'hook.ran' ? [`${body.of} ${body.hook} ${body.outcome}`] : [],
    );
    expect(ran).toEqual([
      'agent before_action changed',
      'workflow after_action changed',
      'workflow on_error passed',
    ]);
    journal.append({ type: 'step.completed', step: 'build', output: 1, ms: 0, attempts: 1 });
    expect(state.hooks).toEqual([]);
  });

  it('are none at all where nobody has any', () => {
    expect(fakeHooks({ agent: lists({}), workflow: lists({}) }, () => ({})).hooks).toBeUndefined();
  });
});

describe('an answer', () => {
  it('of any shape is read as passed, refused, changed or unusable, and never throws', () => {
    const outcomes = new Set(['passed', 'refused', 'changed']);
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom('before_action', 'after_action', 'before_turn'),
        (value, hook) => {
          const read = readAnswer(hook as 'before_action', value as Json, { now: { a: 1 } });
          if (read.ok) expect(outcomes.has(read.value.outcome)).toBe(true);
          else expect(read.error).toMatch(/^it answered /);
          if (hook === 'before_turn') expect(read).toEqual({ ok: true, value: { outcome: 'passed' } });
        },
      ),
    );
    const before = (value: Json) => readAnswer('before_action', value, { now: { a: 1 } });
    expect(before({ parameters: { a: 1 } })).toEqual({ ok: true, value: { outcome: 'passed' } });
    expect(before({ refuse: true })).toMatchObject({
      value: { outcome: 'refused', reason: 'it gave no reason' },
    });
    expect(before({ refuse: 'x', parameters: {} })).toMatchObject({ value: { outcome: 'refused' } });
    expect(before({ ok: true })).toMatchObject({ ok: false });
    expect(readAnswer('after_action', { result: null }, { now: 1 })).toEqual({
      ok: true,
      value: { outcome: 'changed', to: null },
    });
    expect(readAnswer('after_action', false, { now: 1 })).toMatchObject({ ok: false });
  });
});

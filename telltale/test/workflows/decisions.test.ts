import { beforeEach, describe, expect, it } from 'vitest';
import type { RunJournal } from '../../src/engine/run-log.ts';
import type { InvokeRecord } from '../../src/lib/calls.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { reduceRun } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventBody } from '../../src/log/run-event.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import type { InvokeRequest } from '../../src/tools/artifacts/create-invoke.ts';
import type { Component } from '../../src/workflows/decisions.ts';
import { createDecisions } from '../../src/workflows/decisions.ts';
import type { Scope } from '../../src/workflows/scope.ts';
import { ownExpressions, runContext } from '../../src/workflows/scope.ts';

/** A journal that folds and remembers, as a run's does. */
function journalOf(events: RunEvent[]): Pick<RunJournal, 'state' | 'append'> {
  const state = emptyRun();
  for (const event of events) reduceRun(state, event);
  return {
    state,
    append(body: RunEventBody) {
      const seq = events.length + 1;
      const event = {
        ...body,
        seq,
        at: seq,
        run: 'run_1',
        cause: { stream: 'run_1', seq: 0, depth: 0 },
      } as RunEvent;
      events.push(event);
      reduceRun(state, event);
      return { stream: 'run_1', seq, depth: 1 };
    },
  };
}

const START: RunEventBody = {
  type: 'workflow.started',
  workflow: 'w',
  manifest: { path: 'a.yml', hash: 'h', agent: 'tester' },
  input: {},
  origin: { chain: ['w'], agents: [] },
  vars: { score: 3, goal: 'ship' },
  balance: 10,
};

let events: RunEvent[];
let asked: InvokeRequest[];
let answers: Record<string, Partial<InvokeRecord>>;
let read: string[][];

const scope = (journal: Pick<RunJournal, 'state'>): Scope => {
  const vars = () => Object.fromEntries(journal.state.variables);
  return {
    forTemplate: async (_, locals) => ({ vars: vars(), ...locals }) as JsonObject,
    forTest: async (roots, locals) => {
      read.push([...roots]);
      return { vars: vars(), ...vars(), ...locals };
    },
  };
};

/** The run as one process has it: another call is another process, with the log alone. */
function decisions(components: readonly Component[] = []) {
  const journal = journalOf(events);
  if (events.length === 0) journal.append(START);
  return createDecisions({
    journal,
    scope: scope(journal),
    components,
    hasEnded: () => new AbortController().signal,
    context: (step) => runContext(journal.state, step, { status: 'CODING' }),
    artifacts: {
      read: async (name) =>
        name === 'greeting'
          ? {
              name,
              version: 2,
              language: 'js',
              source: 'Dear ${vars.goal}',
              methods: [],
              author: 'user',
              at: 0,
            }
          : undefined,
    },
    invoke: async (question) => {
      asked.push(question);
      const { invoke: artifact, method, args } = question.invocation;
      const base = {
        where: question.where,
        artifact,
        version: 1,
        method,
        args,
        cached: false,
        ms: 1,
        cost: 0.5,
      };
      return { ...base, result: question.invocation.fallback, ...answers[artifact] };
    },
  });
}

const invocation = <Fallback extends Json>(invoke: string, fallback: Fallback) => ({
  invoke,
  method: 'decide',
  args: [],
  cache: true,
  fallback,
});
const ofType = (type: RunEvent['type']) => events.filter((event) => event.type === type);
const bodies = () => events.slice(1).map(({ seq, at, run, cause, ...body }) => body);

beforeEach(() => {
  events = [];
  asked = [];
  read = [];
  answers = {};
});

describe('a test in CEL', () => {
  it('is decided once, recorded, and not evaluated again after a restart', async () => {
    expect(await decisions().test('write:if', 'score > 2 && vars.goal == "ship"', {})).toBe(true);
    expect(bodies()).toEqual([
      { type: 'if.decided', at_step: 'write:if', test: 'score > 2 && vars.goal == "ship"', held: true },
    ]);
    expect(read).toEqual([['score', 'vars']]);
    expect(await decisions().test('write:if', 'false', {})).toBe(true);
    expect(events).toHaveLength(2);
  });
  it('sees the items around it', async () => {
    expect(await decisions().test('each[1]/write:if', 'file == "b"', { file: 'b' })).toBe(true);
  });
  it.each([
    ['vars.none > 1', 'none'],
    ['score >', ''],
    ['score', 'true or false'],
  ])('that cannot be evaluated is false, with the problem: %s', async (source, words) => {
    expect(await decisions().test('write:if', source, {})).toBe(false);
    const [decided] = ofType('if.decided') as readonly { problem?: string }[];
    expect(decided?.problem).toContain(words);
  });
  it('that is a constant decides nothing', async () => {
    expect(await decisions().test('write:if', true, {})).toBe(true);
    expect(bodies()).toEqual([]);
  });
});

describe('a test by an artifact', () => {
  it('is asked with the context of its place, charged, and not asked again after a restart', async () => {
    answers.gate = { result: true };
    expect(await decisions().test('each[2]/write:if', invocation('gate', false), {})).toBe(true);
    expect(asked).toMatchObject([
      {
        where: 'step each[2]/write: if',
        expected: { type: 'boolean' },
        context: {
          agent_id: 'tester',
          step_name: 'write',
          balance: 10,
          metadata: { status: 'CODING' },
          variables: { score: 3 },
        },
      },
    ]);
    expect(bodies()).toMatchObject([
      { type: 'invoke', where: 'step each[2]/write: if', artifact: 'gate', result: true, cost: 0.5 },
      { type: 'budget.charged', what: 'artifact', amount: 0.5, balance: 9.5 },
      { type: 'if.decided', at_step: 'each[2]/write:if', test: 'gate.decide', held: true },
    ]);
    expect(await decisions().test('each[2]/write:if', invocation('gate', false), {})).toBe(true);
    expect(asked).toHaveLength(1);
    await decisions().test('each[3]/write:if', invocation('gate', false), {});
    expect(asked).toHaveLength(2);
  });
  it('that comes to its fallback says so on the log, and costs nothing where nothing ran', async () => {
    answers.gate = { fallback: { reason: 'missing', message: 'none' }, cost: 0 };
    expect(await decisions().test('draft@1:transition 0', invocation('gate', true), {})).toBe(true);
    expect(asked[0]).toMatchObject({ where: 'state draft@1: transition 0', context: { step_name: null } });
    expect(bodies()).toMatchObject([
      { type: 'invoke', fallback: { reason: 'missing' } },
      { type: 'if.decided', held: true },
    ]);
  });
});

describe('the variables that a decision sees', () => {
  it('are those of the run, above the agent’s', () => {
    const { state } = journalOf([]);
    state.variables.set('goal', 'ship');
    expect(runContext(state, null, {}, { goal: 'rest', tone: 'calm' }).variables).toEqual({
      goal: 'ship',
      tone: 'calm',
    });
  });
  it('are with them what the workflow derives from both', () => {
    const { state } = journalOf([]);
    state.variables.set('goal', 'ship');
    const derived = [
      { name: 'both', expression: 'goal + tone + metadata.status', writers: ['derived' as const] },
    ];
    const expressions = ownExpressions({ context_variables: { defined: [], runtime: [], derived } });
    expect(runContext(state, null, { status: '!' }, { tone: 'calm' }, expressions).variables).toMatchObject({
      both: 'shipcalm!',
    });
  });
});

describe('the arguments of an invocation', () => {
  const about = (arg: Json) => ({ ...invocation('gate', false), args: [arg] });

  it('have their references resolved, and a text that is one reference keeps its type', async () => {
    await decisions().test('each[0]/write:if', about({ goal: '${vars.goal}', file: '${file}' }), {
      file: 'a',
    });
    await decisions().test('each[1]/write:if', about('${vars.score}'), {});
    expect(asked.map((question) => question.invocation.args)).toEqual([[{ goal: 'ship', file: 'a' }], [3]]);
    expect(bodies()[0]).toMatchObject({ type: 'invoke', args: [{ goal: 'ship', file: 'a' }] });
  });
  it('that lead nowhere are a reason for the fallback, with the path that is nearest', async () => {
    await decisions().test('write:if', about('${vars.goall}'), {});
    expect(asked).toMatchObject([{ unavailable: expect.stringMatching(/goall.*goal/s) }]);
  });
});

describe('the state that an artifact names', () => {
  it('is one of those there are, and the same after a restart', async () => {
    answers.strategy = { result: 'shipping' };
    const next = () =>
      decisions().answer('reflect:transition_source', invocation('strategy', 'observing'), [
        'observing',
        'shipping',
      ]);
    expect([await next(), await next()]).toEqual(['shipping', 'shipping']);
    expect(asked).toMatchObject([{ expected: { type: 'one_of', values: ['observing', 'shipping'] } }]);
  });
});

describe('a prompt', () => {
  const prompt = (step: object, components: readonly unknown[] = [], locals = {}) =>
    decisions(components as readonly Component[]).prompt({ name: 'write', ...step }, 'write', locals);

  it.each([
    [{ prompt: 'Reach ${vars.goal} for ${file}.' }, 'Reach ship for a.'],
    [{ prompt: '${vars.score}' }, '3'],
    [{ prompt_artifact_id: 'greeting' }, 'Dear ship'],
  ])('has its references resolved: %j', async (step, text) => {
    expect(await prompt(step, [], { file: 'a' })).toBe(text);
  });
  it('that an artifact makes is taken as it is, and is not made again after a restart', async () => {
    answers.maker = { result: 'Say ${this}.' };
    const step = { prompt: invocation('maker', 'else') };
    expect([await prompt(step), await prompt(step)]).toEqual(['Say ${this}.', 'Say ${this}.']);
    expect(asked).toMatchObject([{ where: 'step write: prompt', expected: { type: 'string' } }]);
  });
  it('falls back on text that is written like any prompt', async () => {
    await prompt({ prompt: invocation('maker', 'Reach ${vars.goal} for ${file}.') }, [], { file: 'a' });
    expect(asked).toMatchObject([{ invocation: { fallback: 'Reach ship for a.' } }]);
  });
  it.each([
    [{ prompt: '${vars.goall}' }, 'bad_prompt', /goal/],
    [{ prompt: invocation('maker', '${vars.goall}') }, 'bad_prompt', /goal/],
    [{ prompt_artifact_id: 'none' }, 'artifact_unknown', /"none"/],
  ])('that cannot be made is an error: %j', async (step, code, words) => {
    await expect(prompt(step)).rejects.toMatchObject({ code, message: expect.stringMatching(words) });
  });
  it('is joined by the components that name its step, in order, each with its reason on the log', async () => {
    answers.says_yes = { result: true };
    answers.lists = { result: ['write', 'read'] };
    const components = [
      { name: 'listed', prompt: 'A ${vars.goal}', inject_into: ['read', 'write'] },
      { name: 'elsewhere', prompt: 'NOT', inject_into: ['read'] },
      { name: 'apart', prompt: 'NOT', inject_into: [{ step: 'read', always: true }, 'publish'] },
      { name: 'always', prompt: 'B', inject_into: ['read', { step: 'write', always: true }] },
      { name: 'tested', prompt: 'C', inject_into: [{ step: 'write', if: 'score > 2' }] },
      { name: 'refused', prompt: 'NOT', inject_into: [{ step: 'write', if: 'score > 3' }] },
      { name: 'asked', prompt: 'D', inject_into: [{ step: 'write', if: invocation('says_yes', false) }] },
      { name: 'by_list', prompt_artifact_id: 'greeting', inject_into: invocation('lists', []) },
      { name: 'by_fallback', prompt: 'NOT', inject_into: invocation('says_nothing', ['read']) },
    ];
    expect(await prompt({ prompt: 'Write.' }, components)).toBe(
      'Write.\n\nA ship\n\nB\n\nC\n\nD\n\nDear ship',
    );
    expect(ofType('component.injected')).toMatchObject([
      { component: 'listed', step: 'write', because: 'always' },
      { component: 'always', because: 'always' },
      { component: 'tested', because: 'score > 2' },
      { component: 'asked', because: 'says_yes.decide' },
      { component: 'by_list', because: 'lists.decide' },
    ]);
    const before = asked.length;
    expect(await prompt({ prompt: 'Write.' }, components)).toContain('Dear ship');
    expect(asked).toHaveLength(before);
    expect(ofType('component.injected')).toHaveLength(5);
  });
});

describe('the context of a run', () => {
  it('shows the last ten steps that ended, and how many of all went well', () => {
    const journal = journalOf(events);
    journal.append(START);
    for (let n = 0; n < 12; n++) {
      const step = `each[${n}]/work`;
      journal.append({ type: 'step.started', step, attempt: 1, repeatable: true });
      if (n % 4 === 0)
        journal.append({
          type: 'step.failed',
          step,
          error: { code: 'bad', message: 'm', retryable: false },
          ms: 1,
          attempts: 1,
          policy: 'continue',
        });
      else journal.append({ type: 'step.completed', step, output: n, ms: 1, attempts: 1 });
    }
    journal.append({ type: 'state.entered', state: 'drafting', by: 'initial', visit: 1 });
    const context = runContext(journal.state, 'work');
    expect(context).toMatchObject({
      agent_id: 'tester',
      current_state: 'drafting',
      step_name: 'work',
      balance: 10,
      success_rate: 0.75,
      last_result: 11,
      metadata: {},
      variables: { score: 3, goal: 'ship' },
    });
    expect(context.recent_actions).toHaveLength(10);
    expect(context.recent_actions.at(-1)).toEqual({ id: 'each[11]/work', name: 'work', status: 'completed' });
    expect(Object.keys(context)).toHaveLength(9);
    expect(runContext(emptyRun(), null)).toMatchObject({
      success_rate: 1,
      balance: null,
      recent_actions: [],
    });
  });
});

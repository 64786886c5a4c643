import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createScope, resolveDeep } from '../../src/workflows/scope.ts';
import { childKey } from '../../src/workflows/steps/call-below.ts';
import { chosenAnswer } from '../../src/workflows/steps/create-step-executors.ts';
import { begin, completed, failure, fakeJournal, workflowOf } from './fake-run.ts';
import { stepStage } from './step-stage.ts';

const given = stepStage();

describe('of the answers of a transition', () => {
  const among = (answers: readonly string[], said: string) => chosenAnswer(said, answers);

  it('the one that was said to the letter counts, before any that is like it', () => {
    expect(['yes', 'Yes', '"Yes"'].map((said) => among(['yes', 'Yes', '"Yes"'], said))).toEqual([
      'yes',
      'Yes',
      '"Yes"',
    ]);
    expect(among(['not', 'not ready'], 'not')).toBe('not');
  });

  it('quotes and marks around it do not count, inside of it they do', () => {
    for (const said of ['**ship it**', '`ship it`', '"Ship it!"', " 'ship it.' ", '_SHIP IT_'])
      expect(among(['ship it', 'hold'], said)).toBe('ship it');
    expect(among(['e.g.', 'hold'], 'e_g')).toBeUndefined();
  });

  it('one is found in a sentence whatever its case, and its signs are no pattern', () => {
    expect(among(['DONE', 'OPEN'], 'I say it is done.')).toBe('DONE');
    expect(among(['a.b', 'x'], 'it is a.b')).toBe('a.b');
    expect(among(['a.b', 'x'], 'it is aXb')).toBeUndefined();
    expect(among(['a*', 'x'], 'it is aaa')).toBeUndefined();
  });
});

describe('what undoes a step', () => {
  const undo = (compensate: object) => ({
    input: { who: 'Ann' },
    steps: [{ name: 'a', type: 'emit', event: 'e', compensate }],
  });

  it('may be an agent, in a session that is found again', async () => {
    const called: unknown[] = [];
    const run = await given({
      ...undo({ type: 'agent', target: 'writer', parameters: { input: 'Take ${output.id} back.' } }),
      deps: {
        runAgent: async ({ agent, input, key, step, cause }) => {
          called.push([agent, input, key, step, cause.seq]);
          return null;
        },
      },
    });
    completed(run.journal, 'a', { id: 7 });
    await run.compensate('a', { id: 7 });
    expect(called).toEqual([['writer', 'Take 7 back.', 'run1.a:compensate', 'a:compensate', 2]]);
  });

  it('may be a workflow, in a run that is found again', async () => {
    const called: unknown[] = [];
    const run = await given({
      ...undo({ type: 'workflow', target: 'other', parameters: { id: '${output.id}', who: '${input.who}' } }),
      deps: {
        runWorkflow: async ({ workflow, input, key }) => {
          called.push([workflow, input, key]);
          return null;
        },
      },
    });
    completed(run.journal, 'a', { id: 7 });
    await run.compensate('a', { id: 7 });
    expect(called).toEqual([['other', { id: 7, who: 'Ann' }, 'run1.a:compensate']]);
  });

  it('may be a prompt of the agent', async () => {
    const run = await given({
      ...undo({ type: 'llm', target: 'sorry', parameters: { id: '${output.id}' } }),
      agent: 'prompts: { sorry: { template: "Say sorry for {id}." } }',
    });
    completed(run.journal, 'a', { id: 7 });
    await run.compensate('a', { id: 7 });
    expect(run.asked.map(({ text }) => text)).toEqual(['Say sorry for 7.']);
  });

  it('is not done where the run was let go of while its word was written down', async () => {
    const called: unknown[] = [];
    const owner = new AbortController();
    const run = await given({
      ...undo({ type: 'workflow', target: 'other', parameters: {} }),
      deps: { runWorkflow: async () => called.push('other') },
    });
    completed(run.journal, 'a', null);
    const place = { step: run.stepNamed('a'), address: 'a', locals: {} };
    const undone = run.executors.compensate(place, null, owner.signal, async () =>
      owner.abort(new RuntimeError('stopped', 'Stopped.')),
    );
    expect((await failure(undone)).code).toBe('stopped');
    expect(called).toEqual([]);
  });
});

describe('what a step is given', () => {
  const MAX_CHARS = 4 * 1024 * 1024;
  const resolved = async (input: unknown) =>
    resolveDeep('${input}', { forTemplate: () => ({ input }) as never }, { what: 'step "a"', locals: {} });

  it('may be as large as is allowed, as JSON, and no larger', async () => {
    const most = 'x'.repeat(MAX_CHARS - 2);
    expect(await resolved(most)).toBe(most);
    await expect(resolved(`${most}x`)).rejects.toThrow(`has ${MAX_CHARS + 1} characters`);
  });

  it('is counted with all that is in it', async () => {
    const half = 'x'.repeat(MAX_CHARS / 2);
    const many = (item: unknown, count: number) => new Array(count).fill(item);
    await expect(resolved([half, half])).rejects.toThrow('are allowed');
    await expect(resolved({ a: half, b: { c: half } })).rejects.toThrow('are allowed');
    await expect(resolved({ [half]: 1, [`${half}2`]: 2 })).rejects.toThrow('are allowed');
    await expect(resolved(many('', MAX_CHARS / 2))).rejects.toThrow('are allowed');
    await expect(resolved('"'.repeat(MAX_CHARS / 2))).rejects.toThrow('are allowed');
    expect(await resolved(many(1, 300_000))).toHaveLength(300_000);
  });
});

describe('the id of what a step calls', () => {
  it('is its address, and a hash where that is too long', () => {
    const steps = new Map();
    const of = (length: number) => childKey({ id: 'run', steps } as never, 'a'.repeat(length), 'ses');
    expect(of(252)).toBe(`run.${'a'.repeat(252)}`);
    expect(of(253)).toMatch(/^ses_[0-9a-f]{32}$/);
    expect(of(254)).not.toBe(of(253));
  });
});

describe('the scope of a step', () => {
  const scopeOf = (origin: object = {}) => {
    const journal = fakeJournal();
    begin(journal, { origin });
    const workflow = workflowOf({
      initial: 'one',
      states: { one: { steps: [{ name: 'a', type: 'emit', event: 'e' }], final: true } },
    });
    const session = { agent: async () => ({ agent_name: 'tester' }) };
    const scope = createScope({ state: journal.state, workflow, session });
    const resolve = (text: string, locals = {}) => resolveDeep(text, scope, { what: 'a step', locals });
    return { journal, resolve };
  };

  it('has the run: its state, how many it has been in, its session and who called it', async () => {
    const { journal, resolve } = scopeOf({
      session: { id: 'ses_1', seq: 4 },
      parent: { run: 'run_0', step: 'x' },
    });
    expect(await resolve('${run}')).toMatchObject({ state: null, visits: 0 });
    journal.append({ type: 'state.entered', state: 'one', by: 'initial', visit: 1 });
    expect(await resolve('${run}')).toMatchObject({
      id: 'run1',
      workflow: 'flow',
      agent: 'tester',
      started_at: '2026-01-01T00:00:00.000Z',
      state: 'one',
      visits: 1,
      session: 'ses_1',
      parent: 'run_0',
    });
    expect(await scopeOf().resolve('${run}')).toMatchObject({ session: null, parent: null });
  });

  it('has the items beside what has to be read first', async () => {
    expect(await scopeOf().resolve('${agent.agent_name}: ${item}', { item: 'x' })).toBe('tester: x');
  });

  it('shows the error of a step that failed, and none of one that was tried again and completed', async () => {
    const { journal, resolve } = scopeOf();
    const error = { code: 'boom', message: 'boom!', retryable: true };
    journal.append({ type: 'step.started', step: 'one@1/a', attempt: 1, repeatable: true });
    journal.append({ type: 'step.retrying', step: 'one@1/a', attempt: 2, error, due: 0 });
    expect(await resolve('${steps.a}')).toEqual({ status: 'retrying', error });
    journal.append({ type: 'step.started', step: 'one@1/a', attempt: 2, repeatable: true });
    journal.append({ type: 'step.completed', step: 'one@1/a', output: 1, ms: 1, attempts: 2 });
    expect(await resolve('${steps.a}')).toEqual({ status: 'completed', output: 1 });
  });
});

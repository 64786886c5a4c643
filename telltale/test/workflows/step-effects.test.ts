import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { Target } from '../../src/tools/target.ts';
import { failure } from './fake-run.ts';
import { settled, stepStage } from './step-stage.ts';

const given = stepStage();

describe('a step that a crash left in doubt', () => {
  it.each([
    { type: 'set_metadata', values: { a: 1 } },
    { type: 'set_variable', values: { a: 1 } },
    { type: 'notify', message: 'hi' },
    { type: 'emit', event: 'e' },
    { type: 'wait', for: '1m' },
    { type: 'wait', until: '2026-01-01T00:05:00Z' },
    { type: 'wait', event: 'custom' },
    { type: 'approval', prompt: 'May it?' },
    { type: 'llm', prompt: 'Well?' },
    { type: 'agent', target: 'writer', parameters: { input: 'Write.' } },
    { type: 'workflow', target: 'other' },
    { type: 'script', script: '1' },
  ])('is done again, and does no harm: %j', async (step) => {
    const run = await given({ session: true, steps: [{ name: 's', ...step }] });
    expect(await run.ready('s')).toMatchObject({ repeatable: true });
  });
});

describe('a call that was approved', () => {
  /** A tool that must not be called twice, for which a person is asked. */
  async function deploying(step: JsonObject = {}, more: Partial<Target> = {}) {
    const story: string[] = [];
    const target: Target = {
      kind: 'tool',
      name: 'deploy',
      description: '',
      parameters: {},
      idempotent: false,
      start: 'on_close',
      check: () => undefined,
      needs: async () => ({
        target: 'tool "deploy"',
        what: 'deploy',
        because: 'x',
        grants: ['deploy'],
      }),
      run: async () => {
        story.push('called');
        return 'deployed';
      },
      ...more,
    };
    const guardNonIdempotent = () => {
      story.push('entered');
      return () => story.push('left');
    };
    const run = await given({
      steps: [{ name: 'd', type: 'tool', target: 'deploy', parameters: {}, ...step }],
      deps: {
        targets: { find: () => target, all: () => [target] } as never,
        guardNonIdempotent: guardNonIdempotent as never,
      },
    });
    const { flushed } = run.journal;
    run.journal.flushed = async () => {
      story.push(`committed through ${run.journal.events.length}`);
      await flushed();
    };
    return { run, story };
  }

  it('is on the log as in doubt, committed, before it is made', async () => {
    const { run, story } = await deploying();
    const doing = await run.begin('d');
    await settled();
    expect([story, doing.suspended()?.for]).toEqual([[], expect.stringMatching(/^review /)]);
    run.answer('approve');
    expect(await doing.result).toBe('deployed');
    const intent = run.journal.events.findLastIndex(({ type }) => type === 'step.started') + 1;
    expect(story).toEqual(['entered', `committed through ${intent}`, 'called', 'left']);
    expect(run.typed('step.started').at(-1)).toMatchObject({ attempt: 1, input: {}, repeatable: false });
  });

  it.each([
    [{ timeout: '2s' }, 2_000],
    [{}, 5_000],
  ] as const)('with %j has %d ms from then on, however long a person took', async (step, ms) => {
    const { run } = await deploying(step, {
      timeoutMs: 5_000,
      run: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const doing = await run.begin('d');
    await settled();
    await run.clock.advance(3_600_000);
    run.answer('approve');
    await settled();
    let over = false;
    const end = failure(doing.result).finally(() => {
      over = true;
    });
    await run.clock.advance(ms - 1);
    expect(over).toBe(false);
    await run.clock.advance(1);
    expect((await end).code).toBe('timeout');
  });

  it('needs nobody where what it does needs no leave', async () => {
    const { run, story } = await deploying({}, { needs: async () => undefined });
    expect(await run.ready('d')).toMatchObject({ repeatable: false });
    expect(await run.do('d')).toBe('deployed');
    expect(story).toContain('called');
    expect(run.typed('review.requested')).toEqual([]);
  });
});

describe('a wait', () => {
  it('notices within seconds that the clock of the machine was set forward', async () => {
    const run = await given({ steps: [{ name: 'w', type: 'wait', for: '10m' }] });
    const { now } = run.clock;
    const doing = await run.begin('w');
    run.clock.now = () => now() + 600_000;
    await run.clock.advance(5_000);
    expect(await doing.result).toMatchObject({ until: '2026-01-01T00:10:00.000Z' });
    expect(run.clock.pending).toBe(0);
  });

  it('goes on where the clock was set back meanwhile', async () => {
    const run = await given({ steps: [{ name: 'w', type: 'wait', for: '10m' }] });
    const { now } = run.clock;
    await run.begin('w');
    run.clock.now = () => now() - 60_000;
    await run.clock.advance(659_999);
    expect(run.typed('timer.fired')).toEqual([]);
    await run.clock.advance(5_000);
    expect(run.typed('timer.fired')).toHaveLength(1);
  });

  it.each([null, true, 'soon', [], { hours: 1 }])('for %j is refused', async (d) => {
    const run = await given({
      input: { d: d as Json },
      steps: [{ name: 'w', type: 'wait', for: '${input.d}' }],
    });
    expect(await run.fails('w')).toMatchObject({
      code: 'bad_parameters',
      message: expect.stringMatching(/^"for" of step "w" is .*, which is no duration\.$/),
    });
  });

  it('for an event whose match cannot be read is refused', async () => {
    const match = { name: { matches: '${input.pattern}' } };
    const steps = [{ name: 'w', type: 'wait', event: 'custom', match }];
    const run = await given({ input: { pattern: '(' }, steps });
    expect(await run.fails('w')).toMatchObject({
      code: 'bad_parameters',
      message: expect.stringMatching(/^"match" of step "w" cannot be read: ./),
    });
  });
});

describe('set_variable', () => {
  const context_variables = {
    runtime: [
      { name: 'list', type: 'array' },
      { name: 'any' },
      { name: 'closed', type: 'string', writers: [] },
      { name: 'users', type: 'string', writers: ['user', 'model'] },
    ],
  };
  const setting = (values: JsonObject, more: object = {}) =>
    given({
      document: { context_variables, steps: [{ name: 's', type: 'set_variable', values }] },
      ...more,
    });

  it('sets what the workflow declares by its type, and nothing that others keep', async () => {
    expect(await (await setting({ list: [1], any: null })).do('s')).toEqual({ list: [1], any: null });
    const wrong = await (await setting({ list: null })).fails('s');
    expect(wrong.message).toBe('The variable "list" holds a value of type array, not null.');
    expect((await (await setting({ list: {} })).fails('s')).code).toBe('bad_parameters');
    expect((await (await setting({ closed: 'x' })).fails('s')).hint).toBe('Its "writers": nobody.');
    expect(await (await setting({ users: 'x' })).fails('s')).toMatchObject({
      code: 'variable_denied',
      hint: 'Its "writers": user, model.',
    });
  });

  it('writes no change where there is none, and one where there was nothing', async () => {
    const run = await setting({ any: null, list: [1] });
    await run.do('s');
    await run.do('s');
    expect(run.typed('variable.changed').map(({ name, from, to }) => [name, from, to])).toEqual([
      ['any', null, null],
      ['list', null, [1]],
    ]);
  });

  it('fails where the session that it would change has ended', async () => {
    const run = await setting({ theirs: 1 }, { session: 'ended' });
    expect((await run.fails('s')).code).toBe('session_ended');
    expect(run.typed('variable.changed')).toEqual([]);
  });

  it('takes a value as large as is allowed, and none larger', async () => {
    const most = 'x'.repeat(64 * 1024 - 2);
    expect(await (await setting({ any: most })).do('s')).toEqual({ any: most });
    const error = await (await setting({ any: `${most}x` })).fails('s');
    expect(error).toBeInstanceOf(RuntimeError);
    expect(error.message).toContain('65537 characters');
  });
});

describe('notify', () => {
  it('says as text whatever its references bring', async () => {
    const run = await given({
      input: { n: 7, who: ['a'] },
      session: true,
      steps: [{ name: 's', type: 'notify', message: '${input.n}', to: '${input.who}', data: '${input.n}' }],
    });
    expect(await run.do('s')).toEqual({ message: '7', to: '["a"]', data: 7 });
    expect(run.acts).toEqual([['s', { kind: 'notify', message: '7', to: '["a"]', data: 7 }]]);
  });
});

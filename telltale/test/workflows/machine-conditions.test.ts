import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import type { Step } from '../../src/manifest/schema/steps/step.ts';
import type { StepAttempt } from '../../src/workflows/step-executor.ts';
import { boom, createStage, parking, type Stage, step, untilAborted } from './machine-stage.ts';

const skipped = ({ journal }: Stage) =>
  journal.events.flatMap((event) =>
    event.type === 'step.skipped' ? [[event.step, event.reason, event.because]] : [],
  );
const last = (stage: Stage): RunEvent | undefined => stage.journal.events.at(-1);

describe('a step', () => {
  it('runs where its condition and its if hold, and else says which did not', async () => {
    const stage = createStage(
      [
        step('a', { condition: 'yes', if: 'yes' }),
        step('b', { condition: 'no' }),
        step('c', { if: 'no' }),
        step('d', { condition: { invoke: 'judge', method: 'may', args: [], fallback: false } }),
        step('e', { condition: 'always', if: 'no' }),
      ],
      { tests: { yes: true, no: false } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'a' });
    expect(skipped(stage)).toEqual([
      ['b', 'condition', 'no'],
      ['c', 'if', 'no'],
      ['d', 'condition', 'judge.may'],
      ['e', 'if', 'no'],
    ]);
  });

  it('whose test is plainly true or false is not asked about', async () => {
    const stage = createStage([step('a', { if: true }), step('b', { if: false })]);
    await stage.run();
    expect(stage.short()).toEqual(['started a', 'completed a', 'skipped b if']);
  });

  it('that is left out for a failure names it', async () => {
    const stage = createStage(
      [
        step('mourn', { condition: 'on_failure' }),
        step('a', { on_error: 'continue' }),
        step('b', { condition: 'previous_steps_success' }),
        step('c'),
        step('d'),
        step('e', { condition: 'yes' }),
      ],
      { steps: { a: () => boom(), c: () => boom() }, tests: { yes: true } },
    );
    await stage.run();
    expect(skipped(stage)).toEqual([
      ['mourn', 'condition', 'no step before it failed'],
      ['b', 'condition', 'a'],
      ['d', 'condition', 'c'],
      ['e', 'condition', 'c'],
    ]);
  });

  it('whose test cannot be evaluated fails, and on_error decides', async () => {
    const steps = [step('a', { if: 'bad', on_error: 'continue' }), step('b')];
    const stage = createStage(steps, { tests: { bad: () => boom('bad_expression') } });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
    const [, started, failed] = stage.journal.events;
    expect(started).toMatchObject({ type: 'step.started', step: 'a', attempt: 1, repeatable: true });
    expect(failed).toMatchObject({
      type: 'step.failed',
      step: 'a',
      attempts: 1,
      ms: 0,
      policy: 'continue',
      error: { code: 'bad_expression' },
      cause: { seq: started?.seq },
    });
  });

  it('is not begun where the run is cancelled while its test is asked', async () => {
    const cancel = new AbortController();
    const stage = createStage([step('a', { if: 'ask' })], {
      tests: {
        ask: () => {
          cancel.abort('enough');
          return true;
        },
      },
    });
    expect(await stage.run({ cancel: cancel.signal })).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.performed).toEqual([]);
  });
});

describe('the record of a step', () => {
  it('says what comes of its failure', async () => {
    const policyOf = async (more: Parameters<typeof step>[1]) => {
      const stage = createStage([step('a', more), step('b', { if: 'false' })], {
        steps: { a: () => boom() },
      });
      await stage.run();
      return stage.journal.events.flatMap((event) => (event.type === 'step.failed' ? [event.policy] : []));
    };
    expect(await policyOf({})).toEqual(['fail']);
    expect(await policyOf({ on_error: 'fail' })).toEqual(['fail']);
    expect(await policyOf({ on_error: 'continue' })).toEqual(['continue']);
    expect(await policyOf({ on_error: { goto: 'b' } })).toEqual(['goto']);
  });

  it('has the name that its output is kept under, where the step gives one', async () => {
    const stage = createStage([step('a', { output_key: 'kept' }), step('b')]);
    await stage.run();
    const [named, plain] = stage.journal.events.filter(({ type }) => type === 'step.completed');
    expect(named).toMatchObject({ step: 'a', output: 'a', output_key: 'kept' });
    expect(Object.keys(plain ?? {})).not.toContain('output_key');
    expect(Object.keys(plain ?? {})).not.toContain('notes');
  });

  it('has the notes of a task or a plan, and of nothing else', async () => {
    const output = { notes: 'What was done.' };
    const notesOf = async (type: string, given: object = output) => {
      const stage = createStage([step('a', { type })], { steps: { a: () => given as never } });
      await stage.run();
      return (last(stage) as { readonly notes?: string }).notes;
    };
    expect(await notesOf('task')).toBe('What was done.');
    expect(await notesOf('plan')).toBe('What was done.');
    expect(await notesOf('tool')).toBeUndefined();
    expect(await notesOf('task', { notes: 7 })).toBeUndefined();
  });

  it('shows no time below zero where the clock of the machine is set back', async () => {
    const time = createSimulatedClock();
    let setBackMs = 0;
    const stage = createStage([step('a')], {
      steps: {
        a: () => {
          setBackMs = 60_000;
          return 'a';
        },
      },
    });
    await stage.run({ clock: { ...time, now: () => time.now() - setBackMs } });
    expect(last(stage)).toMatchObject({ type: 'step.completed', ms: 0 });
  });
});

describe('a run', () => {
  it('that has ended listens to nobody any more', async () => {
    const [owner, cancel] = [new AbortController(), new AbortController()];
    await createStage([step('a')]).run({ signal: owner.signal, cancel: cancel.signal });
    for (const { signal } of [owner, cancel]) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('waits behind a step with steps inside as it does without', async () => {
    const side = step('p', { type: 'parallel', branches: [[step('a')], [step('b')]] });
    const stage = createStage([side, step('c')], { steps: { c: parking('a person') } });
    expect(await stage.run()).toEqual({ kind: 'parked', for: 'a person' });
  });

  it('that may begin no more steps stops what runs', async () => {
    const side = step('p', { type: 'parallel', branches: [[step('a')], [step('deep'), step('b')]] });
    const stage = createStage([side], { steps: { a: untilAborted } });
    const { steps } = stage.journal.state;
    const cause = { stream: 'run', seq: 1, depth: 1 };
    for (let i = 0; i < 99_997; i++)
      steps.set(`old${i}`, {
        step: `old${i}`,
        status: 'completed',
        attempts: 1,
        repeatable: true,
        startedAt: 0,
        cause,
      });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'step_limit' } });
    expect(stage.short()).toContain('cancelled p/a');
  });

  it('cancels what is open inside of a step, and not what only begins with its name', async () => {
    const steps = [
      step('p', { type: 'parallel', branches: [[step('a')], [step('b')]], fail_fast: true }),
      step('p2', { needs: [] }),
    ];
    const stage = createStage(steps, { steps: { p2: untilAborted } });
    for (const at of ['p', 'p2', 'p/a', 'p/b'])
      stage.journal.append({ type: 'step.started', step: at, attempt: 1, repeatable: true });
    stage.journal.append({
      type: 'step.failed',
      step: 'p/a',
      ms: 0,
      attempts: 1,
      policy: 'fail',
      error: { code: 'boom', message: 'boom!', retryable: false },
    });
    const owner = new AbortController();
    const end = stage.run({ signal: owner.signal });
    await stage.clock.advance(0);
    expect(stage.short().slice(5)).toEqual(['cancelled p/b', 'failed p boom']);
    owner.abort();
    expect(await end).toEqual({ kind: 'stopped' });
  });
});

describe('undoing', () => {
  const undoable = { compensate: { type: 'tool', target: 'undo', parameters: {} } };

  it('sees the items of every foreach around the step', async () => {
    const seen: unknown[] = [];
    const inner = step('inner', { type: 'foreach', in: ['x'], as: 'm', body: [step('a', undoable)] });
    const stage = createStage(
      [step('outer', { type: 'foreach', in: [1, 2], as: 'n', max_parallel: 1, body: [inner] }), step('end')],
      { steps: { end: () => boom() }, compensate: (address, _, locals) => void seen.push([address, locals]) },
    );
    await stage.run();
    expect(seen).toEqual([
      ['outer[1]/inner[0]/a', { n: 2, m: 'x' }],
      ['outer[0]/inner[0]/a', { n: 1, m: 'x' }],
    ]);
  });

  it('sees in a catch what was caught, also after a restart', async () => {
    const seen: unknown[] = [];
    const compensate = (address: string, _: unknown, locals: object) => void seen.push([address, locals]);
    const guarded = (body: readonly Step[]) => [
      step('each', {
        type: 'foreach',
        in: ['x'],
        as: 'n',
        body: [
          step('t', {
            type: 'try',
            body,
            finally: [step('c', undoable)],
            retry: { max: 1, backoff: { ms: 1 } },
            catch: [step('all', { type: 'parallel', branches: [[step('mend', undoable)]] }), step('once')],
          }),
        ],
      }),
      step('end'),
    ];
    const steps = guarded([
      step('a', { on_error: 'continue' }),
      step('b'),
      step('d', { condition: 'always' }),
    ]);
    const scripts = {
      steps: {
        a: () => boom('handled'),
        b: () => boom('caught'),
        d: () => boom('later'),
        end: () => boom(),
        once: ({ address }: StepAttempt) => (address.includes('!2') ? 'fine' : boom('again')),
      },
      compensate,
    };
    const stage = createStage(steps, scripts);
    const end = stage.run();
    await stage.clock.advance(1);
    await end;
    const error = expect.objectContaining({ code: 'caught' });
    const expected = ['each[0]/t!2/c', 'each[0]/t!2/all/mend', 'each[0]/t/c', 'each[0]/t/all/mend'].map(
      (address) => [address, address.endsWith('mend') ? { n: 'x', error } : { n: 'x' }],
    );
    expect(seen).toEqual(expected);
    const failed = stage.short().indexOf('failed end boom') + 2;
    seen.length = 0;
    await createStage(steps, { compensate }, { events: stage.journal.events.slice(0, failed) }).run();
    expect(seen).toEqual(expected);
  });

  it('sees in the catch of a graph the first failure in the order of the list', async () => {
    const seen: unknown[] = [];
    const body = [step('a', { needs: [] }), step('b', { needs: [] })];
    const stage = createStage(
      [step('t', { type: 'try', body, catch: [step('mend', undoable)] }), step('end')],
      {
        steps: {
          async a() {
            for (let tick = 0; tick < 20; tick++) await undefined;
            return boom('slow');
          },
          b: () => boom('quick'),
          end: () => boom(),
        },
        compensate: (_address, _output, locals) => void seen.push(locals),
      },
    );
    await stage.run();
    expect(seen).toEqual([{ error: expect.objectContaining({ code: 'slow' }) }]);
  });

  it('goes back in the order of the ends, not of the beginnings, and is on the log before it is done', async () => {
    const seen: unknown[] = [];
    const stage = createStage(
      [
        step('p', { type: 'parallel', branches: [[step('slow', undoable)], [step('quick', undoable)]] }),
        step('end'),
      ],
      {
        steps: {
          async slow() {
            for (let tick = 0; tick < 20; tick++) await undefined;
            return 'slow';
          },
          end: () => boom(),
        },
        compensate: (address) =>
          void seen.push([address, stage.journal.committed === stage.journal.events.length]),
      },
    );
    await stage.run();
    expect(seen).toEqual([
      ['p/slow', true],
      ['p/quick', true],
    ]);
  });
});

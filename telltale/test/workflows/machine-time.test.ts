import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { GRACE_MS } from '../../src/workflows/machine/failures.ts';
import type { StepExecutors } from '../../src/workflows/step-executor.ts';
import { boom, createStage, step, untilAborted } from './machine-stage.ts';

describe('a time-out', () => {
  it('of a step with steps inside is its failure, also where the clock of the machine is set back meanwhile', async () => {
    const time = createSimulatedClock();
    let setBackMs = 0;
    const clock = { ...time, now: () => time.now() - setBackMs };
    const stage = createStage(
      [
        step('all', {
          type: 'parallel',
          branches: [[step('slow')]],
          timeout: { ms: 5_000 },
          on_error: 'continue',
        }),
        step('after'),
      ],
      { steps: { slow: untilAborted } },
    );
    const end = stage.run({ clock });
    await clock.advance(1_000);
    setBackMs = 60_000;
    await clock.advance(4_000);
    expect(await end).toEqual({ kind: 'completed', output: 'after' });
    expect(stage.short()).toEqual([
      'started all',
      'started all/slow',
      'cancelled all/slow',
      'failed all timeout',
      'started after',
      'completed after',
    ]);
  });

  it('of a step with steps inside that had cancelled them when its process died is its failure still', async () => {
    const steps = [
      step('all', { type: 'parallel', branches: [[step('slow')]], timeout: { ms: 5_000 } }),
      step('after', { condition: 'always' }),
    ];
    const first = createStage(steps);
    for (const at of ['all', 'all/slow'])
      first.journal.append({ type: 'step.started', step: at, attempt: 1, repeatable: true });
    await first.clock.advance(5_000);
    const reason = 'the time of the step around it is up';
    first.journal.append({ type: 'step.cancelled', step: 'all/slow', reason });
    const before = { events: first.journal.events, clock: first.clock };
    const again = createStage(steps, {}, before);
    expect(await again.run()).toMatchObject({ kind: 'failed', error: { code: 'timeout' }, step: 'all' });
    expect(again.performed).toEqual(['after']);
  });

  it('that a step keeps itself is not kept twice', async () => {
    const stage = createStage([step('a', { timeout: { ms: 1_000 } })]);
    const executors: StepExecutors = {
      ready: async () => ({
        input: {},
        repeatable: true,
        timesItself: true,
        timeoutMs: 500,
        run: () => sleep(stage.clock, 3_000).then(() => 'done'),
      }),
      compensate: () => Promise.resolve(),
    };
    const end = stage.run({ executors });
    await stage.clock.advance(3_000);
    expect(await end).toEqual({ kind: 'completed', output: 'done' });
  });

  it('of what undoes a step counts also where its target would have less', async () => {
    const undoable = { compensate: { type: 'tool', target: 'undo', parameters: {}, timeout: { ms: 8_000 } } };
    const stage = createStage([step('a', undoable), step('b')], {
      steps: { b: () => boom() },
      undoMs: 5_000,
      compensate: () => sleep(stage.clock, 7_000),
    });
    const end = stage.run();
    await stage.clock.advance(7_000);
    await end;
    expect(stage.journal.events.at(-1)).toMatchObject({ type: 'step.compensated', step: 'a' });
    expect(stage.journal.events.at(-1)).not.toHaveProperty('error');
  });

  it('of what undoes a step is its own, else that of its target: the others are undone all the same', async () => {
    const undoable = { compensate: { type: 'tool', target: 'undo', parameters: {} } };
    const timed = { compensate: { ...undoable.compensate, timeout: { ms: 2_000 } } };
    const stage = createStage([step('a', undoable), step('b', undoable), step('c', timed), step('d')], {
      steps: { d: () => boom() },
      undoMs: 5_000,
      compensate: (address) => (address === 'a' ? undefined : new Promise(() => undefined)),
    });
    const end = stage.run();
    await stage.clock.advance(2_000 + GRACE_MS + 5_000 + GRACE_MS);
    expect(await end).toMatchObject({ kind: 'failed', step: 'd' });
    expect(stage.journal.events.filter(({ type }) => type === 'step.compensated')).toMatchObject([
      { step: 'c', error: { code: 'timeout', message: expect.stringContaining('2 s') } },
      { step: 'b', error: { code: 'timeout', message: expect.stringContaining('5 s') } },
      { step: 'a' },
    ]);
    expect(stage.clock.pending).toBe(0);
  });

  it('does not run out while a run that undoes its steps is let go of: it is undone by whoever goes on', async () => {
    const undoable = { compensate: { type: 'tool', target: 'undo', parameters: {} } };
    const steps = [step('a', undoable), step('b')];
    const scripts = { steps: { b: () => boom() }, undoMs: 5_000 };
    const owner = new AbortController();
    const first = createStage(steps, { ...scripts, compensate: () => new Promise(() => undefined) });
    const end = first.run({ signal: owner.signal });
    await first.clock.advance(1_000);
    owner.abort();
    await first.clock.advance(GRACE_MS);
    expect(await end).toEqual({ kind: 'stopped' });
    expect(first.short().at(-1)).toBe('compensating a');
    const again = createStage(steps, scripts, { events: first.journal.events });
    expect(await again.run()).toMatchObject({ kind: 'failed', step: 'b' });
    expect(again.undone).toEqual(['a']);
  });
});

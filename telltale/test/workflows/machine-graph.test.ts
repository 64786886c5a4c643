import { describe, expect, it } from 'vitest';
import { sleep } from '../../src/lib/clock.ts';
import { boom, createStage, parking, step, untilAborted } from './machine-stage.ts';

describe('in a list with needs', () => {
  it('a failure that on_error handles with continue holds up nothing', async () => {
    const stage = createStage(
      [step('a', { on_error: 'continue' }), step('b', { needs: ['a'] }), step('c', { needs: ['b'] })],
      { steps: { a: () => boom() } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'c' });
    expect(stage.performed).toEqual(['a', 'b', 'c']);
  });

  it('a step that its own test left out holds up nothing, and the output is that of the last that completed', async () => {
    const stage = createStage([
      step('a', { needs: [] }),
      step('b', { needs: ['a'] }),
      step('c', { needs: ['a'], if: 'false' }),
      step('d', { needs: ['c'], if: 'false' }),
    ]);
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
    expect(stage.short().filter((line) => line.startsWith('skipped'))).toEqual([
      'skipped c if',
      'skipped d if',
    ]);
  });

  it('what needs a step that a jump passed over is left out with it', async () => {
    const stage = createStage(
      [
        step('a', { on_error: { goto: 'c' } }),
        step('b', { needs: ['a'] }),
        step('c', { needs: ['a'] }),
        step('d', { needs: ['b'] }),
      ],
      { steps: { a: () => boom() } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'c' });
    expect(stage.performed).toEqual(['a', 'c']);
    expect(stage.short()).toContain('skipped b goto');
    expect(stage.short()).toContain('skipped d needs');
  });

  it('what is left out names the first failure that it needs, and why', async () => {
    const stage = createStage(
      [
        step('a', { needs: [] }),
        step('b', { on_error: { goto: 'x' } }),
        step('c', { needs: ['a', 'b'] }),
        step('x', { needs: ['b'] }),
      ],
      { steps: { a: () => boom('first'), b: () => boom('second') } },
    );
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'first' }, step: 'a' });
    const skipped = stage.journal.events.filter(({ type }) => type === 'step.skipped');
    expect(skipped).toMatchObject([{ step: 'c', reason: 'needs', because: 'a' }]);
  });

  it('a step for failures runs behind one that was left out for a failure', async () => {
    const stage = createStage(
      [
        step('a', { needs: [] }),
        step('b', { needs: ['a'] }),
        step('mourn', { needs: ['b'], condition: 'on_failure' }),
      ],
      { steps: { a: () => boom() } },
    );
    expect(await stage.run()).toMatchObject({ kind: 'failed', step: 'a' });
    expect(stage.performed).toEqual(['a', 'mourn']);
  });

  it('what was left out before a restart is left out after it', async () => {
    const steps = [
      step('a', { on_error: { goto: 'c' } }),
      step('b', { needs: ['a'] }),
      step('c', { needs: ['a'] }),
      step('d', { needs: ['b'] }),
    ];
    const whole = createStage(steps, { steps: { a: () => boom() } });
    await whole.run();
    const cut = whole.short().indexOf('skipped b goto') + 2;
    const again = createStage(steps, {}, { events: whole.journal.events.slice(0, cut) });
    expect(await again.run()).toEqual({ kind: 'completed', output: 'c' });
    expect(again.performed).toEqual(['c']);
    expect(again.short()).toContain('skipped d needs');
  });

  it('the run waits once all that is left of it only waits', async () => {
    const stage = createStage(
      [step('a', { needs: [] }), step('b', { needs: [] }), step('c', { needs: ['a', 'b'] })],
      {
        steps: { a: parking('a person'), b: ({ signal }, clock) => sleep(clock, 5, signal).then(() => 'b') },
      },
    );
    const end = stage.run();
    await stage.clock.advance(5);
    expect(await end).toEqual({ kind: 'parked', for: 'a person' });
  });

  it('a run that is cancelled begins nothing more, and undoes what completed', async () => {
    const cancel = new AbortController();
    const stage = createStage(
      [
        step('a', { needs: [], compensate: { type: 'tool', target: 'undo', parameters: {} } }),
        step('b', { needs: [] }),
        step('c', { needs: ['b'], condition: 'always' }),
      ],
      { steps: { b: untilAborted } },
    );
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(0);
    cancel.abort('enough');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.performed).toEqual(['a', 'b']);
    expect(stage.undone).toEqual(['a']);
  });
});

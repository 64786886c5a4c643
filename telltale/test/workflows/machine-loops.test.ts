import { describe, expect, it } from 'vitest';
import { boom, createStage, step, untilAborted } from './machine-stage.ts';

const loop = (more: object) => [step('l', { type: 'loop', max: 3, body: [step('a')], ...more })];

describe('a loop', () => {
  it('until something ends with the round behind which it holds, and gives that one’s output', async () => {
    const stage = createStage(loop({ until: 'done' }), {
      tests: { done: (at) => at === 'l:until#2' },
      steps: { a: ({ address }) => address },
    });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'l#2/a' });
    expect(stage.performed).toEqual(['l#1/a', 'l#2/a']);
  });

  it('until something may hold behind its last round', async () => {
    const stage = createStage(loop({ until: 'done' }), { tests: { done: (at) => at === 'l:until#3' } });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'a' });
  });

  it('while something does nothing where it does not hold at first', async () => {
    const stage = createStage(loop({ while: 'false' }));
    expect(await stage.run()).toEqual({ kind: 'completed', output: null });
    expect(stage.performed).toEqual([]);
  });

  it('while something fails where its rounds are used up and it would go on', async () => {
    const stage = createStage(loop({ while: 'more' }), { tests: { more: true } });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'loop_limit' }, step: 'l' });
    expect(stage.performed).toEqual(['l#1/a', 'l#2/a', 'l#3/a']);
  });

  it('ends with the round that fails', async () => {
    for (const test of [{ while: 'more' }, { until: 'false' }]) {
      const stage = createStage(loop(test), {
        tests: { more: true },
        steps: { a: ({ address }) => (address === 'l#2/a' ? boom() : 'fine') },
      });
      expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'l' });
      expect(stage.performed).toEqual(['l#1/a', 'l#2/a']);
    }
  });

  it('that is cancelled while its test is asked begins no further round', async () => {
    for (const test of [{ while: 'ask' }, { until: 'ask' }]) {
      const cancel = new AbortController();
      const stage = createStage(loop(test), {
        tests: {
          ask: (at) => {
            if (at.endsWith('#1')) cancel.abort('enough');
            return 'while' in test;
          },
        },
      });
      expect(await stage.run({ cancel: cancel.signal })).toEqual({ kind: 'cancelled', reason: 'enough' });
      expect(stage.performed).toEqual('while' in test ? [] : ['l#1/a']);
      expect(stage.short().at(-1)).toBe('cancelled l');
    }
  });

  it('asks no test again that is on the log', async () => {
    const whole = createStage(loop({ while: 'more' }), { tests: { more: (at) => at !== 'l:while#3' } });
    await whole.run();
    const again = createStage(
      loop({ while: 'more' }),
      { tests: { more: () => boom('asked again') } },
      { events: whole.journal.events.slice(0, -1) },
    );
    expect(await again.run()).toEqual({ kind: 'completed', output: 'a' });
    expect(again.performed).toEqual([]);
  });
});

describe('try', () => {
  const guarded = (more: object) => [step('t', { type: 'try', body: [step('a')], ...more })];

  it('without catch fails with its body, and fails where only finally does', async () => {
    const body = createStage(guarded({ finally: [step('c')] }), { steps: { a: () => boom() } });
    expect(await body.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' } });
    const last = createStage(guarded({ finally: [step('c')] }), { steps: { c: () => boom('late') } });
    expect(await last.run()).toMatchObject({ kind: 'failed', error: { code: 'late' } });
  });

  it('fails with its catch, behind which finally runs; catch does not run where nothing failed', async () => {
    const parts = { catch: [step('b')], finally: [step('c')] };
    const caught = createStage(guarded(parts), { steps: { a: () => boom(), b: () => boom('worse') } });
    expect(await caught.run()).toMatchObject({ kind: 'failed', error: { code: 'worse' } });
    expect(caught.performed).toEqual(['t/a', 't/b', 't/c']);
    const fine = createStage(guarded(parts));
    expect(await fine.run()).toEqual({ kind: 'completed', output: 'a' });
    expect(fine.performed).toEqual(['t/a', 't/c']);
  });

  it('that is cancelled in its catch or its finally runs nothing more of it', async () => {
    for (const [part, performed] of [
      ['b', ['t/a', 't/b']],
      ['c', ['t/a', 't/b', 't/c']],
    ] as const) {
      const cancel = new AbortController();
      const stage = createStage(guarded({ catch: [step('b')], finally: [step('c'), step('d')] }), {
        steps: { a: () => boom(), [part]: untilAborted },
      });
      const end = stage.run({ cancel: cancel.signal });
      await stage.clock.advance(0);
      cancel.abort('enough');
      expect(await end).toEqual({ kind: 'cancelled', reason: 'enough' });
      expect(stage.performed).toEqual(performed);
    }
  });

  it('gives only its catch the error, beside the items around it', async () => {
    const seen: unknown[] = [];
    const stage = createStage(
      [
        step('each', {
          type: 'foreach',
          in: [1],
          as: 'n',
          body: guarded({ catch: [step('b')], finally: [step('c')] }),
        }),
      ],
      {
        steps: {
          a: () => boom(),
          b: ({ locals }) => seen.push(locals),
          c: ({ locals }) => seen.push(locals),
        },
      },
    );
    await stage.run();
    expect(seen).toEqual([{ n: 1, error: expect.objectContaining({ code: 'boom' }) }, { n: 1 }]);
  });
});

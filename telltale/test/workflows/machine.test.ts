import { describe, expect, it } from 'vitest';
import { boom, createStage, step, untilAborted } from './machine-stage.ts';

describe('a list of steps', () => {
  it('runs in order, and its output is that of the last step that completed', async () => {
    const stage = createStage([step('a'), step('b'), step('c', { if: 'false' })]);
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
    expect(stage.short()).toEqual([
      'started a',
      'completed a',
      'started b',
      'completed b',
      'decided c:if false',
      'skipped c if',
    ]);
  });

  it('does nothing again that the log has an end for', async () => {
    const first = createStage([step('a'), step('b')]);
    await first.run();
    const again = createStage([step('a'), step('b')], {}, { events: first.journal.events });
    expect(await again.run()).toEqual({ kind: 'completed', output: 'b' });
    expect(again.performed).toEqual([]);
    expect(again.journal.events).toEqual(first.journal.events);
  });

  it('after a failure runs only what is for failures, and then fails with it', async () => {
    const stage = createStage(
      [
        step('a'),
        step('b'),
        step('c'),
        step('d', { condition: 'always' }),
        step('e', { condition: 'on_failure' }),
        step('f', { condition: 'true' }),
      ],
      { steps: { b: () => boom() } },
    );
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'b' });
    expect(stage.performed).toEqual(['a', 'b', 'd', 'e']);
    expect(stage.short()).toContain('skipped c condition');
    expect(stage.short()).toContain('skipped f condition');
  });

  it('skips what is for failures where there was none', async () => {
    const stage = createStage([step('a'), step('b', { condition: 'on_failure' })]);
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'a' });
    expect(stage.short()).toContain('skipped b condition');
  });

  it('goes on after a failure with on_error continue, which on_failure steps still see', async () => {
    const stage = createStage(
      [step('a', { on_error: 'continue' }), step('b'), step('c', { condition: 'on_failure' })],
      { steps: { a: () => boom() } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'c' });
    expect(stage.performed).toEqual(['a', 'b', 'c']);
  });

  it('goes to the step that on_error names, and skips those between', async () => {
    const stage = createStage([step('a', { on_error: { goto: 'c' } }), step('b'), step('c')], {
      steps: { a: () => boom() },
    });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'c' });
    expect(stage.short()).toEqual([
      'started a',
      'failed a boom',
      'skipped b goto',
      'started c',
      'completed c',
    ]);
  });

  it('gives a step that is reached again by a jump back an address of its own', async () => {
    let failures = 2;
    const stage = createStage([step('a'), step('b', { on_error: { goto: 'a' } }), step('c')], {
      steps: { b: () => (failures-- > 0 ? boom() : 'fine') },
    });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'c' });
    expect(stage.performed).toEqual(['a', 'b', 'a~2', 'b~2', 'a~3', 'b~3', 'c']);
  });

  it('gives up a jump back that never ends', async () => {
    const stage = createStage([step('a'), step('b', { on_error: { goto: 'a' } })], {
      steps: { b: () => boom() },
    });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'goto_limit' } });
    expect(stage.performed.length).toBe(200);
  });

  it('records a step whose input cannot be resolved as failed', async () => {
    const stage = createStage([step('unready')]);
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'no_such_path' } });
    expect(stage.short()).toEqual(['started unready', 'failed unready no_such_path']);
  });
});

describe('letting go', () => {
  it('aborts what runs and writes nothing more', async () => {
    const owner = new AbortController();
    const stage = createStage([step('a'), step('b')], { steps: { b: untilAborted } });
    const end = stage.run({ signal: owner.signal });
    await stage.clock.advance(0);
    const before = stage.journal.events.length;
    owner.abort();
    expect(await end).toEqual({ kind: 'stopped' });
    expect(stage.journal.events.length).toBe(before);
  });
});

import { describe, expect, it } from 'vitest';
import type { Slots } from '../../src/engine/slots.ts';
import { createLocalSlots } from '../../src/engine/slots.ts';
import { sleep } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json } from '../../src/lib/json.ts';
import type { WorkflowManifest } from '../../src/manifest/schema/kinds.ts';
import type { Step } from '../../src/manifest/schema/steps/step.ts';
import { boom, createStage, DEAD, parking, step, untilAborted } from './machine-stage.ts';

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

  it('previous_steps_success holds where no step before it failed, handled or not', async () => {
    const wanted = { condition: 'previous_steps_success' };
    const stage = createStage(
      [step('a', wanted), step('b', { on_error: 'continue' }), step('c', wanted), step('d')],
      { steps: { b: () => boom() } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'd' });
    expect(stage.performed).toEqual(['a', 'b', 'd']);
    expect(stage.short()).toContain('skipped c condition');
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

describe('a list with needs', () => {
  it('begins what needs nothing at once, and the rest when what it needs has ended', async () => {
    const stage = createStage(
      [step('a'), step('b'), step('c', { needs: ['a'] }), step('d', { needs: ['b', 'c'] })],
      { steps: { b: ({ signal }) => sleep(stage.clock, 10, signal).then(() => 'b') } },
    );
    const end = stage.run();
    await stage.clock.advance(0);
    expect(stage.performed).toEqual(['a', 'b', 'c']);
    await stage.clock.advance(10);
    expect(await end).toEqual({ kind: 'completed', output: 'd' });
  });

  it('skips what needs a failed step, and lets the rest go on before it fails', async () => {
    const stage = createStage(
      [
        step('a'),
        step('b', { needs: ['a'] }),
        step('c', { needs: ['b'] }),
        step('d', { needs: [] }),
        step('e', { needs: ['c'], condition: 'always' }),
        step('f', { needs: ['a'], condition: 'on_failure' }),
      ],
      { steps: { a: () => boom() } },
    );
    expect(await stage.run()).toMatchObject({ kind: 'failed', step: 'a' });
    expect(stage.performed.toSorted()).toEqual(['a', 'd', 'e', 'f']);
    expect(stage.short()).toContain('skipped b needs');
    expect(stage.short()).toContain('skipped c needs');
  });

  it('lets only the step that goto names take the failure for success', async () => {
    const stage = createStage(
      [step('a', { on_error: { goto: 'c' } }), step('b', { needs: ['a'] }), step('c', { needs: ['a'] })],
      { steps: { a: () => boom() } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'c' });
    expect(stage.short()).toContain('skipped b goto');
  });

  it('says which steps wait for each other instead of waiting for ever', async () => {
    const stage = createStage([step('a', { needs: ['b'] }), step('b', { needs: ['a'] })]);
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'needs_cycle' } });
  });
});

describe('tries', () => {
  const flaky = (failures: number) => () => (failures-- > 0 ? boom() : 'fine');

  it('pauses twice as long after each failure, and says when the next try is due', async () => {
    const stage = createStage([step('a', { retry: { max: 2, backoff: { ms: 250 } } })], {
      steps: { a: flaky(2) },
    });
    const end = stage.run();
    await stage.clock.advance(250);
    expect(stage.performed).toEqual(['a', 'a try 2']);
    await stage.clock.advance(499);
    expect(stage.performed.length).toBe(2);
    await stage.clock.advance(1);
    expect(await end).toEqual({ kind: 'completed', output: 'fine' });
    expect(stage.journal.events.at(-1)).toMatchObject({ type: 'step.completed', attempts: 3, ms: 750 });
  });

  it('waits after a restart only for what is left until the next try', async () => {
    const steps = [step('a', { retry: { max: 1, backoff: { ms: 800 } } })];
    const first = createStage(steps, { steps: { a: () => boom() } });
    const owner = new AbortController();
    const stopped = first.run({ signal: owner.signal });
    await first.clock.advance(300);
    owner.abort();
    expect(await stopped).toEqual({ kind: 'stopped' });
    const again = createStage(steps, {}, { events: first.journal.events, clock: first.clock });
    const end = again.run();
    await again.clock.advance(499);
    expect(again.performed).toEqual([]);
    await again.clock.advance(1);
    expect(await end).toEqual({ kind: 'completed', output: 'a' });
    expect(again.performed).toEqual(['a try 2']);
  });

  it('holds no process through a long pause', async () => {
    const steps = [step('a', { retry: { max: 1, backoff: { ms: 60_000 } } })];
    const stage = createStage(steps, { steps: { a: flaky(1) } });
    expect(await stage.run()).toEqual({ kind: 'parked', for: 'retry of a', due: stage.clock.now() + 60_000 });
    expect(stage.clock.pending).toBe(0);
  });

  it('aborts a try that takes too long, and tries again', async () => {
    let first = true;
    const stage = createStage([step('a', { timeout: { ms: 50 }, retry: { max: 1, backoff: { ms: 1 } } })], {
      steps: {
        a: (call) => {
          if (!first) return 'fine';
          first = false;
          return untilAborted(call);
        },
      },
    });
    const end = stage.run();
    await stage.clock.advance(51);
    expect(await end).toEqual({ kind: 'completed', output: 'fine' });
    expect(stage.journal.events.find(({ type }) => type === 'step.retrying')).toMatchObject({
      error: { code: 'timeout' },
    });
  });

  it('leaves a try that does not stop to itself after its grace', async () => {
    const stage = createStage([step('a', { timeout: { ms: 50 } })], {
      steps: { a: () => new Promise<never>(() => undefined) },
    });
    const end = stage.run();
    await stage.clock.advance(10_050);
    expect(await end).toMatchObject({ kind: 'failed', error: { code: 'timeout' } });
  });

  it('arms no timer where there is no time-out', async () => {
    const stage = createStage([step('a')], { steps: { a: untilAborted } });
    const owner = new AbortController();
    const end = stage.run({ signal: owner.signal });
    await stage.clock.advance(0);
    expect(stage.clock.pending).toBe(0);
    owner.abort();
    await end;
  });

  it('has the start of a step that is not repeatable committed before it is done', async () => {
    const seen: number[] = [];
    const stage = createStage([step('once'), step('often')], {
      repeatable: (name) => name === 'often',
      steps: {
        once: () => seen.push(stage.journal.committed, stage.journal.events.length),
        often: () => seen.push(stage.journal.committed, stage.journal.events.length),
      },
    });
    await stage.run();
    expect(seen).toEqual([2, 2, 2, 4]);
  });

  describe('of a step that a crash left in doubt', () => {
    const crashed = async (repeatable: boolean, more: Readonly<Record<string, unknown>> = {}) => {
      const steps = [step('a', { retry: { max: 3, backoff: { ms: 1 } }, ...more }), step('b')];
      const owner = new AbortController();
      const first = createStage(steps, { repeatable: () => repeatable, steps: { a: untilAborted } });
      const end = first.run({ signal: owner.signal });
      await first.clock.advance(0);
      owner.abort();
      await end;
      return createStage(steps, { repeatable: () => repeatable }, { events: first.journal.events });
    };

    it('is done again under the same key where it is repeatable', async () => {
      const stage = await crashed(true);
      expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
      expect(stage.performed).toEqual(['a', 'b']);
      expect(stage.short().filter((line) => line === 'started a').length).toBe(1);
    });

    it('is given what it was given before the crash', async () => {
      const seen: Json[] = [];
      const { journal } = await crashed(true);
      const steps = { a: ({ input }: { readonly input: Json }) => seen.push(input) };
      const again = createStage([step('a')], { input: { at: 'another' }, steps }, { events: journal.events });
      await again.run();
      expect(seen).toEqual([{ at: 'a' }]);
    });

    it('is not done again where it is not, whatever retry says', async () => {
      const stage = await crashed(false);
      expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'interrupted' }, step: 'a' });
      expect(stage.performed).toEqual([]);
      expect(stage.short().slice(1, 3)).toEqual(['interrupted a', 'failed a interrupted']);
    });

    it('lets on_error decide what comes next', async () => {
      const stage = await crashed(false, { on_error: 'continue' });
      expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
    });
  });

  it('gives every try the same key and the input that the log has', async () => {
    const keys: string[] = [];
    const stage = createStage([step('a', { retry: { max: 1, backoff: { ms: 1 } } })], {
      steps: {
        a: ({ idempotencyKey, input, attempt }) => {
          keys.push(`${idempotencyKey} ${JSON.stringify(input)}`);
          return attempt === 1 ? boom() : null;
        },
      },
    });
    const end = stage.run();
    await stage.clock.advance(1);
    await end;
    expect(keys).toEqual(['run:a {"at":"a"}', 'run:a {"at":"a"}']);
  });
});

describe('steps with steps inside', () => {
  it('parallel gives the outputs of its branches in order, so many at a time', async () => {
    const stage = createStage(
      [
        step('p', {
          type: 'parallel',
          branches: [[step('a')], [step('b'), step('c')], [step('d')]],
          max_parallel: 2,
          fail_fast: true,
        }),
      ],
      { steps: { a: ({ signal }) => sleep(stage.clock, 5, signal).then(() => 'a') } },
    );
    const end = stage.run();
    await stage.clock.advance(0);
    expect(stage.performed).toEqual(['p/a', 'p/b', 'p/c', 'p/d']);
    await stage.clock.advance(5);
    expect(await end).toEqual({ kind: 'completed', output: ['a', 'c', 'd'] });
  });

  it('a failed branch cancels the others only with fail_fast', async () => {
    for (const fail_fast of [true, false]) {
      const stage = createStage(
        [step('p', { type: 'parallel', branches: [[step('a')], [step('b'), step('c')]], fail_fast })],
        { steps: { a: () => boom(), b: ({ signal }) => sleep(stage.clock, 5, signal).then(() => 'b') } },
      );
      const end = stage.run();
      await stage.clock.advance(5);
      expect(await end).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'p' });
      expect(stage.short().includes('cancelled p/b')).toBe(fail_fast);
      expect(stage.performed.includes('p/c')).toBe(!fail_fast);
    }
  });

  it('the first branch of a race to succeed cancels the rest', async () => {
    const stage = createStage(
      [
        step('r', {
          type: 'race',
          branches: [[step('a')], [step('b')], [step('c')], [step('d')]],
          max_parallel: 3,
        }),
      ],
      { steps: { a: () => boom(), b: untilAborted, c: untilAborted } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'd' });
    expect(stage.short()).toContain('cancelled r/b');
    expect(stage.short().at(-1)).toBe('completed r');
  });

  it('of branches that have both completed the first on the log has won, whichever is walked first', async () => {
    const race = [step('r', { type: 'race', branches: [[step('a')], [step('b')]] })];
    const stage = createStage(race);
    for (const at of ['r', 'r/a', 'r/b'])
      stage.journal.append({ type: 'step.started', step: at, attempt: 1, repeatable: true });
    for (const name of ['b', 'a'])
      stage.journal.append({ type: 'step.completed', step: `r/${name}`, output: name, ms: 0, attempts: 1 });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
  });

  it('a race that is won skips the branches it has not begun', async () => {
    const branches = [[step('a')], [step('b')], [step('c')]];
    const stage = createStage([step('r', { type: 'race', branches, max_parallel: 1 })], {
      steps: { a: () => boom() },
    });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
    expect(stage.short().slice(-2)).toEqual(['skipped r/c race', 'completed r']);
  });

  it('a race that all lose fails with the last error', async () => {
    const stage = createStage([step('r', { type: 'race', branches: [[step('a')], [step('b')]] })], {
      steps: {
        a: ({ signal }) => sleep(stage.clock, 5, signal).then(() => boom('late')),
        b: () => boom('early'),
      },
    });
    const end = stage.run();
    await stage.clock.advance(5);
    expect(await end).toMatchObject({ kind: 'failed', error: { code: 'late' } });
  });

  it('foreach sees each item under its name, at most sixteen at a time', async () => {
    let running = 0;
    let most = 0;
    const stage = createStage(
      [
        step('list'),
        step('each', { type: 'foreach', in: `\${steps.list.output}`, as: 'n', body: [step('a')] }),
      ],
      {
        steps: {
          list: () => Array.from({ length: 40 }, (_, i) => i),
          a: async ({ locals }) => {
            most = Math.max(most, ++running);
            await Promise.resolve();
            running--;
            return Number(locals.n) * 2;
          },
        },
      },
    );
    expect(await stage.run()).toEqual({
      kind: 'completed',
      output: Array.from({ length: 40 }, (_, i) => i * 2),
    });
    expect(most).toBe(16);
    expect(stage.performed).toContain('each[39]/a');
  });

  it('foreach goes on with the items it began with, whatever they are by now', async () => {
    const steps = [
      step('list'),
      step('each', { type: 'foreach', in: '$list', as: 'n', max_parallel: 1, body: [step('a')] }),
    ];
    const first = createStage(steps, { steps: { list: () => ['x', 'y'] } });
    first.journal.dieAfter = 6;
    await expect(first.run()).rejects.toBe(DEAD);
    const again = createStage(
      steps,
      { steps: { a: ({ locals }) => locals.n ?? null } },
      { events: first.journal.events },
    );
    again.journal.state.outputs.set('list', ['z']);
    expect(await again.run()).toEqual({ kind: 'completed', output: ['a', 'y'] });
  });

  it('foreach fails over what is no list, and over more items than allowed', async () => {
    const over = (output: Json) =>
      createStage(
        [step('list'), step('each', { type: 'foreach', in: '$list', as: 'n', body: [step('a')] })],
        {
          steps: { list: () => output },
        },
      ).run();
    expect(await over('text')).toMatchObject({
      error: { code: 'bad_list', message: /is a string, not a list/ },
    });
    expect(await over(Array(10_001).fill(0))).toMatchObject({
      error: { code: 'bad_list', message: /10001 items/ },
    });
  });

  it('loop asks while before each round, and gives the last round', async () => {
    const stage = createStage([step('l', { type: 'loop', while: 'more', max: 5, body: [step('a')] })], {
      tests: { more: (at) => at !== 'l:while#4' },
      steps: { a: ({ address }) => address },
    });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'l#3/a' });
  });

  it('loop asks until after each round, and fails where its rounds are used up', async () => {
    const stage = createStage([step('l', { type: 'loop', until: 'false', max: 2, body: [step('a')] })]);
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'loop_limit' }, step: 'l' });
    expect(stage.performed).toEqual(['l#1/a', 'l#2/a']);
    const enough = createStage([step('l', { type: 'loop', while: 'more', max: 2, body: [step('a')] })], {
      tests: { more: (at) => at !== 'l:while#3' },
    });
    expect(await enough.run()).toMatchObject({ kind: 'completed' });
  });

  it('switch runs the first case that holds, else its default, else it is skipped', async () => {
    const cases = [
      { if: 'false', body: [step('a')] },
      { if: 'yes', body: [step('b')] },
      { if: 'true', body: [step('c')] },
    ];
    const stage = createStage([step('s', { type: 'switch', cases })], { tests: { yes: true } });
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
    const other = createStage([
      step('s', { type: 'switch', cases: cases.slice(0, 1), default: [step('d')] }),
    ]);
    expect(await other.run()).toEqual({ kind: 'completed', output: 'd' });
    const none = createStage([step('s', { type: 'switch', cases: cases.slice(0, 1) })]);
    expect(await none.run()).toEqual({ kind: 'completed', output: null });
    expect(none.short()).toEqual(['decided s:case 0 false', 'skipped s condition']);
  });

  it('try gives the error to catch, and runs finally in any case', async () => {
    const seen: Json[] = [];
    const stage = createStage(
      [step('t', { type: 'try', body: [step('a')], catch: [step('b')], finally: [step('c')] })],
      { steps: { a: () => boom(), b: ({ locals }) => seen.push(locals.error ?? null) } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 1 });
    expect(seen).toMatchObject([{ code: 'boom' }]);
    expect(stage.performed).toEqual(['t/a', 't/b', 't/c']);
    const uncaught = createStage([step('t', { type: 'try', body: [step('a')], finally: [step('c')] })], {
      steps: { a: () => boom('first'), c: () => boom('second') },
    });
    expect(await uncaught.run()).toMatchObject({ kind: 'failed', error: { code: 'first' } });
  });

  it('a step with steps inside is tried again with new addresses, and has its own time-out', async () => {
    const stage = createStage(
      [
        step('t', {
          type: 'try',
          body: [step('a'), step('b')],
          finally: [step('c')],
          timeout: { ms: 100 },
          retry: { max: 1, backoff: { ms: 10 } },
        }),
      ],
      { steps: { b: (call) => (call.address === 't/b' ? untilAborted(call) : 'fine') } },
    );
    const end = stage.run();
    await stage.clock.advance(110);
    expect(await end).toEqual({ kind: 'completed', output: 'fine' });
    expect(stage.performed).toEqual(['t/a', 't/b', 't!2/a', 't!2/b', 't!2/c']);
    expect(stage.short()).toContain('cancelled t/b');
  });

  it('the time of a step goes on while nobody works on the run', async () => {
    const steps = [
      step('t', { type: 'try', body: [step('a')], finally: [step('c')], timeout: { ms: 5_000 } }),
    ];
    const scripts = { steps: { a: parking('an event') } };
    const first = createStage(steps, scripts);
    const due = first.clock.now() + 5_000;
    expect(await first.run()).toEqual({ kind: 'parked', for: 'an event', due });
    await first.clock.advance(5_000);
    const again = createStage(steps, scripts, { events: first.journal.events, clock: first.clock });
    const end = again.run();
    await again.clock.advance(0);
    expect(await end).toMatchObject({ kind: 'failed', error: { code: 'timeout' }, step: 't' });
  });

  it('nesting beyond what any reader follows is an error', async () => {
    let inner = step('leaf');
    for (let i = 0; i < 13; i++)
      inner = step(`t${i}`, { type: 'try', body: [inner], finally: [step(`f${i}`)] });
    expect(await createStage([inner]).run()).toMatchObject({
      kind: 'failed',
      error: { code: 'depth_limit' },
    });
  });

  it('a run that begins too many steps ends with an error that no step can handle', async () => {
    const stage = createStage([
      step('each', {
        type: 'foreach',
        in: [1, 2, 3, 4, 5, 6],
        as: 'i',
        max_parallel: 1,
        on_error: 'continue',
        body: [step('a', { on_error: 'continue' })],
      }),
      step('b', { condition: 'always' }),
    ]);
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
    expect(stage.performed).toEqual(['each[0]/a', 'each[1]/a']);
    expect(stage.short().at(-1)).toBe('cancelled each');
  });
});

describe('states', () => {
  const state = (steps: readonly Step[], transitions: readonly unknown[] = [], final = false) => ({
    steps,
    transitions,
    final,
  });
  const machine = (states: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) =>
    ({ states, initial: 'one', ...more }) as unknown as Partial<WorkflowManifest>;

  it('follow the first transition that holds, own before common, until a final one', async () => {
    const stage = createStage(
      machine(
        {
          one: state([step('a')], [{ to: 'three', condition: 'false' }]),
          two: state([step('b')], [{ to: 'one', condition: 'back' }, { to: 'three' }]),
          three: state([], [], true),
        },
        {
          transitions: [
            { from: ['one'], to: 'two' },
            { from: '*', to: 'three' },
          ],
        },
      ),
      { tests: { back: (at) => at === 'two@1:transition 0' } },
    );
    expect(await stage.run()).toEqual({ kind: 'completed', output: 'b' });
    expect(stage.short().filter((line) => line.startsWith('entered'))).toEqual([
      'entered one@1 by initial',
      'entered two@1 by transition 1',
      'entered one@2 by transition 0',
      'entered two@2 by transition 1',
      'entered three@1 by transition 1',
    ]);
    expect(stage.performed).toEqual(['one@1/a', 'two@1/b', 'one@2/a', 'two@2/b']);
  });

  it('a transition step decides over the list, also when the walk begins again', async () => {
    const choose = step('t', {
      type: 'try',
      body: [step('choose', { type: 'transition' })],
      finally: [step('x')],
    });
    const workflow = machine({
      one: state([choose, step('b')], [{ to: 'three' }]),
      two: state([], [], true),
      three: state([step('c')], [], true),
    });
    const scripts = { steps: { choose: () => ({ state: 'two' }) } };
    const first = createStage(workflow, scripts);
    expect(await first.run()).toEqual({ kind: 'completed', output: 'b' });
    const cut = first.journal.events.findIndex(
      (event) => event.type === 'state.entered' && event.state === 'two',
    );
    const again = createStage(workflow, scripts, { events: first.journal.events.slice(0, cut) });
    await again.run();
    expect(again.short().at(-1)).toBe('entered two@1 by step one@1/t/choose');
  });

  it('without a way out fail, and say what was tried', async () => {
    const stage = createStage(
      machine({ one: state([], [{ to: 'two', condition: 'false' }]), two: state([], [], true) }),
    );
    expect(await stage.run()).toMatchObject({
      kind: 'failed',
      error: {
        code: 'no_transition',
        message: 'No transition of the state "one" holds. Tried: to "two" if false.',
      },
    });
  });

  it('that go round for ever end at max_transitions', async () => {
    const stage = createStage(machine({ one: state([step('a')], [{ to: 'one' }]) }, { max_transitions: 3 }));
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'transition_limit' } });
    expect(stage.performed).toEqual(['one@1/a', 'one@2/a', 'one@3/a', 'one@4/a']);
  });

  it('a transition step that names no state fails the run', async () => {
    const stage = createStage(machine({ one: state([step('t', { type: 'transition' })]) }), {
      steps: { t: () => ({ state: 'nowhere' }) },
    });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'unknown_state' } });
  });

  it('a state whose steps fail fails the run', async () => {
    const stage = createStage(machine({ one: state([step('a')], [{ to: 'one' }]) }), {
      steps: { a: () => boom() },
    });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'one@1/a' });
  });
});

describe('waiting', () => {
  it('lets go of a run once all that is in hand is parked, with the earliest time', async () => {
    const stage = createStage(
      [step('p', { type: 'parallel', branches: [[step('a'), step('b')], [step('c')]], fail_fast: true })],
      { steps: { b: parking('a person'), c: parking('a time', 60_000) } },
    );
    const due = stage.clock.now() + 60_000;
    expect(await stage.run()).toEqual({ kind: 'parked', for: 'a time, a person', due });
    expect(stage.short().at(-1)).toBe('started p/b');
  });

  it('of one branch is that of the run once the others have ended', async () => {
    const branches = [[step('a')], [step('b')], [step('c')]];
    const stage = createStage([step('p', { type: 'parallel', branches, fail_fast: true })], {
      steps: { a: parking('a person'), c: ({ signal }) => sleep(stage.clock, 5, signal).then(() => 'c') },
    });
    const end = stage.run();
    await stage.clock.advance(5);
    expect(await end).toEqual({ kind: 'parked', for: 'a person' });
  });

  it('of one step of a graph does not let go of those that begin meanwhile', async () => {
    const owner = new AbortController();
    const stage = createStage([step('a', { needs: [] }), step('b'), step('c', { needs: ['b'] })], {
      steps: { a: parking('a person'), c: untilAborted },
    });
    const end = stage.run({ signal: owner.signal });
    await stage.clock.advance(100);
    owner.abort();
    expect(await end).toEqual({ kind: 'stopped' });
  });

  it('counts towards the time-out of the step that waits, also while nobody works on the run', async () => {
    const steps = [step('a', { timeout: { ms: 5_000 } })];
    const first = createStage(steps, { steps: { a: parking('an event') } });
    const due = first.clock.now() + 5_000;
    expect(await first.run()).toEqual({ kind: 'parked', for: 'an event', due });
    await first.clock.advance(5_000);
    const before = { events: first.journal.events, clock: first.clock };
    const again = createStage(steps, { steps: { a: parking('an event') } }, before);
    const end = again.run();
    await again.clock.advance(0);
    expect(await end).toMatchObject({ kind: 'failed', error: { code: 'timeout' }, step: 'a' });
  });

  it('stays while anything else is at work', async () => {
    const owner = new AbortController();
    const stage = createStage(
      [step('p', { type: 'parallel', branches: [[step('a')], [step('b')]], fail_fast: true })],
      { steps: { a: parking('a person'), b: untilAborted } },
    );
    const end = stage.run({ signal: owner.signal });
    await stage.clock.advance(100);
    owner.abort();
    expect(await end).toEqual({ kind: 'stopped' });
  });

  it('is held where the owner says so, and goes on when the step does', async () => {
    const heard: string[] = [];
    const stage = createStage([step('a'), step('b')], { steps: { a: parking('a time', 60_000) } });
    const end = stage.run({
      onSuspended: (waits) => {
        heard.push(waits.for);
        return 'hold';
      },
    });
    await stage.clock.advance(60_000);
    expect(await end).toEqual({ kind: 'completed', output: 'b' });
    expect(heard).toEqual(['a time']);
  });

  it('is not given up for what is due in a moment', async () => {
    const stage = createStage([step('a')], { steps: { a: parking('a time', 500) } });
    const end = stage.run();
    await stage.clock.advance(500);
    expect(await end).toEqual({ kind: 'completed', output: 'a time' });
  });

  it('never lets go of a step that could not be taken up again', async () => {
    const stage = createStage([step('a')], {
      repeatable: () => false,
      steps: { a: parking('a time', 60_000) },
    });
    const end = stage.run();
    await stage.clock.advance(60_000);
    expect(await end).toEqual({ kind: 'completed', output: 'a time' });
  });
});

describe('cancelling and undoing', () => {
  const undoable = { compensate: { type: 'tool', target: 'undo', parameters: {} } };

  it('cancelling aborts what runs, records it, runs nothing more and undoes what completed', async () => {
    const cancel = new AbortController();
    const stage = createStage(
      [
        step('a', undoable),
        step('t', { type: 'try', body: [step('b')], finally: [step('c')] }),
        step('d', { condition: 'always' }),
      ],
      { steps: { b: untilAborted } },
    );
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(0);
    cancel.abort('no longer wanted');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'no longer wanted' });
    expect(stage.short().slice(-4)).toEqual([
      'cancelled t/b',
      'cancelled t',
      'compensating a',
      'compensated a',
    ]);
    expect(stage.performed).toEqual(['a', 't/b']);
  });

  it('a run that is cancelled before its walk goes on has its open steps recorded', async () => {
    const steps = [step('t', { type: 'try', body: [step('a')], finally: [step('c')] })];
    const first = createStage(steps);
    first.journal.dieAfter = 3;
    await expect(first.run()).rejects.toBe(DEAD);
    const again = createStage(steps, {}, { events: first.journal.events });
    expect(await again.run({ cancel: AbortSignal.abort('late') })).toEqual({
      kind: 'cancelled',
      reason: 'late',
    });
    expect(again.short().slice(-2)).toEqual(['cancelled t/a', 'cancelled t']);
  });

  it('a run that fails undoes what completed, the last first, each with its item, and goes on past failures', async () => {
    const items: Json[] = [];
    const steps = [
      step('a', undoable),
      step('each', {
        type: 'foreach',
        in: ['x', 'y'],
        as: 'n',
        max_parallel: 1,
        body: [step('b', undoable)],
      }),
      step('c', undoable),
    ];
    const stage = createStage(steps, {
      steps: { c: () => boom() },
      compensate: (address, output, locals) => {
        items.push([address, output, locals]);
        if (address === 'each[1]/b') boom('stuck');
      },
    });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'c' });
    expect(items).toEqual([
      ['each[1]/b', 'b', { n: 'y' }],
      ['each[0]/b', 'b', { n: 'x' }],
      ['a', 'a', {}],
    ]);
    const compensated = stage.journal.events.filter(({ type }) => type === 'step.compensated');
    expect(compensated).toMatchObject([{ error: { code: 'stuck' } }, { step: 'each[0]/b' }, { step: 'a' }]);

    const cut = stage.journal.events.indexOf(compensated[0] as never) + 1;
    const again = createStage(steps, {}, { events: stage.journal.events.slice(0, cut) });
    expect(await again.run()).toMatchObject({ kind: 'failed', step: 'c' });
    expect(again.undone).toEqual(['each[0]/b', 'a']);
    expect(again.performed).toEqual([]);

    const last = createStage(steps, {}, { events: stage.journal.events });
    expect(await last.run()).toMatchObject({ kind: 'failed', step: 'c' });
    expect([...last.undone, ...last.performed]).toEqual([]);
  });

  it('what undoes a step and may not be done twice is left in doubt by a crash, and the others are undone', async () => {
    const steps = [step('a', undoable), step('b', undoable), step('c')];
    const scripts = { repeatable: (name: string) => name !== 'undo', steps: { c: () => boom() } };
    const stage = createStage(steps, scripts);
    expect(await stage.run()).toMatchObject({ kind: 'failed', step: 'c' });
    expect(stage.undone).toEqual(['b', 'a']);
    const begun = stage.journal.events.findIndex(({ type }) => type === 'step.compensating');
    const again = createStage(steps, scripts, { events: stage.journal.events.slice(0, begun + 1) });
    expect(await again.run()).toMatchObject({ kind: 'failed', step: 'c' });
    expect(again.undone).toEqual(['a']);
    expect(again.journal.events.filter(({ type }) => type === 'step.compensated')).toMatchObject([
      { step: 'b', error: { code: 'interrupted' } },
      { step: 'a' },
    ]);
    const may = createStage(
      steps,
      { steps: scripts.steps },
      { events: stage.journal.events.slice(0, begun) },
    );
    await may.run();
    expect(may.undone).toEqual(['b', 'a']);
  });

  it('a run that completes undoes nothing, also where a failure was handled', async () => {
    const stage = createStage([step('a', undoable), step('b', { on_error: 'continue' })], {
      steps: { b: () => boom() },
    });
    expect(await stage.run()).toMatchObject({ kind: 'completed' });
    expect(stage.undone).toEqual([]);
  });
});

describe('a step whose call needs a slot', () => {
  const limited = (slots: Slots, max = 1) => ({
    enter: (name: string) =>
      name.startsWith('free')
        ? undefined
        : (signal: AbortSignal) => slots.take('t', max, { group: 'run', signal }),
  });
  const isFree = (slots: Slots, max = 1) =>
    typeof slots.take('t', max, { group: 'x', signal: new AbortController().signal }) === 'function';
  const side = (...branches: readonly Step[]) =>
    step('all', { type: 'parallel', branches: branches.map((each) => [each]) });

  it('begins once it has one: until then nothing is on the log of it, and its time has not begun', async () => {
    const slots = createLocalSlots();
    const stage = createStage([side(step('a'), step('b', { timeout: { ms: 1_000 } }), step('free'))], {
      ...limited(slots),
      steps: {
        async a(_call, clock) {
          await sleep(clock, 60_000);
          return 'a';
        },
      },
    });
    const over = stage.run();
    await stage.clock.advance(59_000);
    expect([...stage.performed].sort()).toEqual(['all/a', 'all/free']);
    expect(stage.short()).not.toContain('started all/b');
    await stage.clock.runAll();
    expect(await over).toMatchObject({ kind: 'completed' });
    const ended = stage.journal.events.find(
      (event) => event.type === 'step.completed' && event.step === 'all/b',
    );
    expect(ended).toMatchObject({ ms: 0 });
    expect(isFree(slots)).toBe(true);
  });

  it('is never one of too many, however wide a foreach is', async () => {
    const slots = createLocalSlots();
    let now = 0;
    let most = 0;
    const each = { name: 'each', type: 'foreach', in: [1, 2, 3, 4, 5, 6, 7], as: 'n', body: [step('a')] };
    const stage = createStage([each as unknown as Step], {
      ...limited(slots, 2),
      steps: {
        async a(_call, clock) {
          most = Math.max(most, ++now);
          await sleep(clock, 100);
          now--;
          return 1;
        },
      },
    });
    const over = stage.run();
    await stage.clock.runAll();
    expect(await over).toMatchObject({ kind: 'completed' });
    expect([most, stage.performed.length]).toEqual([2, 7]);
  });

  it('gives it back between its tries', async () => {
    const slots = createLocalSlots();
    const stage = createStage([step('a', { retry: { max: 1, backoff: { ms: 1_000 } } })], {
      ...limited(slots),
      steps: { a: ({ attempt }) => (attempt === 1 ? boom() : 'done') },
    });
    const over = stage.run();
    await stage.clock.advance(500);
    const other = slots.take('t', 1, { group: 'x', signal: new AbortController().signal });
    expect(typeof other).toBe('function');
    await stage.clock.advance(5_000);
    expect(stage.performed).toEqual(['a']);
    (other as () => void)();
    await stage.clock.runAll();
    expect(await over).toEqual({ kind: 'completed', output: 'done' });
    expect(stage.performed).toEqual(['a', 'a try 2']);
    expect(isFree(slots)).toBe(true);
  });

  it('that is cancelled while it waits was never begun, and takes none', async () => {
    const slots = createLocalSlots();
    const holder = slots.take('t', 1, { group: 'x', signal: new AbortController().signal }) as () => void;
    const cancel = new AbortController();
    const stage = createStage([step('a')], limited(slots));
    const over = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(10);
    cancel.abort('enough');
    expect(await over).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.short()).toEqual([]);
    holder();
    expect(isFree(slots)).toBe(true);
  });

  it('that is let go of while it waits is done after a restart, and once', async () => {
    const slots = createLocalSlots();
    const holder = slots.take('t', 1, { group: 'x', signal: new AbortController().signal }) as () => void;
    const stop = new AbortController();
    const first = createStage([step('a')], limited(slots));
    const over = first.run({ signal: stop.signal });
    await first.clock.advance(10);
    stop.abort();
    expect(await over).toEqual({ kind: 'stopped' });
    holder();
    const again = createStage([step('a')], limited(slots), { events: first.journal.events });
    expect(await again.run()).toEqual({ kind: 'completed', output: 'a' });
    expect(isFree(slots)).toBe(true);
  });

  it('that can be given none fails with the reason', async () => {
    const full = new RuntimeError('slots_full', 'Full.');
    const stage = createStage([step('a')], { enter: () => () => Promise.reject(full) });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'slots_full' }, step: 'a' });
    expect(stage.performed).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import type { RunEventBody } from '../../src/log/run-event.ts';
import { MAX_STEP_DEPTH } from '../../src/manifest/schema/checks/check-states.ts';
import type { Step } from '../../src/manifest/schema/steps/step.ts';
import type { StepExecutors } from '../../src/workflows/step-executor.ts';
import { boom, createStage, step, untilAborted } from './machine-stage.ts';

const undoable = { compensate: { type: 'tool', target: 'undo', parameters: {} } };
const side = (name: string, branches: readonly (readonly Step[])[], more: object = {}) =>
  step(name, { type: 'parallel', branches, ...more });
const begun = (at: string): RunEventBody => ({
  type: 'step.started',
  step: at,
  attempt: 1,
  repeatable: true,
});
const failedWith = (at: string, code: string): RunEventBody => ({
  type: 'step.failed',
  step: at,
  ms: 0,
  attempts: 1,
  policy: 'fail',
  error: { code, message: `${code}!`, retryable: false },
});

describe('a step with steps inside that is tried again', () => {
  const failing = (backoffMs: number, more: object = {}) => [
    side('all', [[step('a')]], { retry: { max: 1, backoff: { ms: backoffMs } }, ...more }),
  ];

  it('says when, and for which failure', async () => {
    const stage = createStage(failing(60_000), { steps: { a: () => boom() } });
    const due = stage.clock.now() + 60_000;
    expect(await stage.run()).toEqual({ kind: 'parked', for: 'retry of all', due });
    expect(stage.journal.events.at(-1)).toMatchObject({
      type: 'step.retrying',
      step: 'all',
      attempt: 2,
      due,
      error: { code: 'boom' },
    });
  });

  it('waits after a restart only for what is left until then, and is not tried more often for it', async () => {
    const first = createStage(failing(60_000), { steps: { a: () => boom() } });
    await first.run();
    await first.clock.advance(59_500);
    const before = { events: first.journal.events, clock: first.clock };
    const again = createStage(failing(60_000), { steps: { a: () => boom('anew') } }, before);
    const end = again.run();
    await again.clock.advance(499);
    expect(again.performed).toEqual([]);
    await again.clock.advance(1);
    expect(await end).toMatchObject({ kind: 'failed', error: { code: 'anew' }, step: 'all' });
    expect(again.performed).toEqual(['all!2/a']);
    expect(again.journal.events.at(-1)).toMatchObject({ type: 'step.failed', attempts: 2, ms: 60_000 });
  });

  it('is cancelled while it waits for its next try', async () => {
    const cancel = new AbortController();
    const stage = createStage(failing(900), { steps: { a: () => boom() } });
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(100);
    cancel.abort('enough');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.journal.events.at(-1)).toMatchObject({
      type: 'step.cancelled',
      step: 'all',
      reason: 'enough',
      cause: { seq: stage.short().indexOf('started all') + 2 },
    });
    expect(stage.clock.pending).toBe(0);
  });

  it('has its whole time in each try, and says how long that was', async () => {
    const stage = createStage(failing(10, { timeout: { ms: 1_000 } }), { steps: { a: untilAborted } });
    const end = stage.run();
    await stage.clock.advance(2_009);
    expect(stage.short().filter((line) => line.startsWith('cancelled'))).toEqual(['cancelled all/a']);
    await stage.clock.advance(1);
    expect(await end).toMatchObject({
      kind: 'failed',
      step: 'all',
      error: { code: 'timeout', message: 'The step "all" took longer than 1 s.' },
    });
    expect(stage.clock.pending).toBe(0);
  });
});

describe('a step with steps inside', () => {
  it('is the cause of what stands inside of it', async () => {
    const stage = createStage([side('all', [[step('a')]])]);
    await stage.run();
    const [, all, inner] = stage.journal.events;
    expect(inner).toMatchObject({ type: 'step.started', step: 'all/a', cause: { seq: all?.seq } });
  });

  it('that ends in time executors no timer behind', async () => {
    const stage = createStage([side('all', [[step('a')]], { timeout: { ms: 60_000 } })]);
    await stage.run();
    expect(stage.clock.pending).toBe(0);
  });

  it('may be nested as deep as validation allows, and no deeper', async () => {
    const nested = (levels: number): Step =>
      levels === 0 ? step('leaf') : side(`l${levels}`, [[nested(levels - 1)]]);
    expect(await createStage([nested(MAX_STEP_DEPTH)]).run()).toMatchObject({ kind: 'completed' });
    const deeper = createStage([nested(MAX_STEP_DEPTH + 1)]);
    expect(await deeper.run()).toMatchObject({ kind: 'failed', error: { code: 'depth_limit' } });
    expect(deeper.performed).toEqual([]);
  });

  it('records what the log has as begun when it stops without having come to it', async () => {
    const stage = createStage([side('all', [[step('a')], [step('b')]], { fail_fast: true })]);
    for (const at of ['all', 'all/a', 'all/b']) stage.journal.append(begun(at));
    stage.journal.append(failedWith('all/a', 'boom'));
    const repeated = createStage(
      [side('all', [[step('a')], [step('b')]], { fail_fast: true, max_parallel: 1 })],
      {},
      { events: stage.journal.events },
    );
    expect(await repeated.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'all' });
    expect(repeated.short().slice(-2)).toEqual(['cancelled all/b', 'failed all boom']);
    expect(repeated.journal.events.at(-2)).toMatchObject({ reason: 'another branch failed' });
  });

  it('that was cancelled before a crash is cancelled after it, and not out of time', async () => {
    const steps = [
      side('out', [[side('in', [[step('a')]], { timeout: { ms: 60_000 } })], [step('b')]], {
        fail_fast: true,
      }),
    ];
    const stage = createStage(steps);
    for (const at of ['out', 'out/in', 'out/b', 'out/in/a']) stage.journal.append(begun(at));
    stage.journal.append(failedWith('out/b', 'boom'));
    stage.journal.append({ type: 'step.cancelled', step: 'out/in/a', reason: 'another branch failed' });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'out' });
    expect(stage.short().slice(-2)).toEqual(['cancelled out/in', 'failed out boom']);
  });

  it('is undone in all its parts, whichever of them have run', async () => {
    const undo = (name: string) => step(name, undoable);
    const steps = [
      side('p', [[undo('p1')], [undo('p2')]]),
      step('r', { type: 'race', branches: [[undo('r1')]] }),
      step('f', { type: 'foreach', in: [1], as: 'n', body: [undo('f1')] }),
      step('l', { type: 'loop', while: 'more', max: 3, body: [undo('l1')] }),
      step('s', { type: 'switch', cases: [{ if: 'true', body: [undo('s1')] }] }),
      step('d', { type: 'switch', cases: [{ if: 'false', body: [] }], default: [undo('d1')] }),
      step('t', { type: 'try', body: [undo('t1'), step('no')], catch: [undo('t2')], finally: [undo('t3')] }),
      step('end'),
    ];
    const stage = createStage(steps, {
      steps: { no: () => boom(), end: () => boom('over') },
      tests: { more: (at) => at !== 'l:while#3', true: true },
    });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'over' } });
    expect(stage.undone).toEqual([
      't/t3',
      't/t2',
      't/t1',
      'd/d1',
      's/s1',
      'l#2/l1',
      'l#1/l1',
      'f[0]/f1',
      'r/r1',
      'p/p2',
      'p/p1',
    ]);
  });
});

describe('foreach', () => {
  const each = (items: readonly Json[], body: readonly Step[], more: object = {}) =>
    step('each', { type: 'foreach', in: items, as: 'n', body, ...more });

  it('ends with the first item that fails: what runs is cancelled, and no other is begun', async () => {
    const stage = createStage([each([0, 1, 2], [step('a')], { max_parallel: 2 })], {
      steps: { a: (call) => (call.locals.n === 1 ? boom() : untilAborted(call)) },
    });
    expect(await stage.run()).toMatchObject({ kind: 'failed', error: { code: 'boom' }, step: 'each' });
    expect(stage.performed).toEqual(['each[0]/a', 'each[1]/a']);
    const cancelled = stage.journal.events.filter(({ type }) => type === 'step.cancelled');
    expect(cancelled).toMatchObject([{ step: 'each[0]/a', reason: 'another item failed' }]);
  });

  it('inside of another sees the items of both, null among them', async () => {
    const seen: Json[] = [];
    const inner = step('inner', { type: 'foreach', in: [null, 2], as: 'm', body: [step('a')] });
    const stage = createStage([each(['x'], [inner])], {
      steps: { a: ({ locals }) => seen.push({ ...locals }) },
    });
    await stage.run();
    expect(seen).toEqual([
      { n: 'x', m: null },
      { n: 'x', m: 2 },
    ]);
  });

  it('has its steps made ready with their items', async () => {
    const seen: Json[] = [];
    const executors: StepExecutors = {
      async ready({ locals }) {
        seen.push({ ...locals });
        return { input: {}, repeatable: true, run: () => Promise.resolve(null) };
      },
      compensate: () => Promise.resolve(),
    };
    await createStage([each(['x', 'y'], [step('a')])]).run({ executors });
    expect(seen).toEqual([{ n: 'x' }, { n: 'y' }]);
  });

  it('over a list that is written down puts no items on the log', async () => {
    const stage = createStage([each([1], [step('a')])]);
    await stage.run();
    expect(stage.journal.events[1]).toMatchObject({ type: 'step.started', step: 'each' });
    expect(stage.journal.events[1]).not.toHaveProperty('input');
  });

  it('over nothing gives an empty list', async () => {
    expect(await createStage([each([], [step('a')])]).run()).toEqual({ kind: 'completed', output: [] });
  });
});

describe('parallel', () => {
  const failing = (fail_fast: boolean) => {
    const stage = createStage([side('all', [[step('a')], [step('b')]], { fail_fast })]);
    for (const at of ['all', 'all/a', 'all/b']) stage.journal.append(begun(at));
    for (const name of ['b', 'a']) stage.journal.append(failedWith(`all/${name}`, name));
    return stage.run();
  };

  it('fails with the failure that cancelled the others, or with that of its first branch', async () => {
    expect(await failing(true)).toMatchObject({ kind: 'failed', error: { code: 'b' } });
    expect(await failing(false)).toMatchObject({ kind: 'failed', error: { code: 'a' } });
  });
});

describe('switch', () => {
  it('gives the steps of its case addresses inside of it, and says why it was left out', async () => {
    const cases = [{ if: 'yes', body: [step('a')] }];
    const stage = createStage([step('s', { type: 'switch', cases })], { tests: { yes: true } });
    await stage.run();
    expect(stage.performed).toEqual(['s/a']);
    const none = createStage([step('s', { type: 'switch', cases })], { tests: { yes: false } });
    await none.run();
    expect(none.journal.events.at(-1)).toMatchObject({ type: 'step.skipped', because: 'no case holds' });
  });
});

describe('race', () => {
  it('that is cancelled has neither won nor lost', async () => {
    const cancel = new AbortController();
    const stage = createStage(
      [step('r', { type: 'race', branches: [[step('a')], [step('b')], [step('c')]], max_parallel: 2 })],
      { steps: { a: () => boom(), b: untilAborted, c: untilAborted } },
    );
    const end = stage.run({ cancel: cancel.signal });
    await stage.clock.advance(0);
    cancel.abort('enough');
    expect(await end).toEqual({ kind: 'cancelled', reason: 'enough' });
    expect(stage.short().at(-1)).toBe('cancelled r');
  });
});

import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json } from '../../src/lib/json.ts';
import * as failures from '../../src/workflows/machine/failures.ts';
import { MAX_FOREACH_ITEMS } from '../../src/workflows/machine/failures.ts';
import { pauseAfter } from '../../src/workflows/machine/run-leaf.ts';
import type { Walk } from '../../src/workflows/machine/walk.ts';
import {
  createActivityCounter,
  createBranch,
  itemsOf,
  type Waits,
} from '../../src/workflows/machine/walk.ts';
import { step } from './machine-stage.ts';

describe('a branch', () => {
  it('is stopped once, with what is inside of it, and keeps the first reason', () => {
    const outer = createBranch();
    const inner = createBranch(outer);
    const heard: string[] = [];
    inner.onStop((reason) => heard.push(reason));
    outer.stop('first');
    outer.stop('second');
    inner.stop('third');
    expect([outer.stopped, inner.stopped, ...heard]).toEqual(['first', 'first', 'first']);
  });

  it('tells who asks after it was stopped at once, and who has left no more', () => {
    const branch = createBranch();
    const heard: string[] = [];
    const leave = branch.onStop(() => heard.push('left'));
    branch.onStop(() => heard.push('stayed'));
    leave();
    leave();
    branch.stop('over');
    branch.onStop((reason) => heard.push(`late: ${reason}`));
    expect(heard).toEqual(['stayed', 'late: over']);
  });

  it('that has let go of the one around it is not stopped with it, and one begun in a stopped one is', () => {
    const outer = createBranch();
    const inner = createBranch(outer);
    inner.close();
    outer.stop('over');
    expect([inner.stopped, createBranch(outer).stopped]).toEqual([undefined, 'over']);
  });

  it('has the earlier deadline of its own and of the one around it', () => {
    const outer = createBranch(undefined, 50);
    const of = (around: typeof outer | undefined, own?: number) => createBranch(around, own).deadline;
    expect([of(outer, 40), of(outer, 60), of(outer), of(undefined, 60), of(undefined)]).toEqual([
      40,
      50,
      50,
      60,
      undefined,
    ]);
  });
});

describe('the pause before a try', () => {
  it('doubles from failure to failure, up to an hour, or to the first one where that is longer', () => {
    const pauses = [1, 2, 3, 30].map((failed) => pauseAfter(failed, 1_000, 0));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 3_600_000]);
    expect(pauseAfter(2, 7_200_000, 0)).toBe(7_200_000);
  });

  it('is shortened by up to a half, so that tries spread', () => {
    expect(pauseAfter(2, 1_000, 0.5)).toBe(1_500);
    expect(pauseAfter(1, 1_000, 0.98)).toBe(510);
  });
});

describe('what ends a run or a step', () => {
  const makers = Object.fromEntries(
    Object.entries(failures).filter(([, exported]) => typeof exported === 'function'),
  ) as Readonly<Record<string, (...given: never[]) => unknown>>;

  it.each(Object.keys(makers).filter((name) => name !== 'cancelledBecause'))('%s says what to do', (name) => {
    const args = { noTransition: ['a', []], stateUnknown: ['a', 'x', ['b']], needsCycle: [['a', 'b']] };
    const given = name in args ? args[name as keyof typeof args] : ['a', 5_000, 'what', 'Do it.'];
    const error = makers[name]?.(...(given as never[]));
    expect(error).toBeInstanceOf(RuntimeError);
    expect((error as RuntimeError).hint).toMatch(/^[A-Z].*\.$/);
  });

  it('a time-out may be over at the next try, and says how long it was', () => {
    expect(failures.timedOut('a', 2_500)).toMatchObject({
      retryable: true,
      message: 'The step "a" took longer than 2.5 s.',
    });
  });

  it('a state without any transition is told from one of which none holds', () => {
    expect(failures.noTransition('a', []).message).toBe(
      'The state "a" is not final, and has no transitions.',
    );
  });
});

describe('what waits', () => {
  const quiet = () => {
    const heard: Waits[] = [];
    return { heard, activity: createActivityCounter((waits) => heard.push(waits)) };
  };
  const settled = async () => {
    for (let tick = 0; tick < 5; tick++) await undefined;
  };

  it('is named by three, and the rest counted', async () => {
    const { heard, activity } = quiet();
    activity.add(4);
    for (const name of ['a', 'b', 'b', 'c', 'd']) activity.suspend({ for: name });
    await settled();
    const few = quiet();
    few.activity.add(2);
    for (const name of ['a', 'b', 'c']) few.activity.suspend({ for: name });
    await settled();
    expect([...heard, ...few.heard]).toEqual([{ for: 'a, b, c and 1 more' }, { for: 'a, b, c' }]);
  });

  it('and has its answer already is not quiet', async () => {
    const { heard, activity } = quiet();
    let goOn: () => void = () => undefined;
    queueMicrotask(() => goOn());
    goOn = activity.suspend({ for: 'an answer' });
    await settled();
    expect(heard).toEqual([]);
    goOn(); // once more is nothing
    activity.suspend({ for: 'another' });
    await settled();
    expect(heard).toEqual([{ for: 'another' }]);
  });

  it('is not quiet where nothing waits', async () => {
    const { heard, activity } = quiet();
    activity.add(-1);
    await settled();
    expect(heard).toEqual([]);
  });
});

describe('the items of a foreach', () => {
  const scope = { vars: { a: 'A', list: [1] }, steps: {}, item: { sub: [7] } };
  const walk = {
    state: { outputs: new Map<string, Json>([['made', { list: [1, 2] }]]), variables: new Map([['v', [3]]]) },
    scope: { forTemplate: (_: Json, locals: object) => Promise.resolve({ ...scope, ...locals }) },
  } as unknown as Walk;
  const of = (source: Json, locals: Readonly<Record<string, Json>> = {}) =>
    itemsOf(walk, step('each', { type: 'foreach', in: source }) as never, 'each', locals);

  it('are those of an item around it, of a step, or of a variable, in this order', async () => {
    expect(await of('$made.list')).toEqual([1, 2]);
    expect(await of('$v')).toEqual([3]);
    expect(await of('$made', { made: ['own'] })).toEqual(['own']);
  });

  it('may refer to something themselves, however deep, beside what does not', async () => {
    const list = [1, null, 'plain $', '${vars.a}', { k: ['${item.sub}', true] }];
    expect(await of(list, { item: { sub: [7] } })).toEqual([1, null, 'plain $', 'A', { k: [[7], true] }]);
  });

  it('are refused where a reference leads nowhere or cannot be read, with what was written and what to do', async () => {
    const wrong = async (source: Json) => {
      const error = await of(source).catch((thrown: RuntimeError) => thrown.toJSON());
      expect(error).toMatchObject({ code: 'bad_list', hint: expect.stringMatching(/./) });
      return (error as { readonly message: string }).message;
    };
    expect(await wrong('$nothing')).toBe('"in: $nothing" of the step "each": it names nothing.');
    expect(await wrong('$made.gone')).toContain('it names nothing.');
    expect(await wrong('${vars.gone}')).toMatch(/^"in: \$\{vars\.gone\}" of the step "each": .*gone/);
    expect(await wrong(['${vars.a'])).toMatch(/^"in: \[…\]" of the step "each": ./);
    expect(await wrong('${vars.a}')).toContain('is a string, not a list');
    expect(await wrong('$v[5]')).toContain('names nothing');
  });

  it('are no null and no object', async () => {
    await expect(of('$n', { n: { a: 1 } })).rejects.toThrow('is an object, not a list');
    await expect(of('${vars.gone ?? null}')).rejects.toThrow('is null, not a list');
  });

  it('are as many as are allowed, and not one more', async () => {
    const most = new Array<Json>(MAX_FOREACH_ITEMS).fill(0);
    expect(await of(most)).toBe(most);
    await expect(of([...most, 0])).rejects.toThrow(`${MAX_FOREACH_ITEMS + 1} items`);
  });
});

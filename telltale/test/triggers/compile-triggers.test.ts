import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { workflow } from '../../src/manifest/schema/workflow.ts';
import { compileTest, compileTriggers, readTest } from '../../src/triggers/compile-triggers.ts';
import { hearsUpdate } from '../../src/triggers/hears-update.ts';
import { createTriggerStand, lookAgain, matchTriggers } from '../../src/triggers/match-triggers.ts';
import { outsideTriggers } from '../../src/triggers/outside-triggers.ts';
import type { Firing } from '../../src/triggers/state-trigger.ts';

const flow = (...triggers: readonly object[]) =>
  workflow().parse({
    kind: 'Workflow',
    name: 'w',
    triggers,
    steps: [{ name: 'tell', type: 'notify', message: 'hi' }],
  });
const metadata = (more: object) => ({ type: 'metadata_match', ...more });
const variables = (more: object) => ({ type: 'variable_match', ...more });
const invoked = { test: { invoke: 'judge', method: 'may', fallback: false } };

/** What each update of these triggers sets off, as `PLACE AS`. */
function fired(side: 'metadata' | 'vars', triggers: readonly object[], updates: readonly JsonObject[]) {
  const stand = createTriggerStand(compileTriggers([flow(...triggers)])[side].index);
  let previous: JsonObject = {};
  return updates.map((current) => {
    const names = Object.keys({ ...previous, ...current });
    const changed = names.filter((name) => current[name] !== previous[name]);
    const firings = matchTriggers(stand, { current, previous, changed });
    previous = current;
    return firings.map(({ trigger, as }: Firing) => `${trigger} ${as}`);
  });
}

describe('a trigger of a manifest', () => {
  it('with match_all: false needs one of its fields', () => {
    const conditions = { a: 1, b: 2 };
    const triggers = [metadata({ conditions }), metadata({ conditions, match_all: false })];
    expect(fired('metadata', triggers, [{ a: 1 }, { a: 1, b: 2 }])).toEqual([['1 enter'], ['0 enter']]);
  });

  it('with a test fires as it says: on exit, on each update', () => {
    const test = 'metadata.a == 1';
    const triggers = ['on_enter', 'on_exit', 'on_update', 'on_change'].map((fire) =>
      metadata({ test, fire }),
    );
    expect(fired('metadata', triggers, [{ a: 1 }, { a: 1, b: 1 }, { a: 2 }])).toEqual([
      ['0 enter', '2 enter', '3 enter'],
      ['2 stay'],
      ['1 exit'],
    ]);
  });

  it('tells of its exit where that cancels its runs, unless the exit is what it fires for', () => {
    const test = 'metadata.a == 1';
    const triggers = [
      metadata({ test, cancel_on_exit: true }),
      metadata({ conditions: { a: 1 }, cancel_on_exit: true }),
      metadata({ conditions: { a: 1 }, fire: 'on_exit', cancel_on_exit: true }),
    ];
    expect(fired('metadata', triggers, [{ a: 1 }, { a: 2 }])[1]).toEqual(['0 exit', '1 exit', '2 exit']);
    const { all } = compileTriggers([flow(...triggers)]);
    expect(all.map(({ cancelsOnExit }) => cancelsOnExit)).toEqual([true, true, false]);
    expect(all.map(({ pacing }) => pacing.dropsOnExit)).toEqual([true, true, true]);
  });

  it('on variables is told from one on metadata, also where an artifact decides', () => {
    const compiled = compileTriggers([
      flow(metadata(invoked), variables(invoked), variables({ conditions: { a: 1 } })),
    ]);
    expect(compiled.metadata.asked.map(({ id }) => id)).toEqual(['w#0']);
    expect(compiled.vars.asked.map(({ id }) => id)).toEqual(['w#1']);
    expect(compiled.vars.indexed.map(({ id }) => id)).toEqual(['w#2']);
  });

  it('on an event is never spent, and goes by no condition that could be over', () => {
    const { all } = compileTriggers([flow({ type: 'event', event: 'custom', match: { name: 'x' } })]);
    expect(all).toMatchObject([
      {
        type: 'event',
        fire: undefined,
        cancelsOnExit: false,
        names: [],
        pacing: { isOnce: false, dropsOnExit: false, debounceMs: 0, cooldownMs: 0, delayMs: 0 },
      },
    ]);
  });

  it('is asked again after a wait only for what a change led to', () => {
    const { all } = compileTriggers([
      flow(metadata({ conditions: { a: { from: 1, to: 2 } } }), metadata({ conditions: { a: 2 } })),
    ]);
    expect(all.map(({ afterwards }) => afterwards !== undefined)).toEqual([true, false]);
  });

  it('comes by its priority, then by its place in the file', () => {
    const { all } = compileTriggers([
      flow(
        metadata({ conditions: { a: 1 } }),
        metadata({ conditions: { a: 1 }, priority: 5 }),
        { type: 'event', event: 'custom', priority: 5 },
        variables({ conditions: { a: 1 }, priority: 9 }),
      ),
    ]);
    expect(all.map(({ id }) => id)).toEqual(['w#3', 'w#1', 'w#2', 'w#0']);
  });

  it('that nobody checked is refused, with its name', () => {
    const odd = { ...flow(metadata({ conditions: { a: 1 } })) };
    const triggers = [{ ...odd.triggers?.[0], conditions: { a: { matches: '(' } } }] as never;
    expect(() => compileTriggers([{ ...odd, triggers }])).toThrow('The conditions of the trigger "w#0"');
    expect(() => readTest('a +')).toThrow('The test "a +" of a trigger cannot be read');
  });
});

describe('hundreds of triggers that one update sets off', () => {
  it('come in their order, whichever field each of them asks for', () => {
    const names = Array.from({ length: 100 }, (_, n) => `f${n}`);
    const triggers = names.map((name) => metadata({ conditions: { [name]: 1 } }));
    const before = Object.fromEntries(names.map((name) => [name, 0]));
    const after = Object.fromEntries(names.toReversed().map((name) => [name, 1]));
    const [, second] = fired('metadata', triggers, [{ ...before }, { ...after }]);
    expect(second).toEqual(names.map((_, n) => `${n} enter`));
  });

  it('are told apart by the bound that they compare with', () => {
    const triggers = [1, 3, 5].flatMap((n) => [
      metadata({ conditions: { a: { gt: n } } }),
      metadata({ conditions: { a: { lte: n } } }),
    ]);
    expect(fired('metadata', triggers, [{ a: 0 }, { a: 3 }, { a: 4 }, { a: 1 }])).toEqual([
      ['1 enter', '3 enter', '5 enter'],
      ['0 enter'],
      ['2 enter'],
      ['1 enter', '3 enter'],
    ]);
  });
});

describe('a test on variables', () => {
  const on = (source: string) => compileTest(source, 'vars', 'w#0');
  const holds = (source: string, current: JsonObject, beyond: JsonObject = {}) =>
    on(source).holds({ current, beyond, previous: {}, changed: [] });

  it('reads them by their names and below vars, and the metadata beside them', () => {
    expect(holds('tries > 1', { tries: 2 })).toBe(true);
    expect(holds('vars.tries > 1', { tries: 2 })).toBe(true);
    expect(holds('vars.tries > 1 && metadata.a == 1', { tries: 2 }, { a: 1 })).toBe(true);
    expect(holds('metadata.a == 1', { a: 1 }, { a: 2 })).toBe(false);
  });

  it('is looked at when one that it names changes, or the metadata where it names that', () => {
    expect(on('tries > 1 && vars.done')).toMatchObject({ fields: ['tries', 'done'], readsBeyond: false });
    expect(on('vars.size() > 1')).toMatchObject({ fields: 'all' });
    expect(on('tries > metadata.a')).toMatchObject({ fields: ['tries'], readsBeyond: true });
    expect(compileTest('metadata.a > tries', 'metadata', 'w#0')).toMatchObject({
      fields: ['a'],
      readsBeyond: true,
    });
    expect(compileTest('metadata.a > vars.tries', 'metadata', 'w#0')).toMatchObject({ readsBeyond: true });
    expect(compileTest('metadata.a > 1', 'metadata', 'w#0')).toMatchObject({ readsBeyond: false });
  });

  it('fires when the metadata makes it true, without an update of a variable', () => {
    const { vars } = compileTriggers([flow(variables({ test: 'tries > 1 && metadata.a == 1' }))]);
    const stand = createTriggerStand(vars.index);
    const values = (a: number) => ({ current: { tries: 2 }, beyond: { a } });
    expect(matchTriggers(stand, { ...values(0), previous: {}, changed: ['tries'] })).toEqual([]);
    expect(lookAgain(stand, values(1))).toEqual([{ trigger: 0, as: 'enter' }]);
  });

  it('that cannot be evaluated is false, and says why', () => {
    const said: unknown[] = [];
    const onProblem = (trigger: string, message: string | undefined) => said.push([trigger, message]);
    expect(on('gone > 1').holds({ current: {}, previous: {}, changed: [], onProblem })).toBe(false);
    expect(on('a == 1').holds({ current: { a: 1 }, previous: {}, changed: [], onProblem })).toBe(true);
    expect(said).toEqual([
      ['w#0', expect.stringContaining('gone')],
      ['w#0', undefined],
    ]);
  });
});

describe('an update that changes nothing', () => {
  const sides = (...triggers: readonly object[]) => compileTriggers([flow(...triggers)]);
  const heard = (...triggers: readonly object[]) => {
    const { metadata: side } = sides(...triggers);
    return [hearsUpdate(side, 0), hearsUpdate(side, 1)];
  };

  it('is heard if it is the first, later by what fires with each or asks with each', () => {
    expect(heard(metadata({ conditions: { a: 1 } }))).toEqual([true, false]);
    expect(heard(metadata({ conditions: { a: 1 }, fire: 'on_update' }))).toEqual([true, true]);
    expect(heard(metadata(invoked))).toEqual([true, true]);
    expect(heard(variables({ conditions: { a: 1 }, fire: 'on_update' }))).toEqual([false, false]);
    expect(hearsUpdate(undefined, 0)).toBe(false);
  });
});

describe('triggers from outside', () => {
  it('have the pace and the room that they ask for', () => {
    const concurrency = { max: 2, when_busy: 'queue' };
    const paced = { debounce: '1s', cooldown: '2s', delay: '3s', concurrency };
    const ms = { debounceMs: 1_000, cooldownMs: 2_000, delayMs: 3_000 };
    const all = outsideTriggers([
      flow(
        { type: 'webhook', secret: 'x', ...paced },
        { type: 'schedule', every: '1h', ...paced },
        { type: 'manual', concurrency },
        metadata({ conditions: { a: 1 } }),
        variables({ conditions: { a: 1 } }),
      ),
    ]);
    expect(all.map(({ type, workflow: name, pacing }) => [type, name, pacing])).toEqual([
      ['webhook', 'w', { ...ms, concurrency }],
      ['schedule', 'w', { ...ms, concurrency }],
      ['manual', 'w', { concurrency }],
    ]);
  });
});

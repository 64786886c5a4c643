import { describe, expect, it } from 'vitest';
import type { InvokeRecord } from '../../src/lib/calls.ts';
import type { Invoke } from '../../src/tools/artifacts/create-invoke.ts';
import { openStage, workflowOf } from './reaction-stage.ts';

const TEST = { invoke: 'decider', method: 'go', fallback: false };

/** A trigger whose test an artifact decides, which gives these answers one after the other. */
async function decided(trigger: object, answers: readonly unknown[], cost = 0, balance?: number) {
  let nth = 0;
  const invoke: Invoke = async (question) => {
    const { invoke: artifact, method, args } = question.invocation;
    const result = answers[nth++] ?? false;
    return {
      where: question.where,
      artifact,
      method,
      args,
      result,
      cached: false,
      ms: 1,
      cost,
    } as InvokeRecord;
  };
  const stage = await openStage([workflowOf('flow', { test: TEST, ...trigger })], {
    invoke,
    ...(balance === undefined ? {} : { balance }),
  });
  const answered = (count: number) => expect.poll(async () => (await stage.all('invoke')).length).toBe(count);
  return { ...stage, answered };
}

/** Updates one by one, each once the answer to the one before is there; how often it fired behind each, and as what. */
async function firedBy(fire: string | undefined, answers: readonly boolean[], by = 'model') {
  const stage = await decided({ type: 'metadata_match', ...(fire === undefined ? {} : { fire }) }, answers);
  const fired: string[][] = [];
  for (const [index] of answers.entries()) {
    stage.set({ progress: index + 1 }, index === 0 ? 'model' : by);
    await stage.answered(index + 1);
    const known = fired.flat().length;
    const now = (await stage.all('trigger.fired')).slice(known);
    fired.push(now.map(({ seen }) => String(seen.as)));
    for (const { run } of now) stage.endRun(run);
  }
  return fired;
}

describe('a trigger whose test an artifact decides', () => {
  const ANSWERS = [false, true, true, false, true];

  it.each([
    [undefined, [[], ['enter'], [], [], ['enter']]],
    ['once', [[], ['enter'], [], [], []]],
    ['on_change', [[], ['enter'], ['stay'], [], ['enter']]],
    ['on_update', [[], ['enter'], ['stay'], [], ['enter']]],
    ['on_exit', [[], [], [], ['exit'], []]],
  ])('fires as any other does, by the answers: %s', async (fire, fired) => {
    expect(await firedBy(fire, ANSWERS)).toEqual(fired);
  });

  it('is not fired by what another session has set, though that is known of it then', async () => {
    expect(await firedBy(undefined, [false, true, true], 'seed')).toEqual([[], [], []]);
  });

  it('on an event fires with each that it says yes to, and what is not true is no', async () => {
    const stage = await decided({ type: 'event', event: 'custom' }, [true, false, 'yes', true]);
    for (const count of [1, 2, 3, 4]) {
      stage.emit('x');
      await stage.answered(count);
      stage.endRun();
    }
    expect(await stage.fired()).toHaveLength(2);
    for (const { seen } of await stage.all('trigger.fired')) expect(seen.as).toBeUndefined();
  });

  it('cancels its run when it no longer holds, whoever brought that about', async () => {
    for (const by of ['model', 'seed']) {
      const trigger = { type: 'metadata_match', cancel_on_exit: true };
      const stage = await decided(trigger, [true, false]);
      stage.set({ progress: 1 });
      await stage.answered(1);
      expect(stage.cancelled).toEqual([]);
      stage.set({ progress: 2 }, by);
      await stage.answered(2);
      expect(stage.cancelled).toEqual([(await stage.all('trigger.fired'))[0]?.run]);
      expect(await stage.fired()).toHaveLength(1);
    }
  });

  it('is paid for from the balance, where there is one and it costs something', async () => {
    const charged = async (cost: number, balance?: number) => {
      const stage = await decided({ type: 'event', event: 'custom' }, [false, false], cost, balance);
      for (const count of [1, 2]) {
        stage.emit('x');
        await stage.answered(count);
      }
      return (await stage.all('budget.charged')).map(({ what, amount, balance: left }) => [
        what,
        amount,
        left,
      ]);
    };
    expect(await charged(2, 10)).toEqual([
      ['artifact', 2, 8],
      ['artifact', 2, 6],
    ]);
    expect(await charged(0, 10)).toEqual([]);
    expect(await charged(2)).toEqual([]);
  });
});

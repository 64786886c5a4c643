import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InvokeRecord } from '../../src/lib/calls.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import type { Invoke, InvokeRequest } from '../../src/tools/artifacts/create-invoke.ts';
import { moreRuns } from '../more-runs.ts';
import { openStage, type Stage, type StageOptions, workflowOf } from './reaction-stage.ts';

const onStatus = (more: object = {}, status: unknown = 'CODING') => ({
  type: 'metadata_match',
  conditions: { status },
  ...more,
});
const one = (trigger: object, options?: StageOptions) => openStage([workflowOf('w', trigger)], options);

describe('what a session sets off', () => {
  it('a run begins once the firing is on the log, and knows what matched', async () => {
    const stage = await one(onStatus(), { defaults: { status: 'IDLE' } });
    stage.set({ status: 'CODING' });
    expect(stage.started).toEqual([]);
    const [fired] = await stage.all('trigger.fired');
    expect(fired).toMatchObject({
      trigger: 'w#0',
      workflow: 'w',
      run: 'run_1',
      chain: ['w'],
      cause: { stream: 's', seq: 2 },
      seen: {
        type: 'metadata_match',
        trigger: 'w#0',
        workflow: 'w',
        as: 'enter',
        fields: { status: { from: 'IDLE', to: 'CODING' } },
      },
    });
    expect(stage.started).toEqual(stage.state().runs);
  });

  it('defaults fire nothing, and neither do values taken over from other sessions', async () => {
    const stage = await one(onStatus(), { defaults: { status: 'CODING' } });
    stage.set({ progress: 1 }, 'seed');
    stage.set({ status: 'IDLE' }, 'seed');
    stage.set({ status: 'CODING' }, 'seed');
    expect(await stage.fired()).toEqual([]);
    expect(stage.state().metadataUpdates).toBe(0);
    stage.set({ progress: 2 }); // the first update of its own: what the values were before counts as false
    expect(await stage.fired()).toEqual(['w#0']);
    stage.set({ status: 'IDLE' }, 'seed');
    stage.set({ status: 'CODING' }, 'seed');
    expect(await stage.fired()).toEqual(['w#0']);
    stage.set({ status: 'IDLE' }, 'seed');
    stage.set({ status: 'CODING' });
    expect(await stage.fired()).toEqual(['w#0', 'w#0']);
  });

  it('higher priority goes first, then the order of the files, whatever the type', async () => {
    const changed = { type: 'event', event: 'metadata.changed' };
    const stage = await openStage([
      workflowOf('a', onStatus(), { ...changed, priority: 5 }),
      workflowOf('b', onStatus({ priority: 5 }), changed),
    ]);
    stage.set({ status: 'CODING' });
    expect(await stage.fired()).toEqual(['a#1', 'b#0', 'a#0', 'b#1']);
  });

  it('once is once a session, also after a restart', async () => {
    const stage = await one(onStatus({ fire: 'once' }));
    for (const status of ['CODING', 'IDLE', 'CODING']) stage.set({ status });
    await stage.restart();
    for (const status of ['IDLE', 'CODING']) stage.set({ status });
    expect(await stage.fired()).toEqual(['w#0']);
  });

  it('variables match as metadata does, defaults aside', async () => {
    const trigger = { type: 'variable_match', conditions: { attempts: { gte: 3 } } };
    const stage = await one(trigger, { vars: { attempts: 5 } });
    stage.setVariable('other', 1, 'seed');
    expect(await stage.fired()).toEqual([]);
    for (const attempts of [2, 3, 4]) stage.setVariable('attempts', attempts);
    const [fired, ...rest] = await stage.all('trigger.fired');
    expect(fired?.seen).toMatchObject({ fields: { attempts: { from: 2, to: 3 } } });
    expect(rest).toEqual([]);
  });

  it('an event fires by its type and fields, those of sub-agents too', async () => {
    const stage = await openStage([
      workflowOf('a', { type: 'event', event: 'custom', match: { name: 'deploy', data: { place: 'live' } } }),
      workflowOf('b', {
        type: 'event',
        event: 'child.response',
        match: { 'event.text': { contains: 'ERROR' } },
      }),
      workflowOf('c', {
        type: 'event',
        event: 'custom',
        test: 'event.name == "deploy" && metadata.ok && tries > 1',
      }),
    ]);
    stage.emit('deploy', { place: 'test' });
    stage.set({ ok: true });
    stage.setVariable('tries', 2);
    stage.emit('deploy', { place: 'live' });
    const of = { action: 'x', child: { session: 'c', seq: 1 } };
    stage.append({ type: 'child.response', ...of, event: { text: 'an ERROR', final: true } });
    expect(await stage.fired()).toEqual(['a#0', 'c#0', 'b#0']);
    const [first] = await stage.all('trigger.fired');
    expect(first?.seen).toMatchObject({ type: 'event', event: { type: 'custom', name: 'deploy' } });
  });

  it('a test that cannot be evaluated is false, and the log says why, once', async () => {
    const stage = await one({ type: 'metadata_match', test: 'metadata.level > 3' });
    stage.set({ other: 1 });
    stage.set({ other: 2 });
    stage.set({ level: 4 });
    const told = await stage.all('trigger.suppressed');
    expect(told).toMatchObject([{ reason: 'test', message: expect.stringContaining('"w#0"') }]);
    expect(await stage.fired()).toEqual(['w#0']);
  });

  it('a long event is shown in part, and is whole on the log', async () => {
    const stage = await one({ type: 'event', event: 'response' });
    stage.append({ type: 'response', text: 'x'.repeat(100_000), final: false });
    const [fired] = await stage.all('trigger.fired');
    expect(JSON.stringify(fired).length).toBeLessThan(20_000);
  });

  it('a trigger on the end of the session does not wait', async () => {
    const stage = await one({ type: 'event', event: 'session.completed', debounce: '5s', delay: '5s' });
    stage.append({ type: 'session.completed', result: null });
    expect(await stage.fired()).toEqual(['w#0']);
    expect(stage.started).toHaveLength(1);
  });
});

describe('the pace of firings', () => {
  it('debounce waits for quiet, and begins anew with each firing', async () => {
    const stage = await one(onStatus({ debounce: '2s', fire: 'on_update' }));
    stage.set({ status: 'CODING' });
    await stage.clock.advance(1_900);
    stage.set({ progress: 1 });
    await stage.clock.advance(1_900);
    expect(await stage.fired()).toEqual([]);
    await stage.clock.advance(100);
    expect(await stage.fired()).toEqual(['w#0']);
    const types = (await stage.events()).map(({ type }) => type).slice(-3);
    expect(types).toEqual(['timer.set', 'timer.fired', 'trigger.fired']);
    expect(stage.state().timers).toEqual([]);
  });

  it('what is over when quiet comes does not fire', async () => {
    const stage = await one(onStatus({ debounce: '2s' }));
    stage.set({ status: 'CODING' });
    stage.set({ status: 'IDLE' });
    await stage.clock.advance(2_000);
    expect(await stage.fired()).toEqual([]);
    expect(await stage.suppressed()).toEqual(['w#0 over']);
  });

  it('an end fires after its quiet if it is still over', async () => {
    const stage = await one(onStatus({ debounce: '2s', fire: 'on_exit' }));
    stage.set({ status: 'CODING' });
    stage.set({ status: 'IDLE' });
    await stage.clock.advance(2_000);
    expect(await stage.fired()).toEqual(['w#0']);
    stage.set({ status: 'CODING' });
    stage.set({ status: 'IDLE' });
    stage.set({ status: 'CODING' });
    await stage.clock.advance(2_000);
    expect(await stage.fired()).toEqual(['w#0']);
    expect(await stage.suppressed()).toEqual(['w#0 over']);
  });

  it('a change fires after its quiet if where it led to is still so', async () => {
    const stage = await openStage([
      workflowOf('any', onStatus({ debounce: '2s' }, { changed: true })),
      workflowOf('to', onStatus({ debounce: '2s' }, { from: 'IDLE', to: 'CODING' })),
    ]);
    stage.set({ status: 'IDLE' });
    await stage.clock.advance(5_000);
    stage.set({ status: 'CODING' });
    await stage.clock.advance(5_000);
    expect(await stage.fired()).toEqual(['any#0', 'any#0', 'to#0']);
    stage.set({ status: 'IDLE' });
    stage.set({ status: 'CODING' });
    stage.set({ status: 'DONE' });
    await stage.clock.advance(5_000);
    expect((await stage.fired()).slice(3)).toEqual(['any#0']);
    expect(await stage.suppressed()).toEqual(['to#0 over']);
  });

  it('cooldown is the least time between two, also after a restart', async () => {
    const stage = await one(onStatus({ cooldown: '10s', fire: 'on_update' }));
    stage.set({ status: 'CODING' });
    await stage.clock.advance(9_000);
    await stage.restart();
    stage.set({ progress: 1 });
    await stage.clock.advance(1_000);
    stage.set({ progress: 2 });
    expect(await stage.fired()).toEqual(['w#0', 'w#0']);
    const [told] = await stage.all('trigger.suppressed');
    expect(told).toMatchObject({ reason: 'cooldown', message: '"w#0" fired 9 s ago; its cooldown is 10 s.' });
  });

  it('cooldown counts a firing that waits for its turn, also after a restart', async () => {
    const stage = await openStage([
      workflowOf('a', {
        type: 'metadata_match',
        conditions: { status: 'CODING' },
        cooldown: '10s',
        concurrency: { max: 1, when_busy: 'queue' },
      }),
    ]);
    const enter = async (ms: number) => {
      stage.set({ status: 'IDLE' });
      await stage.clock.advance(ms);
      stage.set({ status: 'CODING' });
    };
    await enter(0);
    await enter(20_000);
    await enter(1_000);
    await stage.restart();
    await enter(8_000);
    await enter(1_000);
    expect(await stage.suppressed()).toEqual(['a#0 cooldown', 'a#0 cooldown']);
    for (let n = 0; n < 4; n++) stage.endRun();
    expect(await stage.fired()).toEqual(['a#0', 'a#0', 'a#0']);
  });

  it('a delay holds for each firing, and a cooldown counts those that are to come', async () => {
    const stage = await openStage([
      workflowOf('each', onStatus({ delay: '3s', fire: 'on_update' })),
      workflowOf('cool', onStatus({ delay: '3s', cooldown: '2s', fire: 'on_update' })),
    ]);
    stage.set({ status: 'CODING' });
    await stage.clock.advance(1_000);
    stage.set({ progress: 1 });
    await stage.clock.advance(2_000);
    expect(await stage.fired()).toEqual(['each#0', 'cool#0']);
    await stage.clock.advance(1_000);
    expect(await stage.fired()).toEqual(['each#0', 'cool#0', 'each#0']);
    expect(await stage.suppressed()).toEqual(['cool#0 cooldown']);
  });

  it('waits survive a restart and are over once, at their time', async () => {
    const stage = await openStage([
      workflowOf('quiet', onStatus({ debounce: '5s' })),
      workflowOf('later', onStatus({ delay: '5s' })),
    ]);
    stage.set({ status: 'CODING' });
    await stage.clock.advance(3_000);
    await stage.restart();
    await stage.clock.advance(1_999);
    expect(await stage.fired()).toEqual([]);
    await stage.clock.advance(1);
    await stage.restart();
    await stage.clock.advance(60_000);
    expect(await stage.fired()).toEqual(['quiet#0', 'later#0']);
    expect(stage.clock.pending).toBe(0);
  });

  it('what is pending fires as the session completes, and what is queued does not', async () => {
    const stage = await openStage([
      workflowOf('quiet', onStatus({ debounce: '5s' })),
      workflowOf('later', onStatus({ delay: '5s' })),
      workflowOf('queue', onStatus({ fire: 'on_update', concurrency: { max: 1, when_busy: 'queue' } })),
    ]);
    stage.set({ status: 'CODING' });
    stage.set({ progress: 1 });
    stage.end();
    expect(await stage.fired()).toEqual(['queue#0', 'quiet#0', 'later#0']);
    expect(await stage.suppressed()).toEqual(['queue#0 busy']);
    expect(stage.state().timers).toEqual([]);
  });
});

describe('runs side by side', () => {
  const busy = (when_busy: string, more: object = {}) =>
    one(onStatus({ fire: 'on_update', concurrency: { max: 1, when_busy }, ...more }));

  it('skip leaves one out, and names the run that is in the way', async () => {
    const stage = await busy('skip');
    stage.set({ status: 'CODING' });
    stage.set({ progress: 1 });
    const [told] = await stage.all('trigger.suppressed');
    expect(told).toMatchObject({ reason: 'busy', message: expect.stringContaining('run_1') });
    stage.endRun();
    stage.set({ progress: 2 });
    expect(await stage.fired()).toEqual(['w#0', 'w#0']);
  });

  it('queue keeps each for its turn, in order, also over a restart', async () => {
    const stage = await busy('queue');
    stage.set({ status: 'CODING' });
    stage.set({ progress: 1 });
    stage.set({ progress: 2 });
    expect(await stage.fired()).toHaveLength(1);
    await stage.restart();
    stage.endRun();
    expect(await stage.fired()).toHaveLength(2);
    await stage.restart();
    stage.endRun();
    stage.endRun();
    const fired = await stage.all('trigger.fired');
    expect(fired.map(({ seen }) => seen.as)).toEqual(['enter', 'stay', 'stay']);
    expect(stage.started.map(({ run }) => run)).toEqual(fired.map(({ run }) => run));
    expect(stage.state().timers).toEqual([]);
    expect(stage.state().runs).toEqual([]);
  });

  it('replace cancels the oldest run, and the newest firing begins when that has ended', async () => {
    const stage = await busy('replace');
    stage.set({ status: 'CODING' });
    stage.set({ progress: 1 });
    stage.set({ progress: 2 });
    expect(stage.cancelled).toEqual(['run_1']);
    expect(await stage.suppressed()).toEqual(['w#0 busy']);
    await stage.restart();
    stage.endRun('run_1');
    stage.endRun('run_2');
    expect(await stage.fired()).toEqual(['w#0', 'w#0']);
    expect(stage.cancelled).toEqual(['run_1']);
  });

  it('replace that had a run cancelled begins at the end of the session, also after a restart', async () => {
    for (const restarts of [false, true]) {
      const stage = await busy('replace');
      stage.set({ status: 'CODING' });
      stage.set({ progress: 1 });
      if (restarts) await stage.restart();
      stage.end();
      expect(stage.cancelled).toEqual(['run_1']);
      expect(await stage.fired()).toEqual(['w#0', 'w#0']);
      expect(await stage.suppressed()).toEqual([]);
      expect(stage.state().timers).toEqual([]);
    }
  });

  it('replace begins no more runs at the end of the session than were cancelled', async () => {
    const replace = onStatus({ fire: 'on_update', concurrency: { max: 1, when_busy: 'replace' } });
    const stage = await openStage([workflowOf('w', replace, replace)]);
    stage.set({ status: 'CODING' });
    stage.set({ progress: 1 });
    stage.end();
    const fired = await stage.fired();
    expect(fired.length - stage.cancelled.length).toBe(1);
    expect(stage.state().timers).toEqual([]);
  });

  it('cancel_on_exit ends the run and what waits when the condition is over', async () => {
    const stage = await openStage([
      workflowOf('w', onStatus({ cancel_on_exit: true })),
      workflowOf('later', onStatus({ cancel_on_exit: true, delay: '5s' })),
      workflowOf('stays', onStatus()),
    ]);
    stage.set({ status: 'CODING' });
    stage.set({ progress: 1 });
    expect(stage.cancelled).toEqual([]);
    stage.set({ status: 'IDLE' });
    await stage.clock.advance(5_000);
    expect(stage.cancelled).toEqual(['run_1']);
    expect(await stage.fired()).toEqual(['w#0', 'stays#0']);
    expect(await stage.suppressed()).toEqual(['later#0 over']);
  });

  it('cancel_on_exit of a condition on a change cancels when what it led to is no longer so', async () => {
    const stage = await one({
      type: 'metadata_match',
      conditions: { status: { from: 'IDLE', to: 'CODING' } },
      cancel_on_exit: true,
    });
    stage.set({ status: 'IDLE' });
    stage.set({ status: 'CODING' });
    expect(await stage.fired()).toEqual(['w#0']);
    stage.set({ other: 1 });
    expect(stage.cancelled).toEqual([]);
    stage.set({ status: 'DONE' });
    expect(stage.cancelled).toEqual(['run_1']);
  });

  it.each([
    ['delayed', { delay: '5s' }, 0],
    ['queued', { concurrency: { max: 1, when_busy: 'queue' } }, 1],
  ])(
    'cancel_on_exit drops a firing that is %s, though the condition holds again later',
    async (_, how, runs) => {
      const stage = await one(onStatus({ ...how, cancel_on_exit: true }));
      if (runs > 0) {
        stage.set({ status: 'CODING' });
        stage.set({ status: 'IDLE' });
      }
      stage.set({ status: 'CODING' });
      await stage.clock.advance(1_000);
      stage.set({ status: 'IDLE' });
      await stage.clock.advance(1_000);
      stage.set({ status: 'CODING' });
      expect(await stage.suppressed()).toEqual(['w#0 over']);
      await stage.clock.advance(10_000);
      stage.endRun();
      stage.endRun();
      expect(await stage.fired()).toHaveLength(runs + 1);
    },
  );

  it('a run that is not made yet when the process dies is started with the next', async () => {
    const stage = await one(onStatus());
    stage.set({ status: 'CODING' });
    await stage.events();
    stage.started.length = 0;
    await stage.restart();
    expect(stage.started.map(({ run }) => run)).toEqual(['run_1']);
  });
});

describe('chains', () => {
  /** Each run of `w` sets the metadata that sets off the next. */
  const goRound = async (stage: Stage) => {
    stage.set({ n: 0 });
    for (let n = 1; stage.state().runs.length > 0; n++) {
      const run = stage.state().runs[0]?.run;
      stage.set({ n }, 'workflow:w', run);
      stage.endRun(run);
      if (n > 50) throw new Error('It goes on for ever.');
    }
    return stage;
  };

  it('end after eight workflows, with an event that prints them', async () => {
    const stage = await goRound(
      await one({ type: 'metadata_match', conditions: { n: { exists: true } }, fire: 'on_update' }),
    );
    expect(await stage.fired()).toHaveLength(8);
    const [told] = await stage.all('trigger.suppressed');
    expect(told).toMatchObject({ reason: 'depth', chain: Array(9).fill('w') });
    expect(told?.message).toContain('w → w → w');
  });

  it('go on from what a run emits', async () => {
    const stage = await openStage([
      workflowOf('a', onStatus()),
      workflowOf('b', { type: 'event', event: 'custom' }),
    ]);
    stage.set({ status: 'CODING' });
    stage.append({ type: 'custom', name: 'x', data: null }, { stream: 'run_1', seq: 3, depth: 5 });
    const chains = (await stage.all('trigger.fired')).map(({ chain }) => chain);
    expect(chains).toEqual([['a'], ['a', 'b']]);
  });

  it('go through variables that follow from what a run has set', async () => {
    const stage = await one({ type: 'variable_match', conditions: { ready: { changed: true } } });
    stage.setVariable('ready', 0);
    for (let n = 1; n < 12; n++) {
      const run = stage.state().runs[0]?.run;
      if (run === undefined) break;
      const cause = stage.append({ type: 'metadata.changed', changes: {}, by: 'workflow:w', run });
      stage.append(
        { type: 'variable.changed', name: 'ready', class: 'derived', from: n - 1, to: n, by: 'derived' },
        cause,
      );
      stage.endRun(run);
    }
    expect(await stage.fired()).toHaveLength(8);
  });

  it.each(['trigger.fired', 'trigger.suppressed', 'timer.set', 'timer.fired', 'invoke'])(
    'end where a trigger on %s sets itself off',
    async (event) => {
      const paced = event.startsWith('timer')
        ? { delay: '1s' }
        : event === 'trigger.suppressed'
          ? { cooldown: '1h' }
          : {};
      const asked = event === 'invoke' ? { test: { invoke: 'd', method: 'm', fallback: false } } : {};
      const stage = await one({ type: 'event', event, ...paced, ...asked });
      const record = {
        where: 'x',
        artifact: 'x',
        method: 'm',
        args: [],
        result: true,
        cached: false,
        ms: 0,
        cost: 0,
      };
      stage.append({ type: 'invoke', ...record });
      stage.append({
        type: 'trigger.suppressed',
        trigger: 'x#0',
        workflow: 'x',
        reason: 'busy',
        message: '',
      });
      stage.append({
        type: 'trigger.suppressed',
        trigger: 'x#0',
        workflow: 'x',
        reason: 'busy',
        message: '',
      });
      stage.append({
        type: 'trigger.fired',
        trigger: 'x#0',
        workflow: 'x',
        run: 'r',
        seen: {},
        chain: ['x'],
      });
      stage.append({ type: 'timer.set', id: 'x', due: 0 });
      stage.append({ type: 'timer.fired', id: 'x' });
      await stage.clock.advance(3_600_000);
      expect((await stage.events()).length).toBeLessThan(60);
      expect(stage.clock.pending).toBe(0);
    },
  );
});

describe('tests that artifacts decide', () => {
  const asks = { invoke: 'decider', method: 'go', fallback: false };
  /** Answers when it is told to, in any order. */
  const slowInvoke = () => {
    const open: { readonly question: InvokeRequest; readonly answer: (result: boolean) => void }[] = [];
    const invoke: Invoke = (question) =>
      new Promise((resolve) => {
        const { invoke: artifact, method, args } = question.invocation;
        const answer = (result: boolean) =>
          resolve({
            where: question.where,
            artifact,
            method,
            args,
            result,
            cached: false,
            ms: 1,
            cost: 2,
          } satisfies InvokeRecord);
        open.push({ question, answer });
      });
    return { open, invoke };
  };

  it('count once they are on the log, in the order of the questions', async () => {
    const { open, invoke } = slowInvoke();
    const stage = await one({ type: 'metadata_match', test: asks }, { invoke, balance: 10 });
    stage.set({ n: 1 });
    stage.set({ n: 2 });
    stage.set({ n: 3 });
    expect(open.map(({ question }) => question.where)).toEqual(['trigger w#0', 'trigger w#0', 'trigger w#0']);
    expect(open.map(({ question }) => question.context.metadata.n)).toEqual([1, 2, 3]);
    open[2]?.answer(true);
    open[1]?.answer(false);
    await stage.clock.advance(0);
    expect(await stage.all('invoke')).toEqual([]);
    open[0]?.answer(true);
    await stage.clock.advance(0);
    const types = (await stage.events()).map(({ type }) => type).slice(4);
    const answered = ['invoke', 'budget.charged'];
    expect(types).toEqual([...answered, 'trigger.fired', ...answered, ...answered, 'trigger.fired']);
    expect(stage.state().balance).toBe(4);
    const [invoked] = await stage.all('invoke');
    const [fired] = await stage.all('trigger.fired');
    expect(fired?.cause.seq).toBe(invoked?.seq);
  });

  it('a lost answer is asked for again, and one that is known is kept', async () => {
    const { open, invoke } = slowInvoke();
    const stage = await one({ type: 'metadata_match', test: asks, fire: 'on_update' }, { invoke });
    stage.set({ n: 1 });
    await stage.restart();
    open[1]?.answer(true);
    await stage.clock.advance(0);
    expect(await stage.fired()).toEqual(['w#0']);
    await stage.restart();
    open[2]?.answer(true);
    await stage.clock.advance(0);
    expect(await stage.fired()).toEqual(['w#0']); // a restart is no update
    open[0]?.answer(true);
    await stage.clock.advance(0);
    expect(await stage.all('invoke')).toHaveLength(2); // nobody waits for it any more
  });

  it('where nobody can be asked the fallback counts', async () => {
    const stage = await one({ type: 'event', event: 'custom', test: { ...asks, fallback: true } });
    stage.emit('x');
    await stage.clock.advance(0);
    expect(await stage.all('invoke')).toMatchObject([{ result: true, fallback: { reason: 'unavailable' } }]);
    expect(await stage.fired()).toEqual(['w#0']);
  });

  it('too many open questions are refused, one by one', async () => {
    const { invoke } = slowInvoke();
    const stage = await one({ type: 'event', event: 'custom', test: asks }, { invoke });
    for (let n = 0; n < 258; n++) stage.emit('x');
    expect(await stage.suppressed()).toEqual(['w#0 busy', 'w#0 busy']);
  });
});

describe('a session that is taken up again', () => {
  const paced = fc.record(
    {
      debounce: fc.constantFrom('1s', '3s'),
      cooldown: fc.constantFrom('2s', '5s'),
      delay: fc.constantFrom('1s', '4s'),
      priority: fc.integer({ min: 0, max: 1 }),
      concurrency: fc.record({
        max: fc.integer({ min: 1, max: 2 }),
        when_busy: fc.constantFrom('skip', 'queue', 'replace'),
      }),
    },
    { requiredKeys: [] },
  );
  const conditions = fc.constantFrom<object>(
    { a: 1 },
    { a: { changed: true } },
    { a: { from: 0, to: 1 } },
    { a: { gte: 1 }, b: 1 },
    { b: { not: 0 } },
    { b: { exists: false } },
  );
  const fire = fc.constantFrom('on_enter', 'on_change', 'on_update', 'on_exit', 'once');
  const trigger = fc.oneof(
    fc
      .tuple(fc.constantFrom('metadata_match', 'variable_match'), conditions, fire, fc.boolean(), paced)
      .map(([type, map, mode, cancel_on_exit, more]) => ({
        type,
        conditions: map,
        fire: mode,
        cancel_on_exit,
        ...more,
      })),
    fc
      .tuple(fire, paced)
      .map(([mode, more]) => ({ type: 'metadata_match', test: 'metadata.a == b', fire: mode, ...more })),
    paced.map((more) => ({ type: 'event', event: 'custom', ...more })),
  );
  const value = fc.constantFrom(0, 1, 2, null);
  const deed = fc.oneof(
    { weight: 4, arbitrary: fc.record({ set: fc.record({ a: value, b: value }, { requiredKeys: [] }) }) },
    fc.record({ variable: fc.constantFrom('a', 'b'), to: value }),
    fc.record({ advance: fc.constantFrom(500, 1_000, 3_000) }),
    fc.constantFrom({ kind: 'end' }, { kind: 'emit' }, { kind: 'obey' }, { kind: 'restart' }),
  );
  type Deed = typeof deed extends fc.Arbitrary<infer T> ? T : never;

  async function live(triggers: readonly object[], deeds: readonly Deed[], restarts: boolean) {
    const stage = await openStage(
      triggers.map((each, n) => workflowOf(`w${n % 2}_${n}`, each)),
      { defaults: { a: 1 } },
    );
    for (const each of deeds) {
      if ('set' in each) {
        const set = Object.entries(each.set).filter(
          ([name, to]) => (stage.state().metadata[name] ?? null) !== to,
        );
        if (set.length > 0) stage.set(Object.fromEntries(set) as JsonObject);
      } else if ('variable' in each) stage.setVariable(each.variable, each.to);
      else if ('advance' in each) await stage.clock.advance(each.advance);
      else if (each.kind === 'emit') stage.emit('x');
      else if (each.kind === 'end') stage.endRun();
      else if (each.kind === 'obey') for (const run of stage.cancelled) stage.endRun(run);
      else if (restarts) await stage.restart();
      else stage.resume();
    }
    const events = await stage.events();
    return { events, runs: stage.started.map(({ run }) => run), cancelled: stage.cancelled };
  }

  it('does exactly what one does that lived on, whenever it was let go of', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(trigger, { minLength: 1, maxLength: 4 }),
        fc.array(deed, { minLength: 5, maxLength: 25 }),
        async (triggers, deeds) => {
          expect(await live(triggers, deeds, true)).toEqual(await live(triggers, deeds, false));
        },
      ),
      { numRuns: moreRuns(80) },
    );
  }, 60_000);
});

import { describe, expect, it } from 'vitest';
import { frameOf } from '../../src/lib/calls.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { call, FINAL, isSaid, isType, lived, of, seen } from './taken-up-stage.ts';

describe('a log that ends', () => {
  it('before the first turn is taken up with that: no hook is told of the end of one that never was', async () => {
    const hooks = { after_turn: [{ command: ['true'], fallback: true }] };
    const { behind } = await lived([FINAL], { agent: { hooks, permissions: { sandbox: 'off' } } });
    const { result, since } = await behind(isType('session.started'), [FINAL]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
    expect(of(since, 'hook.ran')).toHaveLength(1);
  });

  it('in the second exchange of a chat is taken up with that, not with the answer of the first', async () => {
    const { behind } = await lived(['<response>One.</response>', '<response>Two.</response>'], {
      start: { chat: true },
      async during(session) {
        await seen(session, 'session.waiting');
        const again = seen(session, 'session.waiting');
        await session.say('And then?');
        await again;
        session.finish();
      },
    });
    const { result } = await behind(
      isType('turn.started', 2),
      ['', '', '<response>Three.</response>'],
      async (session) => {
        await seen(session, 'session.waiting');
        session.finish();
      },
    );
    expect(result).toMatchObject({ status: 'completed', result: 'Three.' });
  });

  it.each([
    ['the end of its turn', 'turn.completed'],
    ['its answer', 'response'],
  ])('in a chat behind %s has that out, once, and waits: nobody is asked again', async (_where, type) => {
    const { behind } = await lived(['<response>One.</response>'], {
      start: { chat: true },
      async during(session) {
        await seen(session, 'session.waiting');
        session.finish();
      },
    });
    const { result, all, since } = await behind(isType(type), [], async (session) => {
      await seen(session, 'session.waiting');
      session.finish();
    });
    expect(result).toMatchObject({ status: 'completed', result: 'One.' });
    expect(of(all, 'response')).toHaveLength(1);
    expect(of(since, 'turn.started')).toEqual([]);
  });

  it('behind the end of a turn starts what was to start then', async () => {
    const { behind } = await lived([call('a', 'late'), FINAL]);
    const { result, since } = await behind(isType('turn.completed', 1), ['', FINAL]);
    expect(of(since, 'action.completed')).toMatchObject([{ id: 'a', output: 'late' }]);
    expect(result.status).toBe('completed');
  });

  it('behind a final response whose turn is open ends that turn, and starts what was to start then', async () => {
    const { behind } = await lived([`${call('a', 'late')}<response>Here: $a.</response>`]);
    const { result, since } = await behind(isType('model.output'), []);
    expect(of(since, 'turn.completed', 'turn.failed')).toMatchObject([
      { type: 'turn.completed', finish: 'cut', usage: { estimated: true } },
    ]);
    expect(of(since, 'action.completed')).toMatchObject([{ id: 'a' }]);
    expect(result).toMatchObject({ status: 'completed', result: 'Here: late.' });
  });

  it('in the middle of a turn does not start what waited for its end, and says why', async () => {
    const { behind } = await lived([`${call('a', 'late')}${call('b', 'echo')}Well.`, FINAL]);
    const { since } = await behind(isType('action.declared'), ['', FINAL, FINAL]);
    expect(of(since, 'action.skipped')).toMatchObject([{ id: 'a', reason: 'turn_failed' }]);
  });

  it('behind a turn that broke off has nothing of it judged: it is gone on with', async () => {
    const model: Model = {
      id: 'scripted:broken',
      async stream({ turn }, sink) {
        sink.text(turn === 1 ? 'I begin without a tag.' : FINAL);
        if (turn === 1) throw new RuntimeError('overloaded', 'Too busy.', { retryable: true });
        return { finish: 'stop' };
      },
    };
    const { behind } = await lived(model);
    const { since, result } = await behind(isType('turn.failed'), ['', FINAL]);
    expect(of(since, 'fault')).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', turns: 1 });
  });

  it('at a sync action that is observed ends its turn there, as it would have been cut', async () => {
    const { behind } = await lived([`${call('a', 'slow', 'sync')}More.`, FINAL], {
      agent: { protocol: { on_sync: 'observe' } },
    });
    const { since } = await behind(isType('action.declared'), ['', FINAL]);
    expect(of(since, 'turn.completed', 'turn.failed')).toMatchObject([
      { type: 'turn.completed', turn: 1, finish: 'cut' },
      { turn: 2 },
    ]);
    expect(of(since, 'turn.started', 'action.completed').map(({ type }) => type)).toEqual([
      'action.completed',
      'turn.started',
    ]);
  });
});

describe('what a turn that was cut short said', () => {
  const TWICE = `${call('a', 'echo', 'soon')}${call('b', 'echo', 'later')}${call('c', 'echo', 'soon')}`;

  it('wrong is told once each, wherever the log ended', async () => {
    const { events, behind } = await lived([`${TWICE}${FINAL}`, FINAL]);
    const faults = (all: readonly SessionEvent[]) =>
      all.flatMap((event) =>
        event.type === 'fault' && event.turn === 1 ? [`${event.code} ${event.message}`] : [],
      );
    const whole = faults(events).filter((fault) => !fault.startsWith('final_undone'));
    expect(whole).toHaveLength(3);
    const last = events.findLast(isType('model.output', 1)) as SessionEvent;
    for (const { seq } of events.filter((event) => event.turn === 1 && event.seq >= last.seq)) {
      const { all } = await behind((event) => event.seq === seq, ['', FINAL]);
      expect(faults(all).filter((fault) => !fault.startsWith('final_undone'))).toEqual(whole);
    }
  });

  it('and did not come to run is told once, however often it is cut short', async () => {
    const { behind } = await lived([`Well. ${call('a', 'echo')} More.`, FINAL]);
    const once = await behind(isSaid('id="a"'), ['', FINAL]);
    const lost = (events: readonly SessionEvent[]) =>
      events.filter((event) => event.type === 'fault' && event.code === 'not_run');
    expect(lost(once.all)).toHaveLength(1);
    const again = await behind(isType('turn.failed'), ['', FINAL], undefined, once.id);
    expect(lost(again.all)).toHaveLength(1);
    expect(of(again.since, 'turn.failed')).toEqual([]);
    expect(again.prompts[0]).toContain('was not run');
  });

  it('last of its variables counts', async () => {
    const runtime = [{ name: 'v', type: 'number' as const, default: 0 }];
    const step = (input: object) => frameOf({ id: 'c', name: 'step', input: JSON.stringify(input) });
    const { behind } = await lived(
      [step({ thought: 'Hm.', context_updates: { v: 7 } }), step({ response: 'Done.', is_complete: true })],
      { agent: { dialect: 'step', context_variables: { runtime } } },
    );
    const { since } = await behind(isSaid('context_updates'), [
      '',
      step({ response: 'Done.', is_complete: true }),
    ]);
    expect(of(since, 'variable.changed')).toMatchObject([{ name: 'v', to: 7, turn: 1 }]);
  });
});

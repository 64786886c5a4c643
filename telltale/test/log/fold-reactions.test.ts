import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/log/event.ts';
import {
  begun,
  createFolding,
  declared,
  done,
  failed,
  failure,
  folded,
  SESSION,
  STARTED,
  TURN,
  TURN_ENDED,
} from './fold-bodies.ts';

const GIVEN: EventBody = { type: 'task.given', task: 't', prompt: 'Do it.' };
const CLAIMED: EventBody = { type: 'task.claimed', task: 't', nth: 1, action: 'a', notes: 'Done.' };
const stuck = (more: object = {}): EventBody =>
  ({ type: 'task.stuck', task: 't', why: 'It repeats.', ...more }) as EventBody;
const answered = (more: object = {}): EventBody =>
  ({ type: 'task.answered', task: 't', nth: 1, by: 'ann', ...more }) as EventBody;
const twice = (id: string) => [declared(id), begun(id, { p: 1 }), done(id)];

describe('a task', () => {
  it('that is given is told, and begins without what was before it', () => {
    const idle = [TURN, TURN_ENDED, TURN, TURN_ENDED];
    const { task, news, idleTurns, bareTurns } = folded(STARTED, ...idle, {
      ...GIVEN,
      max_turns: 3,
    } as EventBody);
    expect(task).toEqual({
      given: { task: 't', prompt: 'Do it.', max_turns: 3 },
      place: { stream: SESSION, seq: 6, depth: 3 },
      since: 2,
      turns: 0,
      reports: 0,
      warned: false,
      tried: [],
      fresh: true,
      barren: 0,
    });
    expect(news.task).toEqual({ task: 't', prompt: 'Do it.', max_turns: 3 });
    expect({ idleTurns, bareTurns }).toEqual({ idleTurns: 0, bareTurns: 0 });
  });

  it('counts its turns that ended well', () => {
    const lost: EventBody = { type: 'turn.failed', error: failure('x') };
    expect(folded(STARTED, TURN, TURN_ENDED, GIVEN, TURN, TURN_ENDED, TURN, lost).task?.turns).toBe(1);
  });

  it('that is claimed is open until it is answered, and says where and in which turn', () => {
    const log = createFolding();
    log.fold(STARTED, GIVEN, TURN, { ...CLAIMED, evidence: ['a'] } as EventBody);
    expect(log.state.task).toMatchObject({
      reports: 1,
      open: { kind: 'claimed', nth: 1, notes: 'Done.', context_updates: {}, artifacts: [], evidence: ['a'] },
      reported: { stream: SESSION, seq: 4, depth: 3 },
      reportedIn: 1,
    });
    log.fold(answered({ nth: 2 }), answered({ task: 'other' }));
    expect(log.state.task?.open).toBeDefined();
    expect(log.fold(answered()).task?.open).toBeUndefined();
    expect(log.state.news.messages).toEqual([]);
  });

  it('that is answered with a word goes on with it, and what was tried before does not count any more', () => {
    const log = createFolding();
    log.fold(STARTED, GIVEN, TURN, ...twice('a'), ...twice('b'), TURN_ENDED, stuck());
    log.fold(TURN, ...twice('c'), TURN_ENDED, TURN, TURN_ENDED, { ...CLAIMED, nth: 1 } as EventBody);
    expect(log.state.task?.tried).not.toEqual([]);
    expect(log.state).toMatchObject({ idleTurns: 1, bareTurns: 1, task: { warned: true } });
    log.fold(answered({ text: 'Once more.' }));
    expect(log.state).toMatchObject({
      idleTurns: 0,
      bareTurns: 0,
      task: { warned: false, tried: [], fresh: true, barren: 0 },
      news: { messages: [{ from: 'verifier', text: 'Once more.' }] },
    });
  });

  it('of which nothing comes is warned of first, and reported where there is a number', () => {
    const log = createFolding();
    log.fold(STARTED, GIVEN, TURN, ...twice('a'), TURN, TURN, stuck());
    expect(log.state.task).toMatchObject({ warned: true, tried: [], fresh: true, barren: 0, reports: 0 });
    expect(log.state.task?.open).toBeUndefined();
    log.fold(stuck({ nth: 1 }));
    expect(log.state.task).toMatchObject({ reports: 1, open: { kind: 'stuck', nth: 1, why: 'It repeats.' } });
  });

  it('has its turns reported where each is judged', () => {
    expect(folded(STARTED, GIVEN, TURN, { type: 'task.turn', task: 't', nth: 1 }).task).toMatchObject({
      reports: 1,
      open: { kind: 'turn', nth: 1 },
    });
  });

  it('is not moved by what is said of another, and ends with its own end', () => {
    const log = createFolding();
    log.fold(STARTED, GIVEN, TURN);
    const before = structuredClone(log.state.task);
    log.fold(
      { ...CLAIMED, task: 'u' } as EventBody,
      stuck({ task: 'u', nth: 1 }),
      { type: 'task.turn', task: 'u', nth: 1 },
      { type: 'task.over', task: 'u' },
    );
    expect(log.state.task).toEqual(before);
    expect(log.fold({ type: 'task.over', task: 't' }).task).toBeUndefined();
  });

  it('counts the same call with the same input, and no other as the same', () => {
    const { task } = folded(
      STARTED,
      GIVEN,
      TURN,
      ...twice('a'),
      ...twice('b'),
      declared('c'),
      begun('c', { p: 2 }),
      done('c'),
      declared('d', { name: 'fetch' }),
      begun('d', { p: 1 }),
      failed('d'),
      declared('e', { kind: 'internal', name: 'complete_step' }),
      begun('e'),
      failed('e'),
      declared('f', { name: 'complete_step' }),
      begun('f'),
      done('f'),
    );
    expect(task?.tried.map(({ id, times }) => [id, times])).toEqual([
      ['a', 2],
      ['c', 1],
      ['d', 1],
      ['f', 1],
    ]);
  });

  it('tells two hundred calls apart, each by its first thousand characters', () => {
    const call = (id: string, text: string) => [declared(id), begun(id, { text }), done(id)];
    const many = Array.from({ length: 201 }, (_, index) => call(`a${index}`, `${index}`)).flat();
    const { task } = folded(STARTED, GIVEN, TURN, ...many);
    expect([task?.tried.length, task?.tried[0]?.id]).toEqual([200, 'a1']);
    const long = 'x'.repeat(2_000);
    const two = folded(STARTED, GIVEN, TURN, ...call('a', `${long}1`), ...call('b', `${long}2`));
    expect(two.task?.tried).toMatchObject([{ times: 2, what: expect.objectContaining({ length: 1_000 }) }]);
  });

  it('counts the turns in a row in which nothing new was done: what failed, or was done before, is not', () => {
    const log = createFolding();
    const barren = (...events: readonly EventBody[]) => log.fold(...events, TURN).task?.barren;
    log.fold(STARTED, GIVEN, TURN);
    expect(barren(...twice('a'))).toBe(0);
    expect(barren(...twice('b'))).toBe(1);
    expect(barren(declared('c'), begun('c', { p: 3 }), failed('c'))).toBe(2);
    expect(barren(declared('d'), begun('d', { p: 4 }), done('d'))).toBe(0);
    expect(barren()).toBe(1);
  });
});

describe('a run that a trigger begins', () => {
  const fired = (run: string, trigger = 'docs#0'): EventBody => ({
    type: 'trigger.fired',
    trigger,
    workflow: 'docs',
    run,
    seen: { type: 'manual' },
    chain: ['docs'],
  });
  const asked = (run: string, key: string): EventBody => ({
    type: 'workflow.asked',
    run,
    workflow: 'docs',
    key,
    what: 'notify',
  });
  const ended = (run: string, more: object = {}): EventBody =>
    ({ type: 'workflow.completed', run, workflow: 'docs', output: 1, ...more }) as EventBody;

  it('is known until it ends, with where it came from', () => {
    const log = createFolding();
    log.fold(STARTED, fired('run_a'), fired('run_b', 'docs#1'));
    expect(log.state.runs).toMatchObject([{ run: 'run_a', seq: 2, depth: 3 }, { run: 'run_b' }]);
    expect(log.fold(ended('run_a')).runs.map(({ run }) => run)).toEqual(['run_b']);
    expect(log.state.news.workflows).toBeUndefined();
  });

  it('counts how often its trigger fired, and when last; what an artifact said stays', () => {
    const log = createFolding();
    const answer = (where: string, result: boolean | string): EventBody => ({
      type: 'invoke',
      where,
      artifact: 'x',
      method: 'm',
      args: [],
      result,
      cached: false,
      ms: 1,
      cost: 0,
    });
    log.fold(STARTED, fired('run_a'), answer('trigger docs#0', true), answer('step x', true), fired('run_b'));
    expect(log.state.triggers).toEqual([{ trigger: 'docs#0', times: 2, at: 5_000, held: true }]);
    log.fold(answer('trigger docs#1', 'yes'));
    expect(log.state.triggers[1]).toEqual({ trigger: 'docs#1', times: 0, at: 0, held: false });
  });

  it.each([
    ['completed', ended('run_a', { told: true }), 1],
    [
      'failed',
      { type: 'workflow.failed', run: 'run_a', workflow: 'docs', error: failure('x'), told: true },
      failure('x'),
    ],
    [
      'cancelled',
      { type: 'workflow.cancelled', run: 'run_a', workflow: 'docs', reason: 'Enough.', told: true },
      'Enough.',
    ],
  ] as [string, EventBody, unknown][])(
    'that %s is told where the model is to hear of it',
    (status, end, about) => {
      const { news } = folded(STARTED, fired('run_a'), ended('run_z', { told: true }), end);
      expect(news.workflows).toHaveLength(2);
      expect(news.workflows?.[1]).toEqual({ run: 'run_a', workflow: 'docs', status, about });
    },
  );

  it('has what it asked for done once, and is forgotten with its tries and its calls', () => {
    const log = createFolding();
    log.fold(STARTED, asked('run_a', 'k1'), asked('run_b', 'k1'), asked('run_a', 'k2'));
    log.fold(asked('run_a~2', 'k1'), asked('run_a.call', 'k1'), asked('run_ab', 'k1'));
    expect(log.state.orders).toContainEqual({ run: 'run_a', keys: ['k1', 'k2'] });
    expect(log.fold(ended('run_a')).orders.map(({ run }) => run)).toEqual(['run_b', 'run_ab']);
  });

  it('that an action called is forgotten with that', () => {
    const called = { kind: 'workflow', name: 'docs' } as const;
    const log = createFolding();
    log.fold(STARTED, declared('a', called), declared('b', called), declared('c'));
    log.fold(asked(`${SESSION}.a`, 'k'), asked(`${SESSION}.b`, 'k'), asked(`${SESSION}.c`, 'k'));
    expect(log.fold(done('a'), done('c')).orders.map(({ run }) => run)).toEqual([
      `${SESSION}.b`,
      `${SESSION}.c`,
    ]);
  });
});

describe('a timer', () => {
  it('is due until it fires; one of the same name takes its place', () => {
    const log = createFolding();
    log.fold(
      STARTED,
      { type: 'timer.set', id: 't', due: 5, data: 'old' },
      { type: 'timer.set', id: 'u', due: 6 },
    );
    log.fold({ type: 'timer.set', id: 't', due: 9 });
    expect(log.state.timers).toEqual([
      { id: 'u', due: 6, cause: { stream: SESSION, seq: 3, depth: 3 } },
      { id: 't', due: 9, cause: { stream: SESSION, seq: 4, depth: 3 } },
    ]);
    expect(log.fold({ type: 'timer.fired', id: 'u' }).timers.map(({ id }) => id)).toEqual(['t']);
  });
});

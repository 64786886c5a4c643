import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/log/event.ts';
import {
  createFolding,
  declared,
  done,
  FOREACH,
  failure,
  folded,
  STARTED,
  said,
  TURN,
  TURN_ENDED,
  turnFailed,
} from './fold-bodies.ts';

const BARE = [TURN, said('Hm.'), TURN_ENDED];
const THOUGHT: EventBody = { type: 'thought', text: 'Hm.', depth: 0 };
const FINAL: EventBody = { type: 'response', text: 'Done.', final: true };
const HOOK = { type: 'hook.ran', of: 'agent', index: 0, by: 'gate', outcome: 'passed', ms: 1 } as const;
const fault = (code: string): EventBody => ({ type: 'fault', code, message: `${code}.` });

describe('a turn that begins', () => {
  it('takes along what the model has to be told, and leaves no news behind', () => {
    const { turns, news, status, turnOpen } = folded(STARTED, fault('bad_json'), TURN);
    expect(turns).toMatchObject([
      { turn: 1, output: '', news: { messages: [{ text: 'Go.' }], faults: [{ code: 'bad_json' }] } },
    ]);
    expect(news).toEqual({ messages: [], results: [], faults: [], rejected: [], changed: [] });
    expect({ status, turnOpen }).toEqual({ status: 'running', turnOpen: true });
  });

  it.each([
    ['a message', { type: 'message.received', from: 'user', text: 'x' }, 'messages'],
    ['a fault', fault('bad_json'), 'faults'],
    ['a result', done('a'), 'results'],
    ['a change', { type: 'metadata.changed', changes: { f: { from: 1, to: 2 } }, by: 'seed' }, 'changed'],
    ['a refusal', { type: 'metadata.rejected', errors: [{}], by: 'model' }, 'rejected'],
    ['a break', turnFailed('overloaded'), 'broken'],
    ['a run', { type: 'workflow.completed', run: 'r', workflow: 'w', output: 1, told: true }, 'workflows'],
    ['a variable', { type: 'variable.changed', name: 'v', from: 1, to: 2, by: 'seed' }, 'variables'],
    ['a task', { type: 'task.given', task: 't', prompt: 'x' }, 'task'],
    ['a feed', { type: 'feed.updated', id: 'f', value: 1, tokens: 1, loaded_at: 1, told: true }, 'feeds'],
  ] as [string, EventBody, string][])('takes along news of one kind alone: %s', (_what, event, kind) => {
    const { turns, news } = folded(STARTED, declared('a'), TURN, event, TURN);
    expect(turns[1]?.news).toHaveProperty(kind, expect.anything());
    expect([turns[1]?.news[kind as 'messages']].flat()).not.toEqual([]);
    expect([news[kind as 'messages'] ?? []].flat()).toEqual([]);
  });

  it('shows what runs: not what nobody waits for, and no <foreach>', () => {
    const { turns } = folded(
      STARTED,
      declared('a'),
      declared('b', { mode: 'fire_and_forget' }),
      declared('c', FOREACH),
      declared('d'),
      done('d'),
      TURN,
    );
    expect(turns[0]?.running).toEqual(['a']);
  });

  it('keeps the values as they were then: a later change is of the next turn', () => {
    const log = createFolding();
    const change = (to: string): EventBody => ({
      type: 'metadata.changed',
      changes: { status: { from: null, to } },
      by: 'model',
    });
    const set = (to: number): EventBody => ({
      type: 'variable.changed',
      name: 'v',
      class: 'runtime',
      from: null,
      to,
      by: 'model',
    });
    const off: EventBody = { type: 'feed.removed', id: 'builtin:results', by: 'model' };
    log.fold(STARTED, change('A'), TURN, set(1), change('B'), off, TURN, set(2), TURN);
    expect(log.state.turns.map(({ metadata, variables, off }) => ({ metadata, variables, off }))).toEqual([
      { metadata: { status: 'A' } },
      { metadata: { status: 'B' }, variables: { v: 1 }, off: ['builtin:results'] },
      { metadata: { status: 'B' }, variables: { v: 2 }, off: ['builtin:results'] },
    ]);
  });

  it('forgets which hooks were told of the turn before, but not which were asked about an action', () => {
    const { hooks } = folded(
      STARTED,
      { ...HOOK, hook: 'after_turn' },
      { ...HOOK, hook: 'before_action', action: 'a' },
      { ...HOOK, hook: 'on_error', action: 'a' },
      TURN,
    );
    expect(hooks).toEqual([{ hook: 'before_action', of: 'agent', index: 0, action: 'a' }]);
  });

  it('goes on with one that was cut short: what that did counts for both', () => {
    const cut = [STARTED, TURN, declared('a'), fault('bad_json')];
    const log = createFolding();
    log.fold(...cut, turnFailed('interrupted'), TURN);
    expect(log.state.signs).toMatchObject({ tags: true, deeds: true, responses: 0, ifs: [] });
    expect(folded(...cut, turnFailed('overloaded'), TURN).signs).toMatchObject({ tags: false, deeds: false });
    expect(log.fold(TURN_ENDED)).toMatchObject({ idleTurns: 0, bareTurns: 0 });
  });
});

describe('what a turn has brought', () => {
  it.each([
    ['only text', said('Hm.'), { bareTurns: 1, idleTurns: 1 }],
    ['a thought', THOUGHT, { bareTurns: 0, idleTurns: 1 }],
    ['an <if>', { type: 'if.decided', test: 'x', held: true }, { bareTurns: 0, idleTurns: 1 }],
    ['a tag with a mistake in it', fault('bad_json'), { bareTurns: 0, idleTurns: 1 }],
    ['an action', declared('a'), { bareTurns: 0, idleTurns: 0 }],
    ['a response', FINAL, { bareTurns: 0, idleTurns: 0 }],
  ] as [string, EventBody, object][])('is known when it ends: %s', (_what, event, counts) => {
    expect(folded(STARTED, TURN, event, TURN_ENDED)).toMatchObject(counts);
  });

  it('counts for a row of turns that brought nothing, until one brings something', () => {
    expect(folded(STARTED, ...BARE, ...BARE)).toMatchObject({ bareTurns: 2, idleTurns: 2 });
    expect(folded(STARTED, ...BARE, TURN, declared('a'), TURN_ENDED)).toMatchObject({
      bareTurns: 0,
      idleTurns: 0,
    });
  });

  it('is set right by a response that goes out after its end', () => {
    expect(folded(STARTED, ...BARE, ...BARE, FINAL)).toMatchObject({
      bareTurns: 0,
      idleTurns: 0,
      response: { text: 'Done.', final: true, turn: 2 },
    });
  });

  it('counts for nothing where it broke off, but for what it did before', () => {
    expect(folded(STARTED, ...BARE, TURN, turnFailed('overloaded'))).toMatchObject({
      bareTurns: 1,
      idleTurns: 1,
    });
    expect(folded(STARTED, ...BARE, TURN, THOUGHT, turnFailed('overloaded'))).toMatchObject({
      bareTurns: 0,
      idleTurns: 1,
    });
    expect(folded(STARTED, ...BARE, TURN, declared('a'), turnFailed('overloaded')).idleTurns).toBe(0);
  });

  it('is how many thoughts and responses there were, and what its tests came to', () => {
    const { signs } = folded(
      STARTED,
      TURN,
      THOUGHT,
      THOUGHT,
      FINAL,
      { type: 'if.decided', test: 'x', held: true },
      { type: 'if.decided', test: 'y', held: false },
      { type: 'if.decided', test: 'z', held: false, problem: 'No such name.' },
    );
    expect(signs).toMatchObject({ thoughts: 2, responses: 1, ifs: [true, false, null] });
  });
});

describe('a turn that ends', () => {
  it('well is counted and paid for, and the next request is another', () => {
    const state = folded(STARTED, TURN, turnFailed('overloaded'), TURN, said('Hm.'), TURN_ENDED);
    expect(state).toMatchObject({
      turnOpen: false,
      asked: { turn: 3, said: 0 },
      totals: { input: 10, output: 5, cost_usd: 0.5, turns: 1, failedTurns: 0 },
    });
  });

  it('badly counts as a try, and says after how much of its text', () => {
    const state = folded(STARTED, TURN, said('Hm, well.'), {
      ...turnFailed('overloaded'),
      usage: { input: 3, output: 2 },
      cost_usd: 0.25,
    } as EventBody);
    expect(state).toMatchObject({
      turnOpen: false,
      asked: { turn: 2, said: 0 },
      totals: { input: 3, output: 2, cost_usd: 0.25, turns: 0, failedTurns: 1 },
      news: { broken: { error: failure('overloaded'), at: 9 } },
    });
  });

  it('because a person broke it off is no try that failed', () => {
    const { totals, asked } = folded(STARTED, TURN, said('Hm.'), turnFailed('broken_off'));
    expect({ failed: totals.failedTurns, asked }).toEqual({ failed: 0, asked: { turn: 2, said: 0 } });
  });

  it('with its process is the same request from where it was, however often', () => {
    const cut = [TURN, said('Hm.'), turnFailed('interrupted')];
    expect(folded(STARTED, ...cut, ...cut)).toMatchObject({
      asked: { turn: 1, said: 6 },
      totals: { failedTurns: 0 },
    });
  });
});

describe('what a model used outside of its turns', () => {
  const used = (name: string, data: unknown): EventBody => ({ type: 'custom', name, data: data as never });

  it('counts like a turn; a figure that is none counts for nothing', () => {
    const { totals } = folded(
      STARTED,
      used('llm.usage', { input: 3, output: 2, cost_usd: 0.25 }),
      used('llm.usage', { input: '3' }),
      used('llm.usage', null),
      used('other', { input: 3, output: 2, cost_usd: 0.25 }),
    );
    expect(totals).toMatchObject({ input: 3, output: 2, cost_usd: 0.25, turns: 0 });
  });

  it('for a summary counts, too', () => {
    const compacted: EventBody = { type: 'prompt.compacted', through: 1, summary: 'S.' };
    const usage = { input: 3, output: 2 };
    const log = createFolding();
    log.fold(STARTED, TURN, { ...compacted, usage, cost_usd: 0.25 } as EventBody);
    expect(log.state.totals).toMatchObject({ input: 3, output: 2, cost_usd: 0.25 });
    expect(log.fold({ ...compacted, usage } as EventBody).totals).toMatchObject({
      input: 6,
      output: 4,
      cost_usd: 0.25,
    });
  });
});

describe('the faults that a model is told of', () => {
  it('are fifty at the most, and the first of each kind beyond that', () => {
    const many = Array.from({ length: 60 }, () => fault('bad_json'));
    const { news } = folded(STARTED, TURN, ...many, fault('not_run'), fault('not_run'));
    expect(news.faults.filter(({ code }) => code === 'bad_json')).toHaveLength(50);
    expect(news.faults.filter(({ code }) => code === 'not_run')).toHaveLength(1);
  });
});

describe('a compaction', () => {
  it('stands for the turns up to its own, and those alone', () => {
    const { turns, compaction } = folded(STARTED, ...BARE, ...BARE, ...BARE, {
      type: 'prompt.compacted',
      through: 2,
      summary: 'S.',
    });
    expect(turns.map(({ turn }) => turn)).toEqual([3]);
    expect(compaction).toEqual({ through: 2, summary: 'S.' });
  });

  it('shows the task in hand again where the block that gave it is among what it stands for', () => {
    const given: EventBody = { type: 'task.given', task: 't', prompt: 'Do it.' };
    const compacted: EventBody = { type: 'prompt.compacted', through: 1, summary: 'S.' };
    const task = { task: 't', prompt: 'Do it.' };
    expect(folded(STARTED, given, ...BARE, ...BARE, compacted).compaction?.task).toEqual(task);
    expect(folded(STARTED, ...BARE, given, ...BARE, compacted).compaction?.task).toBeUndefined();
  });
});

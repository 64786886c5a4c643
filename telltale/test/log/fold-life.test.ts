import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/log/event.ts';
import {
  createFolding,
  declared,
  failure,
  folded,
  STARTED,
  said,
  TURN,
  TURN_ENDED,
  turnFailed,
} from './fold-bodies.ts';

const MESSAGE: EventBody = { type: 'message.received', from: 'user', text: 'And now?' };
const WAITS: EventBody = { type: 'session.waiting', for: 'message' };
const RESUMED: EventBody = { type: 'session.resumed', by: 'cli' };
const COMPLETED: EventBody = { type: 'session.completed', result: 'Done.' };
const STALLED: EventBody = { type: 'session.stalled', error: failure('stalled') };
const FINAL: EventBody = { type: 'response', text: 'Done.', final: true };
const PARENT = { session: 'ses_above', action: 'a', agents: ['boss'] };

describe('a session that begins', () => {
  it('is all that its first event says of it', () => {
    const given = {
      seal: 's',
      parent: PARENT,
      max_turns: 3,
      chat: true,
      led: true,
      user: 'ann',
      balance: 9,
      metadata: { status: 'IDLE' },
      vars: { v: 1, w: 2 },
      classes: { w: 'defined' },
    } as const;
    expect(folded({ ...STARTED, ...given } as EventBody)).toMatchObject({
      id: 'ses_test',
      agent: 'coder',
      manifest: { path: 'agent.yml', hash: 'h' },
      model: 'scripted:x',
      seal: 's',
      parent: PARENT,
      maxTurns: 3,
      chat: true,
      led: true,
      user: 'ann',
      balance: 9,
      input: 'Go.',
      startedAt: 1_000,
      metadata: { status: 'IDLE' },
      variables: new Map([
        ['v', { value: 1, class: 'runtime', by: 'start' }],
        ['w', { value: 2, class: 'defined', by: 'start' }],
      ]),
    });
  });

  it('has no class of a variable from what every object has', () => {
    const { variables } = folded({ ...STARTED, vars: { constructor: 1 }, classes: {} } as EventBody);
    expect(variables.get('constructor')?.class).toBe('runtime');
  });

  it.each([
    ['of its own', {}, 'user'],
    ['of a sub-agent', { parent: PARENT }, 'parent'],
    ['that a run leads', { parent: PARENT, led: true }, 'user'],
  ])('%s has its input from who gave it', (_what, given, from) => {
    const { news } = folded({ ...STARTED, ...given } as EventBody);
    expect(news.messages).toEqual([{ from, text: 'Go.' }]);
  });
});

describe('the time in which nobody worked on a session', () => {
  const hours = (...before: readonly EventBody[]) => {
    const log = createFolding();
    log.fold(...before);
    return log.later(3_600_000);
  };

  it.each([
    ['up to its resumption', [STARTED, TURN], RESUMED, 3_601_000],
    [
      'in which it waited for a person',
      [STARTED, { type: 'session.waiting', for: 'review r' }],
      TURN,
      3_601_000,
    ],
    ['in which a chat waited for a message', [STARTED, WAITS], MESSAGE, 3_601_000],
    ['in which its actions ran', [STARTED, TURN, declared('a')], TURN_ENDED, 0],
  ] as [string, EventBody[], EventBody, number][])('is what passed %s', (_what, before, event, downMs) => {
    expect(hours(...before).fold(event).downMs).toBe(downMs);
  });

  it('is what passed before an answer that nobody was there to take', () => {
    const answer = { type: 'review.resolved', review: 'r', answer: 'approved', by: 'ann' } as const;
    expect(hours(STARTED, TURN).fold({ ...answer, away: true }).downMs).toBe(3_601_000);
    expect(hours(STARTED, TURN).fold(answer).downMs).toBe(0);
  });

  it('does not run backwards with the clock of another machine', () => {
    const log = createFolding();
    log.fold(STARTED);
    expect(log.later(-60_000).fold(RESUMED).downMs).toBe(0);
  });

  it('ends with the message that a chat waited for', () => {
    const log = createFolding();
    log.fold({ ...STARTED, chat: true } as EventBody, WAITS, MESSAGE);
    const { downMs } = log.state;
    expect(log.later(60_000).fold(TURN).downMs).toBe(downMs);
  });
});

describe('a session that ended', () => {
  it.each([
    ['completed', COMPLETED, { result: 'Done.', idle: false }],
    ['failed', { type: 'session.failed', error: failure('x') }, { error: failure('x') }],
    ['stalled', STALLED, { error: failure('stalled') }],
    ['cancelled', { type: 'session.cancelled', reason: 'Enough.', by: 'cli' }, {}],
  ] as [string, EventBody, object][])('is %s, and nothing is left that would end it', (status, end, more) => {
    const state = folded(
      STARTED,
      TURN,
      declared('a', { on_error: 'fail' }),
      { type: 'action.failed', id: 'a', error: failure('x'), ms: 1, attempts: 1 },
      WAITS,
      end,
    );
    expect(state).toMatchObject({ status, ...more });
    expect(state.failing).toBeUndefined();
  });

  it('and is resumed runs without its error, and has its tries again', () => {
    const log = createFolding();
    log.fold(STARTED, TURN, turnFailed('overloaded'), { type: 'session.failed', error: failure('x') });
    expect(log.state.totals.failedTurns).toBe(1);
    const state = log.fold(RESUMED);
    expect(state).toMatchObject({ status: 'running', totals: { failedTurns: 0 } });
    expect(state.error).toBeUndefined();
    expect(state.maxTurns).toBeUndefined();
    expect(log.fold({ ...RESUMED, max_turns: 7 } as EventBody).maxTurns).toBe(7);
  });

  it('by stalling does not stall again at once when it is resumed', () => {
    const idle = [STARTED, TURN, said('Hm.'), TURN_ENDED, TURN, said('Hm.'), TURN_ENDED];
    expect(folded(...idle, STALLED, RESUMED).idleTurns).toBe(0);
    expect(folded(...idle, RESUMED).idleTurns).toBe(2);
  });

  it('well and is resumed as a chat waits for what comes next, with its turns counted anew', () => {
    const ended = [STARTED, TURN, FINAL, TURN_ENDED, COMPLETED];
    const state = folded(...ended, { ...RESUMED, chat: true } as EventBody);
    expect(state).toMatchObject({ chat: true, idle: true, status: 'running', turnsBefore: 1 });
    expect(state.result).toBeUndefined();
    expect(folded(...ended, RESUMED)).toMatchObject({ idle: false, turnsBefore: 0, result: 'Done.' });
    expect(folded(...ended, RESUMED).chat).toBeUndefined();
  });

  it('otherwise and is resumed as a chat goes on with what it was at', () => {
    const state = folded(STARTED, TURN, TURN_ENDED, STALLED, { ...RESUMED, chat: true } as EventBody);
    expect(state).toMatchObject({ chat: true, idle: false, turnsBefore: 0 });
  });
});

describe('a session that waits', () => {
  it('for a message counts the turns of the next exchange from there', () => {
    const state = folded(STARTED, TURN, TURN_ENDED, WAITS);
    expect(state).toMatchObject({ status: 'waiting', idle: true, turnsBefore: 1 });
  });

  it('for a person is in the middle of an exchange', () => {
    const state = folded(STARTED, TURN, TURN_ENDED, { type: 'session.waiting', for: 'review r' });
    expect(state).toMatchObject({ status: 'waiting', idle: false, turnsBefore: 0 });
  });

  it('runs again with a message, which one that has ended does not', () => {
    expect(folded(STARTED, WAITS, MESSAGE)).toMatchObject({ status: 'running', idle: false });
    expect(folded(STARTED, STALLED, MESSAGE).status).toBe('stalled');
  });

  it('runs again with a decision, which one that has ended does not', () => {
    const answer = { type: 'review.resolved', review: 'r', answer: 'approved', by: 'ann' } as const;
    const waits = { type: 'session.waiting', for: 'review r' } as const;
    expect(folded(STARTED, waits, answer).status).toBe('running');
    expect(folded(STARTED, STALLED, answer).status).toBe('stalled');
  });
});

import { describe, expect, it } from 'vitest';
import type { ObservedEvent } from '../../src/log/event.ts';
import { expectEvents } from '../../src/testing/expect-events.ts';

const at = (seq: number, body: object) =>
  ({ seq, at: 0, session: 's', turn: 1, cause: { stream: 's', seq: 0, depth: 0 }, ...body }) as ObservedEvent;

const EVENTS = [
  at(1, { type: 'session.started', agent: 'a', input: 'Go.' }),
  at(2, { type: 'action.started', id: 'x', attempt: 1, input: { list: [1, 2], deep: { a: 1, b: 2 } } }),
  at(3, { type: 'action.completed', id: 'x', output: 'done', ms: 1, attempts: 1 }),
  at(4, { type: 'session.completed', result: 'ok' }),
];
const claims = expectEvents(EVENTS);
const failure = (claim: () => unknown): string => {
  try {
    claim();
  } catch (error) {
    expect(error).toMatchObject({ code: 'events_differ' });
    return (error as Error).message;
  }
  return 'it held';
};

describe('inOrder', () => {
  it('lets other events stand between', () => {
    claims
      .inOrder('session.started', 'session.completed')
      .inOrder({ type: 'action.started', id: 'x' }, (event) => event.type === 'session.completed')
      .inOrder();
  });

  it('compares the members that are named, maps by parts, lists as a whole', () => {
    const started = (input: object) => ({ type: 'action.started', input }) as { type: 'action.started' };
    claims.inOrder(started({ deep: { a: 1 } })).inOrder(started({ list: [1, 2] }));
    expect(failure(() => claims.inOrder(started({ list: [1] })))).not.toBe('it held');
    expect(failure(() => claims.inOrder(started({ deep: { a: 2 } })))).not.toBe('it held');
  });

  it('says what is missing behind what, and shows the events', () => {
    expect(failure(() => claims.inOrder('action.completed', { type: 'action.started', id: 'x' }))).toBe(
      [
        'There is no action.started {"id":"x"} behind action.completed. It comes earlier.',
        '     1 session.started {"agent":"a","input":"Go."}',
        '     2 action.started {"id":"x","attempt":1,"input":{"list":[1,2],"deep":{"a":1,"b":2}}}',
        '✓    3 action.completed {"id":"x","output":"done","ms":1,"attempts":1}',
        '     4 session.completed {"result":"ok"}',
      ].join('\n'),
    );
  });

  it('does not count one event twice', () => {
    expect(failure(() => claims.inOrder('action.started', 'action.started'))).toContain(
      'behind action.started',
    );
  });
});

describe('exactly', () => {
  it('wants every event, and no other', () => {
    claims.exactly('session.started', 'action.started', 'action.completed', 'session.completed');
    claims.of('action.started', { type: 'action.completed' }).exactly('action.started', 'action.completed');
    expectEvents([]).exactly();
  });

  it.each<readonly [string, () => unknown, string]>([
    ['another', () => claims.exactly('session.started', 'action.completed'), 'Event 2 is another'],
    ['one too many', () => claims.of('session.started').exactly(), '0 events were expected; there are 1.'],
    ['one too few', () => expectEvents([]).exactly('text'), 'There is no event 1; expected: text.'],
  ])('says that there is %s', (_, claim, message) => {
    expect(failure(claim)).toContain(message);
  });
});

describe('never and times', () => {
  it('hold or show what fits', () => {
    claims
      .never('action.failed', { type: 'action.started', id: 'y' })
      .times(1, 'action.started')
      .times(0, 'text');
    expect(failure(() => claims.never('action.started'))).toMatch(
      /must not be: action\.started\.\n[\s\S]*✓ {4}2 /,
    );
    expect(failure(() => claims.times(2, 'action.started'))).toContain(
      '1 events fit, not 2: action.started.',
    );
  });
});

it('a long log is shown round the place that matters', () => {
  const many = Array.from({ length: 500 }, (_, index) => at(index + 1, { type: 'text', text: 't' }));
  const message = failure(() => expectEvents([...many, ...EVENTS]).inOrder('session.started', 'text'));
  expect(message.split('\n').length).toBeLessThan(50);
  expect(message).toContain('✓    1 session.started');
  expect(message).toContain('more');
});

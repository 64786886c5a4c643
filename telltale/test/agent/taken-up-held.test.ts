import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/log/event.ts';
import { call, endSlow, FINAL, type Is, isSaid, lived, seen } from './taken-up-stage.ts';

/** What came first: the end of an action, a response that is not final, or the next turn. */
const order = (events: readonly SessionEvent[], action: string) =>
  events.flatMap((event) => {
    if (event.type === 'turn.started') return ['turn'];
    if (event.type === 'action.completed') return event.id === action ? [action] : [];
    return event.type === 'response' && !event.final ? [`response of ${event.turn}`] : [];
  });
const begun =
  (id: string): Is =>
  (event) =>
    event.type === 'action.started' && event.id === id;

describe('a turn that was cut short is followed by the next', () => {
  it.each([
    ['a sync action', `${call('a', 'slow', 'sync')}More.`, begun('a')],
    ['a <parallel>', `<parallel id="p">${call('a', 'slow')}</parallel>More.`, isSaid('</parallel>')],
  ])('once what held it up has ended: %s', async (_what, turn, where) => {
    const { behind, slow } = await lived([turn, FINAL], {
      isHeld: true,
      during: (_session, held) => endSlow(held),
    });
    const { since } = await behind(where, ['', FINAL], () => endSlow(slow));
    expect(order(since, 'a').slice(0, 2)).toEqual(['a', 'turn']);
  });

  it('once what held it up has ended: a <foreach> in a <parallel> that waits for its list', async () => {
    const loop = `<foreach in="$l" as="x">${call('e', 'echo')}</foreach>`;
    const turn = `${call('l', 'slow')}<parallel id="p">${loop}</parallel>More.`;
    const { behind, slow } = await lived([turn, FINAL], {
      isHeld: true,
      during: (_session, held) => endSlow(held),
    });
    slow.gives = [1];
    const { since } = await behind(isSaid('</parallel>'), ['', FINAL], () => endSlow(slow));
    expect(order(since, 'e[0]').slice(0, 2)).toEqual(['e[0]', 'turn']);
  });

  it.each([
    ['an async action', `${call('a', 'slow')}More.`, 'a'],
    ['an action of a <parallel> that is open', `<parallel>${call('a', 'slow')}`, 'a'],
    [
      'a round of a <foreach>',
      `<foreach in="$list" as="x">${call('e', 'slow', 'sync')}</foreach>More.`,
      'e[0]',
    ],
  ])('without a wait for what held nothing up: %s', async (_what, turn, id) => {
    const runtime = [{ name: 'list', type: 'array' as const, default: [1] }];
    const { behind, slow } = await lived([turn, FINAL], { agent: { context_variables: { runtime } } });
    slow.isHeld = true;
    const { since } = await behind(begun(id), ['', FINAL], async (session) => {
      await seen(session, 'turn.started');
      await endSlow(slow);
    });
    expect(order(since, id).slice(0, 2)).toEqual(['turn', id]);
  });

  it('once all that it has said is out, as of its own turn', async () => {
    const turn = `${call('a', 'slow')}<response final="false">It is $a.</response>More.`;
    const { behind, slow } = await lived([turn, FINAL], {
      isHeld: true,
      during: (_session, held) => endSlow(held),
    });
    const { since } = await behind(isSaid('It is'), ['', FINAL], () => endSlow(slow));
    expect(order(since, 'a').slice(0, 3)).toEqual(['a', 'response of 1', 'turn']);
  });
});

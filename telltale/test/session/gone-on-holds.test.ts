import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/session/define/define-tool.ts';
import { endsOf as ends, type Is, isSaid, lived, responsesOf as responses, seen } from './taken-up-stage.ts';

const moment = () => new Promise((resolve) => setImmediate(resolve));
const agent = {
  tools: [
    defineTool({ name: 'echo', idempotent: true, run: () => moment().then(() => 'said') }),
    defineTool({ name: 'list', idempotent: true, run: () => [1] }),
  ],
};
const act = (id: string, more: object = {}, mode = 'async') =>
  `<action id="${id}" mode="${mode}">${JSON.stringify({ name: 'echo', ...more })}</action>`;
const REST = ['<response>Done.</response>', '<response>Done.</response>', '<response>Done.</response>'];
const z = act('z');

const declares =
  (id: string): Is =>
  (event) =>
    event.type === 'action.declared' && event.action.id === id;

describe('what holds a stream up, and waits for what only that could bring, holds up no session that is taken up', () => {
  it.each([
    ['a sync action', `${act('b', { depends_on: ['z'] }, 'sync')}${z}`, declares('b')],
    [
      'a <parallel>',
      `<parallel id="g">${act('b', { depends_on: ['z'] })}</parallel>${z}`,
      isSaid('</parallel>'),
    ],
    [
      'a <foreach> in a <parallel>',
      `<parallel><foreach in="$z" as="x">${act('e')}</foreach></parallel>${z}`,
      isSaid('</parallel>'),
    ],
    [
      'a round of a <foreach> in a <parallel>',
      `${act('l', { name: 'list' })}<parallel><foreach in="$l" as="x">${act('e', { depends_on: ['z'] })}</foreach></parallel>${z}`,
      isSaid('</parallel>'),
    ],
  ])('%s', async (_what, turn, where) => {
    const { events, behind } = await lived([turn, ...REST], { agent });
    expect(Object.values(ends(events))).toContain('deadlock');
    const { all, result } = await behind(where, [turn, ...REST]);
    expect([result.status, ends(all)]).toEqual(['completed', ends(events)]);
  });
});

it('a round of a <foreach> waits on for an id that the model had not come to', async () => {
  const turn = `${act('l', { name: 'list' })}<foreach in="$l" as="x">${act('e', { depends_on: ['z'] })}</foreach>${z}`;
  const { events, behind } = await lived([turn, ...REST], { agent });
  expect(ends(events)).toMatchObject({ 'e[0]': 'completed' });
  const { all } = await behind(declares('foreach_1'), [turn, ...REST]);
  expect(ends(all)).toEqual(ends(events));
});

describe('a round of a <foreach> that waits for another, of which the process died before it was made', () => {
  const rounds = (list: string) =>
    `<foreach in="$${list}" as="x">${act('e', { depends_on: ['f'] })}${act('f')}</foreach>`;
  const completed = { 'e[0]': 'completed', 'f[0]': 'completed' };

  it('is no deadlock where its <parallel> holds the stream up', async () => {
    const turn = `${act('l', { name: 'list' })}<parallel>${rounds('l')}</parallel>`;
    const { behind } = await lived([turn, ...REST], { agent });
    const { all } = await behind(declares('e[0]'), [turn, ...REST]);
    expect(ends(all)).toMatchObject(completed);
    expect(all.filter(({ type }) => type === 'fault')).toEqual([]);
  });

  it('is not given up where its turn is over', async () => {
    const turn = `${act('l', { name: 'slow' })}${rounds('l')}`;
    const { behind, slow } = await lived([turn, ...REST], {
      isHeld: true,
      async during(session, held) {
        held.gives = [1];
        await seen(session, 'turn.completed');
        held.end();
      },
    });
    slow.isHeld = false;
    const { all } = await behind(declares('e[0]'), REST);
    expect(ends(all)).toMatchObject(completed);
  });
});

describe('a response that waits for what the model had not come to', () => {
  it.each([
    ['an id', act('b', { depends_on: ['z'] }), `${act('y')}${z}`],
    [
      'all of a <parallel>',
      `${act('b', { depends_on: ['g'] })}<parallel id="g">${act('y')}<if test="true">`,
      `</if>${z}</parallel>`,
    ],
  ])('goes out without it, so that the model can go on: %s', async (_what, before, behindIt) => {
    const turn = `${before}<response final="false">It is $b, and $y.</response>${behindIt}`;
    const { events, behind } = await lived([turn, ...REST], { agent });
    expect(ends(events)).toMatchObject({ b: 'completed', z: 'completed' });
    const { all, result } = await behind(isSaid('$y.</response>'), [turn, ...REST]);
    expect([result.status, ends(all)]).toEqual(['completed', ends(events)]);
    expect(responses(all)[0]).toContain('[unavailable: b: it waits for what had not been asked for');
  });
});

describe('a <parallel> that was opened before one restart, and closed before another', () => {
  const turn = `<parallel>${act('a')}</parallel>${z}`;

  it('ends before the model goes on', async () => {
    const { behind } = await lived([turn, ...REST], { agent });
    const once = await behind(declares('a'), [turn, ...REST]);
    const { all } = await behind(isSaid('</parallel>'), [turn, ...REST], undefined, once.id);
    const at = (type: string, id: string) =>
      all.findIndex((event) => event.type === type && (event as { id?: string }).id === id);
    expect(at('action.completed', 'a')).toBeGreaterThan(0);
    expect(at('action.completed', 'a')).toBeLessThan(at('action.started', 'z'));
  });

  it('but one that the model left without an end tag holds nothing up', async () => {
    const begun = `<parallel id="g">${act('a')}`;
    const { behind } = await lived([`${begun}</parallel>`, ...REST], { agent });
    const left = '\n<response final="false">So far.</response>';
    const anew = `${begun}${act('m', { depends_on: ['z'] })}${left}${act('d', { depends_on: ['g'] })}${z}`;
    const once = await behind(declares('a'), [anew, ...REST]);
    expect(ends(once.all)).toMatchObject({ m: 'completed', d: 'completed' });
    const twice = await behind(declares('d'), [anew, ...REST], undefined, once.id);
    expect(ends(twice.all)).toMatchObject({ m: 'completed', d: 'completed' });
  });
});

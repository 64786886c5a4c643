import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/events/event.ts';
import { defineTool } from '../../src/session/define/define-tool.ts';
import { call, FINAL, lived } from './taken-up-stage.ts';

const needs = '<action id="a">{"name":"echo","depends_on":["z"]}</action>';
const loop = `<foreach in="$l" as="x">${call('e', 'echo')}</foreach>`;
const list = call('l', 'list');
const agent = {
  tools: [
    defineTool({ name: 'echo', idempotent: true, run: () => 'said' }),
    defineTool({ name: 'slow', idempotent: true, run: () => 'at last' }),
    defineTool({ name: 'list', idempotent: true, run: () => [1] }),
  ],
};

const skips = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.skipped' ? [[event.id, event.reason]] : []));
const completed = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.completed' ? [event.id] : [])).sort();
const faults = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));
const declares =
  (name: string) =>
  (event: SessionEvent): boolean =>
    event.type === 'action.declared' && (event.action.id === name || event.action.name === name);

describe('what waits for something that the model had not come to when its turn was cut short', () => {
  it.each([
    ['an id', `${needs}${call('z', 'slow')}`, 'a', ['a', 'z']],
    ['the list of a <foreach>', `${loop}${list}`, 'foreach', ['e[0]', 'foreach_1', 'l']],
    ['an id, in a <parallel>', `<parallel id="g">${needs}${call('z', 'slow')}</parallel>`, 'a', ['a', 'z']],
  ])('waits on for it: %s', async (_what, turn, waits, ids) => {
    const { behind } = await lived([turn, FINAL], { agent });
    const { all } = await behind(declares(waits), [turn, FINAL]);
    expect([skips(all), faults(all), completed(all)]).toEqual([[], [], ids]);
  });

  it('is skipped once the turn that goes on has ended without it', async () => {
    const { behind } = await lived([`${needs}${call('z', 'slow')}`, FINAL], { agent });
    const { all } = await behind(declares('a'), [`${needs}${call('y', 'echo')}`, FINAL, FINAL]);
    expect([skips(all), completed(all)]).toEqual([[['a', 'unknown_dependency']], ['y']]);
  });

  it('waits on over several restarts', async () => {
    const turns = [`${needs}${call('y', 'echo')}${call('z', 'slow')}`, FINAL];
    const { behind } = await lived(turns, { agent });
    const once = await behind(declares('a'), turns);
    for (const { seq } of once.since.filter(({ type }) => type !== 'model.output').slice(0, -1)) {
      const { all } = await behind((event) => event.seq === seq, turns, undefined, once.id);
      expect([seq, skips(all), completed(all)]).toEqual([seq, [], ['a', 'y', 'z']]);
    }
  });
});

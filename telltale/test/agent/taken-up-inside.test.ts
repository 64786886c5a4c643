import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/log/event.ts';
import { call, FINAL, lived, of } from './taken-up-stage.ts';

const act = (...ids: readonly string[]) => ids.map((id) => call(id, 'slow')).join('');
const declared = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.declared' ? [event.action.id] : []));
const faults = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));
/** A thought that was cut short is closed by that, and not by what follows. */
const kinds = (events: readonly SessionEvent[]) =>
  faults(events).filter((code) => code !== 'not_run' && code !== 'thought_left_open');
const notRun = (events: readonly SessionEvent[]) =>
  events.flatMap((event) =>
    event.type === 'fault' && event.code === 'not_run' ? [/"(.*?)"/.exec(event.message)?.[1]] : [],
  );
const isDeclared = (id: string) => (event: SessionEvent) =>
  event.type === 'action.declared' && event.action.id === id;

const REST = `${act('z')}<response>All done.</response>`;
const TURNS: readonly (readonly [string, string, readonly string[]])[] = [
  ['the first branch', `<if test="true">${act('a', 'b')}So. <else/>${act('x')}</if>`, ['a', 'b']],
  ['the other branch', `<if test="false">${act('x')}<else/>${act('a', 'b')}</if>`, ['a', 'b']],
  [
    'branches in branches',
    `<if test="true">${act('a')}<if test="false">${act('x')}<else/>${act('b')}<if test="true">${act('c')}</if>${act('d')}</if>${act('e')}<else/>${act('x')}<if test="true">${act('y')}</if></if>`,
    ['a', 'b', 'c', 'd', 'e'],
  ],
  [
    'one behind another',
    `<if test="true">${act('a')}</if><if test="true">${act('b')}<else/>${act('x')}</if>`,
    ['a', 'b'],
  ],
  ['a thought that an <else/> closes', `<if test="true"><thought>Hm, so <else/>${act('x')}</if>`, []],
  [
    'the last of many',
    `${'t <if test="true"></if>'.repeat(127)}t <if test="false">${act('x')}<else/>${act('y')}</if>`,
    ['y'],
  ],
];

describe('a turn that was cut short inside an <if>', () => {
  it.each(TURNS)('goes on as if it had not been, wherever that was: %s', async (_where, turn, ids) => {
    const turns = [`${turn}${REST}`];
    const { behind, events } = await lived(turns);
    expect(declared(events)).toEqual([...ids, 'z']);
    const told = kinds(events);
    const [begun] = of(events, 'turn.started');
    for (const { seq } of events.slice(events.indexOf(begun as SessionEvent), -1)) {
      const { all, result } = await behind((event) => event.seq === seq, [...turns, FINAL]);
      // One of which only the text is on the log is not begun, and the model is told.
      const lost = notRun(all);
      expect([seq, result.status, [...declared(all), ...lost].sort(), kinds(all)]).toEqual([
        seq,
        'completed',
        [...ids, 'z'],
        told,
      ]);
    }
  });

  it('is guarded as before where the model opens a branch again that does not hold', async () => {
    const begun = `<if test="true">${act('a')}<if test="false">${act('x')}`;
    const { behind } = await lived([begun, FINAL]);
    for (const cut of ['model.output', 'if.decided', 'fault']) {
      const is = (event: SessionEvent) => event.type === cut && event.turn === 1;
      const whole = await behind(is, [`${begun}${act('y')}<else/>${act('b')}</if>${act('c')}</if>${REST}`]);
      expect([cut, whole.result.result, declared(whole.all)]).toEqual([
        cut,
        'All done.',
        ['a', 'b', 'c', 'z'],
      ]);
      const { all } = await behind(is, [`${begun}${act('y')}`, FINAL]);
      expect([cut, declared(all)]).toEqual([cut, ['a']]);
    }
  });

  it('goes on so when it is cut short once more, in a branch that was open then or is now', async () => {
    const turns = [
      `<if test="true">${act('a', 'b')}<if test="true">${act('c', 'd')}</if><else/>${act('x')}</if>${REST}`,
    ];
    const { behind } = await lived(turns);
    const once = await behind(isDeclared('a'), turns);
    for (const id of ['b', 'c', 'd']) {
      const twice = await behind(isDeclared(id), turns, undefined, once.id);
      expect([twice.result.result, declared(twice.all), faults(twice.all)]).toEqual([
        'All done.',
        ['a', 'b', 'c', 'd', 'z'],
        [],
      ]);
    }
  });

  it('goes on in a thought, too', async () => {
    const turns = [`<thought>So <if test="true">${act('a', 'b')}<else/>${act('x')}</if></thought>${REST}`];
    const { behind } = await lived(turns);
    const { result, all } = await behind(isDeclared('a'), turns);
    expect([result.result, declared(all), faults(all)]).toEqual(['All done.', ['a', 'b', 'z'], []]);
  });

  it('whose other branch is begun and left open tells the model, and does nothing of it', async () => {
    const turn = `<if test="true">${act('a')}<else/>${act('x')}`;
    const { behind } = await lived([`${turn}</if>${REST}`]);
    const { result, all } = await behind(isDeclared('a'), [turn, FINAL]);
    expect([result.result, declared(all), faults(all)]).toEqual(['Done.', ['a'], ['truncated']]);
  });
});

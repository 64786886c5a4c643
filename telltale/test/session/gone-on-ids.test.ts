import { expect, it } from 'vitest';
import type { SessionEvent } from '../../src/events/event.ts';
import { defineTool } from '../../src/session/define/define-tool.ts';
import { isSaid, isType, lived } from './taken-up-stage.ts';

const agent = { tools: [defineTool({ name: 'now', idempotent: true, run: () => 'now' })] };
const NEXT = ['<response>Done.</response>', '<response>Done.</response>'];
const x = '<action id="x">{"name":"now"}</action>';
const any = '<action>{"name":"now"}</action>';
const unmade = (action: string) => action.replace('"name":"now"', '"template":"none"');

const told = (events: readonly SessionEvent[]) => ({
  declared: events.flatMap((event) => (event.type === 'action.declared' ? [event.action.id] : [])),
  faults: events.flatMap((event) => (event.type === 'fault' ? [event.code] : [])).sort(),
  said: events.flatMap((event) => (event.type === 'response' ? [event.text] : [])),
});

it.each([
  ['in a branch that does not hold', `<if test="false">${x}</if>Well. ${x}`, ['duplicate_id']],
  ['of an action that could not be made', `${unmade(x)}Well. ${x}`, ['bad_action', 'duplicate_id']],
  [
    'of a <parallel> that is empty',
    '<parallel id="x"></parallel>Well. <parallel id="x"></parallel>',
    ['duplicate_id'],
  ],
  ['in the other branch', `<if test="false">${x}<else/>Well. ${x}</if>`, []],
  ['of a branch of which the other one held', `<if test="true">${x}Well. <else/>${x}</if>Well. `, []],
  [
    'that nobody had given',
    `<if test="false">${any}</if>${unmade(any)}Well. ${any}\n<response final="false">$a3</response>`,
    ['bad_action'],
  ],
])('an id %s is in what goes on with a turn what it is in the turn itself', async (_where, turn, faults) => {
  const { events, behind } = await lived([turn, ...NEXT], { agent });
  const whole = told(events);
  expect(whole.faults).toEqual(faults);
  const end = events.findIndex(isType('turn.completed'));
  for (const { seq } of events.slice(events.findIndex(isType('turn.started')), end)) {
    const { all } = await behind((event) => event.seq === seq, [turn, ...NEXT]);
    if (all.some((event) => event.type === 'fault' && event.code === 'not_run')) continue; // its words were not acted on
    expect([seq, told(all)]).toEqual([seq, whole]);
  }
});

it('an id of which nothing came is free behind the turn that went on', async () => {
  const turn = `<if test="false">${x}</if>Well. `;
  const { behind } = await lived([turn, ...NEXT], { agent });
  const { all } = await behind(isType('if.decided'), [turn, `${x}<response>Done.</response>`]);
  expect(told(all)).toMatchObject({ declared: ['x'], faults: [] });
});

it('what was never begun may be asked for again under its id', async () => {
  const { behind } = await lived([`Well. ${x}`, ...NEXT], { agent });
  const { all } = await behind(isSaid(x), [`Well. ${x}${x}`, ...NEXT]);
  expect(told(all)).toMatchObject({ declared: ['x'], faults: ['not_run'] });
});

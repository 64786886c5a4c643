import { describe, expect, it } from 'vitest';
import { closeFrame, openFrame } from '../../src/lib/calls.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import { step } from './speak.ts';
import { act, anew, declared, faultsIn, stoppedBehind, wordForWord } from './stopped-stage.ts';

const DONE = '<response>All done.</response>';
const LIST = { context_variables: { runtime: [{ name: 'list', type: 'array' as const, default: [1, 2] }] } };
const needs = (id: string, on: string) => `<action id="${id}">{"name":"run","depends_on":["${on}"]}</action>`;
const skipped = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'action.skipped' ? [[event.id, event.because]] : []));
const broken = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'turn.failed' ? [event] : []));

describe('a turn that broke off inside of a <parallel>', () => {
  it('leaves what the next turn says outside of it', async () => {
    const { goOn } = await stoppedBehind(`<parallel id="g">${act('a')}`);
    const { all, result } = await goOn(anew(`${act('b')}${DONE}`));
    expect(result.result).toBe('All done.');
    const groups = all.flatMap((event) =>
      event.type === 'action.declared' ? [[event.action.id, event.action.group]] : [],
    );
    expect(groups).toEqual([
      ['a', 'g'],
      ['b', undefined],
    ]);
  });

  it('skips what depends on all of it, wherever that stands', async () => {
    const { goOn } = await stoppedBehind(`${needs('before', 'g')}<parallel id="g">${act('a')}`);
    const { all } = await goOn(anew(`${act('b')}</parallel>${needs('behind', 'g')}`, DONE));
    expect(skipped(all)).toEqual([
      ['before', 'g'],
      ['behind', 'g'],
    ]);
    expect(broken(all)[0]).toMatchObject({ groups: ['g'] });
  });

  it('leaves a <parallel> whole that was closed before', async () => {
    const { goOn } = await stoppedBehind(`<parallel id="g">${act('a')}</parallel>${needs('d', 'g')}Well,`);
    const { all, result } = await goOn(anew(DONE));
    expect([result.status, skipped(all)]).toEqual(['completed', []]);
    expect(broken(all)[0]).not.toHaveProperty('groups');
  });

  it('skips what depends on it as long as its end tag was not whole', async () => {
    const end = '</parallel>';
    const begun = `<parallel id="g">${act('a')}`;
    for (let cut = 0; cut <= end.length; cut++) {
      const { goOn } = await stoppedBehind(begun + end.slice(0, cut));
      const { all } = await goOn(wordForWord(`${begun}${end}${needs('d', 'g')}${DONE}`, DONE));
      expect([cut, skipped(all)]).toEqual([cut, cut === end.length ? [] : [['d', 'g']]]);
    }
  });

  it('lets the model open one again under another id', async () => {
    const { goOn } = await stoppedBehind(`<parallel id="g">${act('a')}`);
    const { all, result } = await goOn(
      anew(`<parallel id="h">${act('b')}</parallel>${needs('d', 'h')}${DONE}`),
    );
    expect([result.status, skipped(all), declared(all)]).toEqual(['completed', [], ['a', 'b', 'd']]);
  });

  it('frees its id if it broke off before its first action, and not afterwards', async () => {
    const again = `<parallel id="g">${act('b')}</parallel>${needs('d', 'g')}${DONE}`;
    const empty = await (await stoppedBehind('<parallel id="g">')).goOn(anew(again));
    expect([declared(empty.all), skipped(empty.all)]).toEqual([['b', 'd'], []]);
    const begun = await (await stoppedBehind(`<parallel id="g">${act('a')}`)).goOn(anew(again, DONE));
    expect(skipped(begun.all)).toEqual([['d', 'g']]);
  });
});

describe('a turn that broke off inside of an <if> or a <foreach>', () => {
  it.each([
    ['<if test="true">', '</if>'],
    ['<if test="false">', '<else/>'],
    ['<foreach in="$list" as="x">', '</foreach>'],
  ])(
    'does nothing of what stood there and was not acted on, and tells the model so: %s',
    async (open, end) => {
      const { goOn } = await stoppedBehind(
        `${act('a')}${open}<thought>Now </thought><action id="b">{"na`,
        LIST,
      );
      const { all, prompts } = await goOn(anew(`me":"run"}</action>${end}`, DONE));
      expect(declared(all)).toEqual(['a']);
      expect(prompts[0]).toMatch(/<if>, <foreach> or <parallel> that you had not closed, .* was not done\./);
      expect(prompts[0]).toContain('repeat none of them');
    },
  );
});

it('a step that broke off is not gone on with in its midst, and the model is told to say the rest in a new one', async () => {
  const begun = `${openFrame('c1', 'step')}{"tool_calls":[{"name":"run","id":"a"}`;
  const { goOn } = await stoppedBehind(begun, { dialect: 'step' });
  const { all, result, prompts } = await goOn(
    anew(`,{"name":"run","id":"b"}]}${closeFrame()}`, step({ is_complete: true, notes: 'All done.' })),
  );
  expect([declared(all), result.status]).toEqual([['a'], 'completed']);
  expect(prompts[0]).toContain('was not read: say it in a new step');
});

describe('a script that goes on with a turn that broke off', () => {
  it.each([
    ['in a branch that does not hold', '<if test="false">', `${act('x')}</if>`, ['a']],
    ['in the other branch', `<if test="true">${act('b')}<else/>`, `${act('x')}</if>`, ['a', 'b']],
    ['in a <foreach>', `<foreach in="$list" as="i">${act('b')}`, '</foreach>', ['a', 'b[0]', 'b[1]']],
    ['in a <parallel>', `<parallel id="g">${act('b')}`, `${act('c')}</parallel>`, ['a', 'b', 'c']],
    ['in a <parallel> without actions', '<parallel id="g">', `${act('c')}</parallel>`, ['a', 'c']],
    ['in a thought', `<thought>I ${act('b')}`, `${act('c')}</thought>`, ['a', 'b', 'c']],
    ['in a response', '<response final="false">To ', `delete it: ${act('x')}</response>`, ['a']],
    ['in a fence', '```\nan ', `${act('x')}\n\`\`\`\n`, ['a']],
  ])('opens again what it stood in, and does nothing twice: %s', async (_where, begun, rest, ids) => {
    const said = `${act('a')}${begun}`;
    const whole = `${said}${rest}${act('z')}${DONE}`;
    for (let cut = act('a').length + 1; cut < said.length + rest.length; cut++) {
      const { goOn } = await stoppedBehind(whole.slice(0, cut), LIST);
      const { all, result } = await goOn(wordForWord(whole));
      const acted = declared(all).filter((id) => !id.startsWith('foreach_'));
      expect([cut, result.result, acted]).toEqual([cut, 'All done.', [...ids, 'z']]);
      expect([cut, faultsIn(all).filter((code) => code !== 'not_in_response')]).toEqual([cut, []]);
    }
  });
});

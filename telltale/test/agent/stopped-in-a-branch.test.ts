import { describe, expect, it } from 'vitest';
import { action } from '../recovery/say.ts';
import { createStage, seen } from '../recovery/stage.ts';
import { act, anew, declared, faultsIn, stoppedBehind, wordForWord } from './stopped-stage.ts';

const REST = `${act('z')}<response>All done.</response>`;

/** Where it stops, what of that stands, and what word for word follows. */
const STOPS: readonly (readonly [string, string, string, string, readonly string[]])[] = [
  [
    'the first branch',
    `${act('a')}So: `,
    `<if test="false">${act('x')}and `,
    `${act('y')}<else/>${act('b')}</if>`,
    ['a', 'b'],
  ],
  [
    'the other branch',
    `${act('a')}<if test="true">${act('b')}`,
    `<else/>${act('x')}and `,
    `${act('y')}</if>`,
    ['a', 'b'],
  ],
  [
    'a branch in a branch that holds',
    `<if test="true">${act('a')}`,
    `<if test="1 < 0"><if test="true">${act('x')}`,
    `</if>${act('y')}<else/>${act('b')}</if></if>`,
    ['a', 'b'],
  ],
  [
    'a branch in one that does not',
    act('a'),
    `<if test="false"><if test="true">${act('x')}`,
    `</if>${act('y')}</if>`,
    ['a'],
  ],
];

describe('a turn that was stopped inside a branch that does not hold', () => {
  it.each(STOPS)('counts what the model then says outside: %s', async (_where, stands, passed) => {
    const { goOn } = await stoppedBehind(`${stands}${passed}`);
    const { result, all } = await goOn(anew(REST));
    const before = stands.match(/id="(.)"/g)?.map((id) => id.charAt(4)) ?? [];
    expect([result.result, declared(all), faultsIn(all)]).toEqual(['All done.', [...before, 'z'], []]);
  });

  it.each(STOPS)('lets it open the <if> again, as it is told to: %s', async (_where, stands, passed) => {
    const { goOn } = await stoppedBehind(`${stands}${passed}`);
    const again = `<if test="false">${act('v')}<else/>${act('w')}</if>`;
    const { result, all } = await goOn(anew(`${again}${REST}`));
    expect([result.result, declared(all).slice(-2), faultsIn(all)]).toEqual(['All done.', ['w', 'z'], []]);
  });

  it.each(STOPS)('is guarded as before where it goes on word for word: %s', async (...stop) => {
    const [, stands, passed, then, ids] = stop;
    const { goOn } = await stoppedBehind(`${stands}${passed}`);
    const { result, all } = await goOn(wordForWord(`${stands}${passed}${then}${REST}`));
    expect([result.result, declared(all), faultsIn(all)]).toEqual(['All done.', [...ids, 'z'], []]);
  });

  it.each(STOPS)(
    'shows the model all that it said, and says how much that is: %s',
    async (_, stands, passed) => {
      const { goOn } = await stoppedBehind(`${stands}${passed}`);
      const { messages, prompts } = await goOn(anew(REST));
      expect(messages[0]?.findLast(({ role }) => role === 'assistant')?.text).toBe(stands + passed);
      expect(prompts[0]).toContain(`broke off after ${stands.length + passed.length} characters`);
    },
  );

  it('whose test could not be decided says so, and counts what follows', async () => {
    const said = `${act('a')}<if test="nothing.like.it">${act('x')}<else/>`;
    const { goOn } = await stoppedBehind(said);
    const { result, all } = await goOn(anew(REST));
    expect([result.result, declared(all), faultsIn(all)]).toEqual(['All done.', ['a', 'z'], ['bad_test']]);
    const once = await stoppedBehind(said);
    const again = await once.goOn(wordForWord(`${said}${act('y')}</if>${act('z')}`, REST.replace('z', 'w')));
    expect([again.result.result, declared(again.all), faultsIn(again.all)]).toEqual([
      'All done.',
      ['a', 'z', 'w'],
      ['bad_test', 'bad_test'],
    ]);
  });

  it('is the same where a message cuts a turn short that a person holds up', async () => {
    const stage = await createStage({
      tools: { quick: 'approval: always', quick_b: '' },
      manifest: 'permissions: { sandbox: "off" }\n',
      turns: [
        `<if test="true"><parallel>${action('asked', 'quick')}<thought>Hm, <else/>${action('x', 'quick_b')}</if>`,
        '<response>Never asked for.</response>',
      ],
      onWaiting: 'hold',
    });
    const session = stage.start();
    await seen(session, 'session.waiting');
    await stage.runtime.steer('ses_stage', 'What of it?');
    expect(await seen(session, 'turn.failed')).toMatchObject({ error: { code: 'interrupted' } });
    await session.cancel('enough');
    expect(declared(await stage.log())).toEqual(['asked']);
    await stage.close();
  });
});

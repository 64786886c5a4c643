import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/events/event.ts';
import { act, anew, declared, faultsIn, stoppedBehind } from './stopped-stage.ts';
import { FINAL, lived, of } from './taken-up-stage.ts';

const call = (id: string) => `<action id="${id}">{"name":"slow"}</action>`;
const METADATA = { fields: { status: { values: ['A', 'B'], default: 'A' } } } as const;
const LIST = { runtime: [{ name: 'list', type: 'array' as const, default: [1] }] };

/** What puts a turn in doubt. */
const DOUBTS: readonly (readonly [string, string])[] = [
  ['a body that breaks off', '<action id="x">{"name": "slow" <thought>oops</thought>'],
  ['an <if> without a test', '<if>'],
  ['an <else/> of no <if>', '<else/>'],
  ['an <if> in a <foreach>', `<foreach in="$list" as="i"><if test="true">${call('x')}</if></foreach>`],
  ['a fence that </thought> closes', '<thought>See:\n```\ncode\n</thought>\n'],
  [
    'a body that breaks off where it does not matter',
    '<if test="false"><action>{"name": "x" <thought>o</thought></if>',
  ],
];

const BEHIND = [
  '<thought>I go on.</thought>',
  call('y'),
  '<response final="false">Half way.</response>',
  '<metadata>{"status":"B"}</metadata>',
  `<foreach in="$list" as="i">${call('y2')}</foreach>`,
  '<thought>And on.</thought>',
  `<if test="metadata.status == 'A'">${call('y3')}</if>`,
  '<response>Not the end.</response>',
].join('\n');

/** What came of a session; how often the model was told that it is in doubt of one thing does not matter. */
const outcome = (events: readonly SessionEvent[]) => ({
  declared: declared(events),
  metadata: of(events, 'metadata.changed').length,
  said: events.flatMap((event) => (event.type === 'response' ? [`${event.final} ${event.text}`] : [])),
  told: [...new Set(faultsIn(events))].filter((code) => code !== 'not_run').sort(),
});

describe('a turn that was in doubt when it was cut short', () => {
  it.each(DOUBTS)(
    'comes to the same as one that was not cut short, wherever that was: %s',
    async (_what, doubt) => {
      const turns = [`${call('a')}${doubt}${BEHIND}`, FINAL];
      const { behind, events } = await lived(turns, {
        agent: { metadata: METADATA, context_variables: LIST },
      });
      const whole = outcome(events);
      expect([whole.declared, whole.metadata, whole.said.at(-1)]).toEqual([['a'], 0, 'true Done.']);
      expect(whole.told).toContain('in_doubt');
      const begun = events.findIndex(({ type }) => type === 'action.declared');
      for (const { seq } of events.slice(begun, -1)) {
        const { all } = await behind((event) => event.seq === seq, [...turns, FINAL]);
        expect([seq, outcome(all)]).toEqual([seq, whole]);
      }
    },
  );

  it('stays so over two restarts', async () => {
    const turns = [`${call('a')}${DOUBTS[1]?.[1]}${BEHIND}`, FINAL];
    const { behind, events } = await lived(turns, { agent: { metadata: METADATA, context_variables: LIST } });
    const thoughts = (log: readonly SessionEvent[]) => of(log, 'thought');
    const once = await behind((event) => event.seq === thoughts(events)[0]?.seq, turns);
    const at = thoughts(once.all).at(-1)?.seq;
    const twice = await behind((event) => event.seq === at, turns, undefined, once.id);
    expect(outcome(twice.all)).toEqual(outcome(events));
  });

  it('says so to the model, and the turn behind it is in no doubt', async () => {
    const { goOn } = await stoppedBehind(`${act('a')}<if><thought>I go on.</thought>`);
    const rest = (id: string) => `${act(id)}<response>All done.</response>`;
    const { all, prompts, result } = await goOn(anew(rest('y'), rest('z')));
    expect([result.result, declared(all)]).toEqual(['All done.', ['a', 'z']]);
    expect(prompts[0]).toContain('does not act');
    expect(prompts[0]).toContain('in the turn after it');
    expect(prompts[1]).toContain('in_doubt');
  });
});

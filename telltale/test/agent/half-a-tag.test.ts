import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Model } from '../../src/models/model.ts';
import { runAgent, tool } from './run-agent.ts';
import { act, anew, declared, faultsIn, stoppedBehind, wordForWord } from './stopped-stage.ts';

const behind = (id: string, needs: string) =>
  `<action id="${id}">{"name":"run","depends_on":["${needs}"]}</action>`;
const REST = `${act('z')}<response>All done.</response>`;

/** What stands, the half that follows it, the other half, and what comes of both where nothing is cut short. */
const HALVES: readonly (readonly [string, string, string, readonly string[]])[] = [
  ['So ', '<acti', `on id="b">{"name":"run"}</action>`, ['b']],
  ['So ', '<', `action id="b">{"name":"run"}</action>`, ['b']],
  ['', '<action id="b"', `>{"name":"run"}</action>`, ['b']],
  ['', '<action id="b">', `{"name":"run"}</action>`, ['b']],
  ['', '<action id="b">{"name":"ru', `n"}</action>`, ['b']],
  ['', '<action id="b">{"name":"run","parameters":{"text":"<action id=', `"}}</action>`, ['b']],
  ['', '<action id="b">{"name":"run"}</acti', 'on>', ['b']],
  ['', '<if test="fal', `se">${act('x')}</if>`, []],
  ['', '<if test="1 < 0', `">${act('x')}<else/>${act('b')}</if>`, ['b']],
  [`<if test="true">${act('b')}`, '<els', `e/>${act('x')}</if>`, ['b']],
  [`<if test="true">${act('b')}`, '</i', `f>${act('c')}`, ['b', 'c']],
  ['', '<foreach in="$list"', ` as="i">${act('b')}</foreach>`, ['b[0]', 'b[1]']],
  ['', `<foreach in="$list" as="i">${act('b')}`, `${act('c')}</foreach>`, ['b[0]', 'b[1]', 'c[0]', 'c[1]']],
  ['', `<foreach in="$list" as="i"><thought>Hm.</thought>`, `${act('b')}</foreach>`, ['b[0]', 'b[1]']],
  ['', '<parallel id="g"><thought>Hm.</thought>', `${act('b')}</parallel>${behind('c', 'g')}`, ['b', 'c']],
  ['', '<thou', `ght>I ${act('b')} it.</thought>`, ['b']],
  ['', '<respon', 'se final="false">I do.</response>', []],
  ['See:\n', '```\ncode', `\n${act('x')}\n\`\`\`\n`, []],
  ['See:\n', '```', `\n${act('x')}\n\`\`\`\n`, []],
  ['See `that` and ', '`', `<action id="x">{"name":"run"}</action>\` `, []],
];

const LIST = { context_variables: { runtime: [{ name: 'list', type: 'array' as const, default: [1, 2] }] } };
const acted = (ids: readonly string[]) => ids.filter((id) => !id.startsWith('foreach_')).sort();

describe('a log that ends in half a tag, or in code', () => {
  it.each(HALVES)('%s%s swallows nothing of what the next turn says', async (before, half) => {
    const { goOn } = await stoppedBehind(`${act('a')}${before}${half}`, LIST);
    const { result, all, prompts } = await goOn(anew(REST));
    const stood = before.includes('id="b"') ? ['b'] : [];
    expect([result.result, acted(declared(all)), faultsIn(all)]).toEqual([
      'All done.',
      ['a', ...stood, 'z'],
      [],
    ]);
    expect(prompts[0]).toContain(
      `broke off after ${act('a').length + before.length + half.length} characters`,
    );
  });

  it.each(HALVES)('%s%s is said whole by a model that goes on word for word: %s', async (...given) => {
    const [before, half, other, ids] = given;
    const said = `${act('a')}${before}${half}`;
    const { goOn } = await stoppedBehind(said, LIST);
    const { result, all } = await goOn(wordForWord(`${said}${other}${REST}`));
    expect([result.result, acted(declared(all))]).toEqual(['All done.', ['a', ...ids, 'z']]);
    expect(faultsIn(all)).toEqual([]);
    expect(all.filter(({ type }) => type === 'action.skipped')).toEqual([]);
  });

  const actions = HALVES.filter(([, half]) => half.startsWith('<action') || half === '<acti' || half === '<');
  it.each(actions)('%s%s is completed by nothing that the next turn says: %s', async (...given) => {
    const [before, half, other] = given;
    const { goOn } = await stoppedBehind(`${act('a')}${before}${half}`, LIST);
    const { all } = await goOn(anew(other, REST));
    expect(declared(all)).toEqual(['a', 'z']);
  });
});

const halfThen = (half: string, next: string, isBroken: boolean): Model => {
  let asked = 0;
  return {
    id: 'test/half',
    async stream(_request, sink) {
      const isFirst = asked++ === 0;
      sink.text(isFirst ? half : next);
      if (isFirst && isBroken) throw new RuntimeError('overloaded', 'Too busy.', { retryable: true });
      return { finish: 'stop' };
    },
  };
};

describe('half a tag at the end of a turn', () => {
  const given = {
    manifest: 'import: { tools: [./tools/*.yml] }\n',
    files: tool('run', 'return 1;'),
    runtime: { random: () => 0 },
  };
  const halves = HALVES.map(([, half, other]) => [half, other] as const);

  it.each(halves)(
    '%s neither swallows nor is completed by the next of the same process: %s',
    async (half, other) => {
      for (const isBroken of [true, false]) {
        const whole = await runAgent({ ...given, turns: [], model: halfThen(half, REST, isBroken) });
        expect([isBroken, whole.result.result, declared(whole.events)]).toEqual([
          isBroken,
          'All done.',
          ['z'],
        ]);
        const model = halfThen(half, `${other}${REST}`, isBroken);
        const ran = await runAgent({ ...given, turns: [], model });
        const alone = await runAgent({ ...given, turns: [`${other}${REST}`, REST.replace('z', 'w')] });
        expect(declared(ran.events)[0]).toBe(declared(alone.events)[0]);
      }
    },
  );

  it.each(halves)(
    '%s swallows nothing of a session that was cancelled there, and is resumed',
    async (half) => {
      const { cancelled, goOn } = await stoppedBehind(`${act('a')}${half}`, LIST);
      const { result, all } = await goOn(anew(REST), cancelled);
      expect([result.result, acted(declared(all))]).toEqual(['All done.', ['a', 'z']]);
    },
  );
});

import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { crashEverywhere } from '../../src/testing/crash.ts';
import type { Dialect, Move } from '../lab/models/move.ts';
import { DIALECTS } from '../lab/models/move.ts';
import { speak } from '../lab/models/speak.ts';
import type { Part, Utterance } from '../lab/models/words.ts';
import { type Answer, FORMATS, runOverHttp } from '../wire/over-http.ts';
import { noting } from './noting.ts';

const answer: Move = { acts: [], final: 'Done.' };
const note = (text: string): Move => ({ acts: [{ key: 'n', name: 'note', parameters: { text } }] });
const prose = (text: string): Utterance => ({ parts: [{ type: 'text', text }], finish: 'stop' });
const PARAGRAPH = 'I look at the file once more, and then I think about it again.\n'.repeat(40);

/** What a model says without end, and how many characters of it are read. */
const ENDLESS: readonly (readonly [what: string, say: (dialect: Dialect) => Utterance, read: number])[] = [
  ['one token', () => prose('ha'.repeat(400_000)), 49_152],
  ['a line', () => prose('I will think about it.\n'.repeat(40_000)), 49_152],
  ['a paragraph', () => prose(PARAGRAPH.repeat(300)), 49_152],
  [
    'a thought',
    (dialect) => speak({ ...answer, thought: 'Hm, but no.\n'.repeat(60_000) }, { dialect, turn: 1 }),
    60_000,
  ],
  [
    'a response',
    (dialect) => speak({ acts: [], final: 'Yes, but.\n'.repeat(60_000) }, { dialect, turn: 1 }),
    60_000,
  ],
  [
    'what it writes into a file',
    (dialect) => speak(note('0,0,0,0\n'.repeat(100_000)), { dialect, turn: 1 }),
    300_000,
  ],
];

describe.each(FORMATS)('a model over %s that says without end', (format) => {
  it.each(
    ENDLESS.flatMap(([what, say, read]) => DIALECTS.map((dialect) => [what, dialect, say, read] as const)),
  )('%s is cut off, is told so, and goes on (%s)', async (_, dialect, say, read) => {
    const { noted, agent } = noting();
    const { result, of, prompts, events } = await runOverHttp({
      format,
      dialect,
      agent,
      answers: [{ say: say(dialect) }, { move: answer }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
    expect(noted).toEqual([]);
    expect(of('turn.completed')[0]?.finish).toBe('cut');
    expect(of('fault').map(({ code, message }) => [code, message])).toContainEqual([
      'repeats',
      expect.stringMatching(
        /^You wrote the same \d+ characters again and again \(".+"\), (?:32,768|262,144) characters in all, and were cut off there\. What you had closed by then counts\. Do not go on with it: do the next thing, or answer\.$/,
      ),
    ]);
    const output = of('model.output')
      .map(({ text }) => text)
      .join('');
    expect(output.length).toBeLessThanOrEqual(read);
    expect(JSON.stringify(events).length).toBeLessThan(3 * read);
    // Shown again, it would go on with it.
    const [first = '', next = ''] = prompts;
    expect(next.length - first.length).toBeLessThan(8_000);
    expect(next).toMatch(/characters, the same again and again/);
    expect(next).toContain('You wrote the same');
  });

  it.each(DIALECTS)('nothing new in a file may write 150 KB of zeros (%s)', async (dialect) => {
    const zeros = '0,0,0,0\n'.repeat(18_000);
    const { noted, agent } = noting();
    const { result, of } = await runOverHttp({
      format,
      dialect,
      agent,
      answers: [{ move: note(zeros) }, { move: answer }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(noted).toEqual([zeros]);
    expect(of('fault')).toEqual([]);
  });

  it.each(DIALECTS)('the same call is cut off at the fiftieth (%s)', async (dialect) => {
    const { noted, agent } = noting();
    const { result, of } = await runOverHttp({
      format,
      dialect,
      agent,
      answers: [{ say: sameCalls(dialect, 400) }, { move: answer }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
    expect(noted).toHaveLength(50);
    expect(of('fault').map(({ message }) => message)).toContainEqual(
      expect.stringContaining(
        'You made the same call of "note" with the same parameters 50 times in one turn',
      ),
    );
  });
});

function sameCalls(dialect: Dialect, times: number): Utterance {
  const input = { text: 'x' };
  const calls = Array.from(
    { length: times },
    (_, at): Part => ({
      type: 'call',
      call: { id: `call_${at}`, name: 'note', input: JSON.stringify(input) },
    }),
  );
  if (dialect === 'tools') return { parts: calls, finish: 'stop' };
  if (dialect === 'tags')
    return prose('<action>{"name":"note","parameters":{"text":"x"}}</action>\n'.repeat(times));
  const step = { thought: 'On.', tool_calls: calls.map(() => ({ name: 'note', input })), is_complete: false };
  return {
    parts: [{ type: 'call', call: { id: 'call_1', name: 'step', input: JSON.stringify(step) } }],
    finish: 'stop',
  };
}

it.each(DIALECTS)(
  'what was cut off is never the answer, and three such turns stall the session (%s)',
  async (dialect) => {
    const { result, of } = await runOverHttp({
      format: 'openai-chat',
      dialect,
      agent: { protocol: { bare_text: 'final' } },
      answers: Array.from({ length: 3 }, () => ({ say: prose('I will think. '.repeat(10_000)) })),
    });
    expect(result).toMatchObject({
      status: 'stalled',
      error: { code: 'stalled', hint: expect.stringContaining('telltale steer') },
    });
    expect(result.error?.message).toMatch(/repeat|again and again/);
    expect(of('turn.completed')).toHaveLength(3);
  },
);

it('long texts that say something are not cut off', async () => {
  const text = Array.from({ length: 6_000 }, (_, at) => `Line ${at} of the report.`).join('\n');
  const { result, of } = await runOverHttp({
    format: 'openai-chat',
    dialect: 'tags',
    answers: [{ move: { acts: [], final: text } }],
  });
  expect(result).toMatchObject({ status: 'completed', result: text });
  expect(of('fault')).toEqual([]);
});

describe('the same call in turn after turn', () => {
  const same = (times: number): readonly Answer[] =>
    Array.from({ length: times }, () => ({ move: note('x') }));
  const limits = { turns: 60 };

  it.each(DIALECTS)(
    'with the same result is told every five turns, and stalls the session after twenty (%s)',
    async (dialect) => {
      const { noted, agent } = noting();
      const { result, of } = await runOverHttp({
        format: 'openai-chat',
        dialect,
        agent: { ...agent, limits },
        answers: same(20),
      });
      expect(result).toMatchObject({
        status: 'stalled',
        error: {
          code: 'stalled',
          message:
            'The model made the same calls with the same parameters in 20 turns in a row, and the results were the same each time. The last one was note {"text":"x"}.',
          hint: expect.stringContaining('telltale steer'),
        },
      });
      expect(noted).toHaveLength(20);
      expect(of('fault').map(({ code, message }) => [code, message.split(', and')[0]])).toEqual(
        [5, 10, 15].map((row) => [
          'no_progress',
          `You have made the same calls with the same parameters in ${row} turns in a row`,
        ]),
      );
    },
  );

  it('is legitimate where the results differ', async () => {
    let n = 0;
    const { agent } = noting(() => `pending, ${n++} %`);
    const { result } = await runOverHttp({
      format: 'openai-chat',
      dialect: 'tools',
      agent: { ...agent, limits },
      answers: [...same(25), { move: answer }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
  });

  it('begins anew with another call between them', async () => {
    const { agent } = noting();
    const { result } = await runOverHttp({
      format: 'openai-chat',
      dialect: 'tools',
      agent: { ...agent, limits },
      answers: [...same(15), { move: note('y') }, ...same(15), { move: answer }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
  });
});

describe('a model that repeats itself in its own reasoning', () => {
  const thinker = (): Model => ({
    id: 'local/thinker',
    async stream({ messages, signal }: ModelRequest, sink) {
      const told = messages.map((message) => message.text).join('\n');
      if (told.includes('You wrote the same')) sink.text('<response>Done.</response>');
      else for (let n = 0; n < 20_000 && !signal.aborted; n++) sink.reasoning('Wait, no. ');
      return { finish: 'stop' };
    },
  });

  it('is cut off and told so', async () => {
    const { result, of } = await runOverHttp({
      format: 'openai-chat',
      dialect: 'tags',
      answers: [],
      agent: { model: thinker() },
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
    expect(of('fault')).toMatchObject([
      {
        code: 'repeats',
        message: expect.stringContaining('You wrote the same 10 characters again and again ("no. Wait, ")'),
      },
    ]);
  });
});

it('a session that dies where a model is cut off goes on, wherever that is', async () => {
  const talker: Model = {
    id: 'local/talker',
    async stream({ messages, signal }: ModelRequest, sink) {
      if (messages.length > 1) sink.text('<response>Done.</response>');
      else {
        sink.text('<action id="n">{"name":"note","parameters":{"text":"x"}}</action>');
        for (let n = 0; n < 20_000 && !signal.aborted; n++) sink.text('And then, ');
      }
      return { finish: 'stop' };
    },
  };
  let places = 0;
  await crashEverywhere(
    {
      input: 'Go.',
      async setUp() {
        const { noted, agent } = noting();
        return { agent: await defineAgent({ name: 'talker', model: talker, ...agent }), noted };
      },
    },
    ({ scene, events, result, where }) => {
      places++;
      expect(result, where).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(scene.noted.length).toBeGreaterThan(0);
      expect(JSON.stringify(events).length).toBeLessThan(300_000);
    },
    { every: true },
  );
  expect(places).toBeGreaterThan(10);
});

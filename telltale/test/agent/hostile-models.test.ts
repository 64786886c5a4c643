import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { DIALECTS, type Dialect, type Move } from '../lab/models/move.ts';
import { speak } from '../lab/models/speak.ts';
import { WIRES } from '../lab/models/stand-in.ts';
import type { Part, Utterance } from '../lab/models/words.ts';
import type { WireName } from '../wire/check-request.ts';
import { type Answer, FORMATS, inTinyDeltas, runOverHttp } from '../wire/over-http.ts';
import { noting } from './noting.ts';

const answer: Move = { acts: [], final: 'Done.' };
const note = (text: string, key = 'n'): Move => ({ acts: [{ key, name: 'note', parameters: { text } }] });
const partsOf = (move: Move, dialect: Dialect): readonly Part[] => speak(move, { dialect, turn: 1 }).parts;
const framesOf = (format: WireName, said: Utterance): readonly string[] =>
  WIRES[format].frames(said, { input: 100, output: 10 });

const NATIVE = ['tools', 'step'] as const;
const withId = (parts: readonly Part[], id: string): readonly Part[] =>
  parts.map((part) => (part.type === 'call' ? { ...part, call: { ...part.call, id } } : part));
const text = (said: string): Part => ({ type: 'text', text: said });
const stops = (parts: readonly Part[]): Answer => ({ say: { parts, finish: 'stop' } });

const sends =
  (pieces: readonly string[]): Answer =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(pieces.join(''));
  };

describe.each(FORMATS)('a model over %s', (format) => {
  const run = (dialect: Dialect, answers: readonly Answer[], more: object = {}) => {
    const { noted, agent } = noting();
    return runOverHttp({ format, dialect, answers, agent: { ...agent, ...more } }).then((ran) => ({
      ...ran,
      noted,
    }));
  };

  it.each(DIALECTS)(
    'that sends 100,000 deltas of one character does what it does in one piece (%s)',
    async (dialect) => {
      const file = Array.from({ length: 14_000 }, (_, at) => `${at};`)
        .join('')
        .slice(0, 70_000);
      const move: Move = { ...note(file), thought: file.slice(0, 30_000) };
      const said = speak(move, { dialect, turn: 1 });
      const whole = await run(dialect, [{ say: said }, { move: answer }]);
      const tiny = [...inTinyDeltas(format, framesOf(format, said))];
      if (format !== 'google' || dialect === 'tags') expect(tiny.length).toBeGreaterThan(100_000);
      const slow = await run(dialect, [sends(tiny), { move: answer }]);
      expect(slow.result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
      expect(slow.noted).toEqual([file]);
      expect(slow.events.map(({ type }) => type)).toEqual(whole.events.map(({ type }) => type));
      const bytes = (events: unknown) => JSON.stringify(events).length;
      expect(Math.abs(bytes(slow.events) - bytes(whole.events))).toBeLessThan(200);
      const told = (body: unknown) => WIRES[format].read(body).messages.map((each) => each.by);
      expect(slow.bodies.map(told)).toEqual(whole.bodies.map(told));
    },
  );

  it.each(NATIVE)('may mix text and calls in one turn: all of it counts, in order (%s)', async (dialect) => {
    const second = withId(partsOf(note('three', 'm'), dialect), 'call_second');
    const { result, noted, of, bodies } = await run(dialect, [
      stops([text('First.'), ...partsOf(note('one'), dialect), text('Then.'), ...second, text('Last.')]),
      { move: answer },
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(noted).toEqual(['one', 'three']);
    expect(of('text').map((each) => each.text)).toEqual(['First.', 'Then.', 'Last.']);
    expect(answersIn(format, bodies[1])).toEqual(['Noted 3 characters.', 'Noted 5 characters.']);
  });

  it.each(NATIVE.flatMap((dialect) => ['same', ''].map((id) => [id, dialect] as const)))(
    'may give two calls the id %j: both are made and answered (%s)',
    async (id, dialect) => {
      const parts = [...partsOf(note('one'), dialect), ...partsOf(note('three', 'm'), dialect)];
      const { result, noted, bodies } = await run(dialect, [stops(withId(parts, id)), { move: answer }]);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(noted).toEqual(['one', 'three']);
      expect(answersIn(format, bodies[1])).toEqual(['Noted 3 characters.', 'Noted 5 characters.']);
    },
  );

  it.each(DIALECTS)(
    'may write a call of 5 MB: nothing of it runs, and the next request is small (%s)',
    async (dialect) => {
      const file = Array.from({ length: 700_000 }, (_, at) => `${at};`)
        .join('')
        .slice(0, 5_000_000);
      const { result, noted, of, prompts } = await run(dialect, [{ move: note(file) }, { move: answer }]);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
      expect(noted).toEqual([]);
      const [tooLarge] = of('fault');
      expect(tooLarge).toMatchObject({
        code: 'body_too_large',
        message: expect.stringMatching(/ has more than 1048576 characters/),
      });
      expect(of('fault').map(({ message }) => message)).toContainEqual(
        expect.stringContaining('cut off after 4194304 characters, which is all that a turn may have'),
      );
      const [first = '', next = ''] = prompts;
      expect(prompts).toHaveLength(2);
      expect(next.length - first.length).toBeLessThan(20_000);
      expect(next).toMatch(/characters, left out here/);
      expect(next).toContain('has more than 1048576 characters');
    },
  );

  // Responses give their stop reason with their end: hostile-providers.test.ts.
  it.each(format === 'openai-responses' ? [] : DIALECTS)(
    'may go on behind its stop reason: what its answer still holds counts (%s)',
    async (dialect) => {
      const { result, noted, bodies } = await run(dialect, [
        sends(behindTheStop(format, partsOf(note('late'), dialect))),
        { move: answer },
      ]);
      expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
      expect(noted).toEqual(['late']);
      if (dialect !== 'tags') expect(answersIn(format, bodies[1])).toEqual(['Noted 4 characters.']);
    },
  );

  it.each(DIALECTS)('may write in any script: it arrives as it was written (%s)', async (dialect) => {
    const { result, noted, bodies } = await run(dialect, [
      { move: note(SCRIPTS) },
      { move: { acts: [], final: SCRIPTS } },
    ]);
    expect(noted).toEqual([SCRIPTS]);
    expect(result).toMatchObject({ status: 'completed', result: SCRIPTS });
    expect(JSON.stringify(bodies[1])).toContain('مرحبا');
  });

  it.each(DIALECTS)('keeps byte order marks and end tokens inside of a file (%s)', async (dialect) => {
    const file = '\ufeffname;value\n<|im_end|>\n</s>\n<|eot_id|>';
    const { result, noted } = await run(dialect, [{ move: note(file) }, { move: answer }]);
    expect(noted).toEqual([file]);
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
  });

  it.each(NATIVE)('has them left out around its words beside calls (%s)', async (dialect) => {
    const { result, noted, of } = await run(dialect, [
      stops([text('\ufeffI note that.'), ...partsOf(note('one'), dialect), text('\n<|im_end|>')]),
      { move: answer },
    ]);
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(noted).toEqual(['one']);
    expect(of('text').map((each) => each.text)).toEqual(['I note that.']);
  });
});

it.each(FORMATS)(
  'an answer in plain text is given without byte order mark and end token (%s)',
  async (format) => {
    const { result } = await runOverHttp({
      format,
      dialect: 'tools',
      answers: [stops([text('\ufeffThe answer is <|im_end|> 42.<|im_end|>')])],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'The answer is <|im_end|> 42.' });
  },
);

/** Arabic with marks of direction, Chinese, an emoji of several characters, combining characters, a lone ideograph of two. */
const SCRIPTS =
  '\u200fمرحبا بالعالم\u200e — 你好，世界 — 👩‍👩‍👧‍👦🏳️‍🌈 — e\u0301a\u030a\u0332 — नमस्ते — \u202eabc\u202c — 𠮷 — ｆｕｌｌ';

/** What the tools answered, as the provider is told, without the tags around it. */
function answersIn(format: WireName, body: unknown): readonly string[] {
  return WIRES[format]
    .read(body)
    .messages.flatMap((each) =>
      each.by === 'tool' ? [/>(Noted[^<]*)</.exec(each.text)?.[1] ?? each.text] : [],
    );
}

/** The frames of an answer that says why it ended and then goes on, with its last frame behind that. */
function behindTheStop(format: WireName, late: readonly Part[]): readonly string[] {
  const early = framesOf(format, { parts: [text('I am done.')], finish: 'stop' });
  const all = framesOf(format, { parts: [text('I am done.'), ...late], finish: 'stop' });
  const begin = framesOf(format, { parts: [text('I am done.')], finish: 'broken' }).length;
  const isStop = (frame: string) => /"finish_reason":"|"stop_reason":"|"finishReason":"/.test(frame);
  const stop = early.filter(isStop);
  expect(stop).toHaveLength(1);
  const rest = all.slice(begin).filter((frame) => !isStop(frame) || format === 'google');
  return [...all.slice(0, begin), ...stop, ...rest];
}

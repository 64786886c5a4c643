import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { DIALECTS, type Move } from '../lab/models/move.ts';
import { speak } from '../lab/models/speak.ts';
import { WIRES } from '../lab/models/stand-in.ts';
import type { Utterance } from '../lab/models/words.ts';
import type { WireName } from '../wire/check-request.ts';
import { type Answer, FORMATS, runOverHttp } from '../wire/over-http.ts';
import { noting } from './noting.ts';

const answer: Move = { acts: [], final: 'Done.' };
const framesOf = (format: WireName, said: Utterance): readonly string[] =>
  WIRES[format].frames(said, { input: 100, output: 10 });

const note = (text: string): Move => ({ acts: [{ key: 'n', name: 'note', parameters: { text } }] });

/** A stream of these pieces. */
const sends =
  (pieces: readonly (string | Uint8Array)[]): Answer =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) response.write(piece);
    response.end();
  };

const NONSENSE: readonly (readonly [what: string, piece: string | Uint8Array, shown: string])[] = [
  ['what is no JSON', 'data: hello {{{ not json\n\n', 'hello {{{ not json'],
  ['JSON of another shape', 'data: [1,2]\n\n', '[1,2]'],
  ['bytes that are no text', Uint8Array.from({ length: 4_000 }, (_, at) => (at * 7919) & 255), ''],
];

describe.each(FORMATS)('a provider that speaks the format %s', (format) => {
  const cases = DIALECTS.flatMap((dialect) =>
    NONSENSE.map(([what, piece]) => [what, dialect, piece] as const),
  );

  it.each(cases)(
    'and streams %s: it is asked six times, and the error says so (%s)',
    async (what, dialect, piece) => {
      const { result, bodies, of } = await runOverHttp({
        format,
        dialect,
        answers: Array.from({ length: 6 }, () => sends([piece])),
      });
      const message = result.error?.message ?? '';
      const hint = result.error?.hint ?? '';
      expect(result).toMatchObject({ status: 'failed', error: { code: 'model_broke_off' } });
      expect(message).toMatch(/^(?:openai|anthropic|google)\S*\/\S+: /);
      if (what !== 'bytes that are no text')
        expect(message).toMatch(/ sent data that is not part of a model's stream[.:]/);
      // A model object of the program's own does not say where it asks.
      expect(hint).toContain("The server did not answer with a model's stream. Check the base URL");
      if (format !== 'openai-responses') expect(hint).toMatch(/which is http:\/\/127\.0\.0\.1:\d+\/v1\.$/);
      expect(message.length + hint.length).toBeLessThan(500);
      expect(bodies).toHaveLength(6);
      expect(bodies.slice(1)).toEqual(bodies.slice(1).map(() => bodies[0]));
      expect(of('turn.failed')).toHaveLength(6);
    },
  );

  const broken = [...NONSENSE.slice(0, 2), ['the half of a frame', 'data: {"choi', ''] as const].flatMap(
    ([what, piece, shown]) => DIALECTS.map((dialect) => [what, dialect, piece, shown] as const),
  );
  it.each(broken)(
    'and goes on with %s: the model is told where it broke off (%s)',
    async (_, dialect, piece, shown) => {
      const { noted, agent } = noting();
      const said = framesOf(format, speak(note('x'.repeat(300)), { dialect, turn: 1 }));
      // Gemini's calls come whole.
      const isWhole = format === 'google' && dialect !== 'tags';
      const { result, prompts, of } = await runOverHttp({
        format,
        dialect,
        agent,
        answers: [sends([...said.slice(0, isWhole ? 1 : 4), piece]), { move: answer }],
      });
      expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
      expect(noted).toEqual(isWhole ? ['x'.repeat(300)] : []);
      const [failed] = of('turn.failed');
      if (failed === undefined) {
        // A call that is whole says that the answer is.
        expect(isWhole && shown === '').toBe(true);
        return;
      }
      expect(failed.error.code).toBe('model_broke_off');
      expect(failed.error.message).toContain(shown);
      expect(prompts[1]).toMatch(/Your last turn broke off after \d+ characters/);
      expect(prompts[1]).not.toMatch(/invalid_union|SyntaxError/);
      if (!isWhole) expect(prompts[1]).toMatch(/- truncated: .*(?:did not act|counts)/);
    },
  );
});

it('no key stands in what is shown of nonsense', async () => {
  const { result } = await runOverHttp({
    format: 'anthropic',
    dialect: 'tags',
    answers: Array.from({ length: 6 }, () =>
      sends([
        ...framesOf('anthropic', { parts: [{ type: 'text', text: 'Hi' }], finish: 'broken' }),
        'data: your key sk-x is {\n\n',
      ]),
    ),
  });
  expect(result.error?.message).toContain("not part of a model's stream: your key … is {");
});

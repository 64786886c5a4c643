import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { DIALECTS, type Move } from '../lab/models/move.ts';
import { speak } from '../lab/models/speak.ts';
import { WIRES } from '../lab/models/stand-in.ts';
import { FORMATS, runOverHttp, stream } from '../wire/over-http.ts';

const answer: Move = { acts: [], final: 'Done.' };
const PAGE = '<!doctype html><html><head><title>Sign in</title></head><body>Hello</body></html>';

describe.each(FORMATS)('a provider that speaks the format %s', (format) => {
  it.each(DIALECTS)('and answers with HTML: the error says where the page is (%s)', async (dialect) => {
    const { result, bodies } = await runOverHttp({
      format,
      dialect,
      answers: [{ status: 200, body: PAGE, type: 'text/html' }],
    });
    expect(result).toMatchObject({
      status: 'failed',
      error: {
        code: 'model_bad_request',
        message: expect.stringMatching(/\/v1\/\S+ answered with an HTML page \("Sign in"\)/),
        hint: expect.stringContaining('base URL'),
      },
    });
    expect(bodies).toHaveLength(1);
  });

  it.each(['<|im_end|>', '<|eot_id|>', '</s>', '<|im_end|>\n<|endoftext|>\n'])(
    'and whose model lets %j through: it is no part of the answer',
    async (token) => {
      const text = `\ufeffThe answer is 42, and a < b.${token}`;
      const { result } = await runOverHttp({
        format,
        dialect: 'tags',
        agent: { protocol: { bare_text: 'final' } },
        answers: [{ say: { parts: [{ type: 'text', text }], finish: 'stop' } }],
      });
      expect(result).toMatchObject({ status: 'completed', result: 'The answer is 42, and a < b.' });
    },
  );

  it('and whose model strikes out the end of its answer: the tag stays', async () => {
    const { result } = await runOverHttp({
      format,
      dialect: 'tags',
      agent: { protocol: { bare_text: 'final' } },
      answers: [{ say: { parts: [{ type: 'text', text: 'It is <s>41</s>' }], finish: 'stop' } }],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'It is <s>41</s>' });
  });

  it('and whose model writes such a token inside of its answer: it stays', async () => {
    const final = 'A turn ends with <|im_end|> in ChatML.';
    const { result } = await runOverHttp({
      format,
      dialect: 'tags',
      answers: [{ move: { ...answer, final } }],
    });
    expect(result).toMatchObject({ status: 'completed', result: final });
  });
});

describe.each(FORMATS)('what %s sends behind the end of an answer', (format) => {
  /** A turn that calls a tool, with something behind its end; then one that answers. */
  const run = async (behind: readonly string[], staysOpen = false) => {
    const noted: string[] = [];
    const note = defineTool({
      name: 'note',
      run: (input) => void noted.push(String((input as { readonly text: string }).text)),
    });
    const ran = await runOverHttp({
      format,
      dialect: 'tools',
      agent: { tools: [note] },
      answers: [
        (response) => {
          if (staysOpen) response.end = () => response;
          stream(response, [...framesOf('one'), ...behind]);
        },
        { move: { acts: [], final: 'Done.' } },
      ],
    });
    const { result, bodies, of } = ran;
    expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
    expect(bodies).toHaveLength(2);
    return { noted, failed: of('turn.failed').map(({ error }) => error.code) };
  };
  const framesOf = (text: string) => {
    const act = { key: text, name: 'note', parameters: { text } };
    const said = speak({ acts: [act] }, { dialect: 'tools', turn: text.length });
    return WIRES[format].frames(said, { input: 10, output: 10 });
  };
  // Google's format has no end: a reason to finish may come with every piece.
  const hasEnd = format !== 'google';

  it('does not act: another answer', async () => {
    const { noted, failed } = await run(framesOf('two'));
    expect({ noted, failed }).toEqual({ noted: hasEnd ? ['one'] : ['one', 'two'], failed: [] });
  });

  it.each([
    ['a frame that is no JSON', 'data: {"broken\n\n'],
    [
      'an error',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Busy"}}\n\n',
    ],
    ['much that is nothing', `data: ${'x'.repeat(100_000)}\n\n`.repeat(10)],
  ])('is passed over, or breaks off the turn: %s', async (_, behind) => {
    const { noted, failed } = await run([behind]);
    expect({ noted, failed }).toEqual({ noted: ['one'], failed: hasEnd ? [] : ['model_broke_off'] });
  });

  // That of Google ends after a pause: ended-streams.test.ts.
  if (hasEnd)
    it('is not waited for: a connection that stays open', async () => {
      expect(await run([], true)).toEqual({ noted: ['one'], failed: [] });
    });
});

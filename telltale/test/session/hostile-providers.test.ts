import { describe, expect, it } from 'vitest';
import { DIALECTS, type Move } from '../lab/models/move.ts';
import { FORMATS, runOverHttp } from '../wire/over-http.ts';

const answer: Move = { acts: [], final: 'Done.' };
const PAGE = '<!doctype html><html><head><title>Sign in</title></head><body>Hello</body></html>';

describe.each(FORMATS)('a provider that speaks the format %s', (format) => {
  it.each(DIALECTS)('and answers with HTML: the error says where the page is (%s)', async (dialect) => {
    // There the package of the AI SDK asks by itself: what it gives looks like a stream that broke off.
    const isOwn = format !== 'openai-responses';
    const tries = isOwn ? 1 : 6;
    const { result, bodies } = await runOverHttp({
      ...{ format, dialect },
      answers: Array.from({ length: tries }, () => ({ status: 200, body: PAGE, type: 'text/html' })),
    });
    expect(result).toMatchObject({
      status: 'failed',
      error: {
        code: isOwn ? 'model_bad_request' : 'model_broke_off',
        message: isOwn
          ? expect.stringMatching(/\/v1\/\S+ answered with an HTML page \("Sign in"\)/)
          : expect.any(String),
        hint: expect.stringContaining('base URL'),
      },
    });
    expect(bodies).toHaveLength(tries);
  });

  it.each(['<|im_end|>', '<|eot_id|>', '</s>', '<|im_end|>\n<|endoftext|>\n'])(
    'and whose model lets %j through: it is no part of the answer',
    async (token) => {
      const text = `\ufeffThe answer is 42, and a < b.${token}`;
      const { result } = await runOverHttp({
        ...{ format, dialect: 'tags', agent: { protocol: { bare_text: 'final' } } },
        answers: [{ say: { parts: [{ type: 'text', text }], finish: 'stop' } }],
      });
      expect(result).toMatchObject({ status: 'completed', result: 'The answer is 42, and a < b.' });
    },
  );

  it('and whose model strikes out the end of its answer: the tag stays', async () => {
    const { result } = await runOverHttp({
      ...{ format, dialect: 'tags', agent: { protocol: { bare_text: 'final' } } },
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

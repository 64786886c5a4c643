import { describe, expect, it } from 'vitest';
import { createOutputCheck } from '../../src/agent/prepare-agent.ts';

const SCHEMA = { type: 'object', required: ['n'], properties: { n: { type: 'number' } } };
const check = createOutputCheck(SCHEMA, 'It goes into <response>.');

describe('a final response', () => {
  it('is its text where the agent has no schema for it', () => {
    expect(createOutputCheck(undefined, '')(' {"n": 1} ')).toEqual({ ok: true, value: ' {"n": 1} ' });
  });

  it.each([
    ['bare', '{"n": 1}'],
    ['with white space around it', '\n {"n": 1}\n'],
    ['in a fence', '```json\n{"n": 1}\n```'],
    ['in a fence that holds another', '````\n{"n": 1, "text": "```"}\n````'],
    ['with backticks at its end', '{"n": 1, "text": "x```"}'],
  ])('of a schema is read %s', (_how, text) => {
    expect(check(text)).toMatchObject({ ok: true, value: { n: 1 } });
  });

  it.each([
    ['a fence that is not closed', '```json\n{"n": 1}'],
    ['a fence that is closed by fewer', '````\n{"n": 1}\n```'],
    ['something behind it', '```\n{"n": 1}\n```\nDone.'],
    ['no JSON', 'One.'],
  ])('that has %s cannot be read, and says where it goes', (_what, text) => {
    expect(check(text)).toEqual({
      ok: false,
      problem: expect.stringMatching(
        /^Your final response must be JSON .*: .+\. It goes into <response>\.$/s,
      ),
    });
  });

  it.each([
    ['what is missing', '{}'],
    ['what is of the wrong kind', '{"n": "x"}'],
    ['a number that is none', '{"n": 1e999}'],
  ])('that is JSON and not of the schema is refused for %s', (_what, text) => {
    expect(check(text)).toEqual({
      ok: false,
      problem: expect.stringMatching(/^Your final response is JSON, but not of the output schema: .+Fix it/),
    });
  });

  it.each([
    ['any list', { type: 'array' }],
    ['lists of lists', { type: 'array', items: { $ref: '#' } }],
  ])('that is nested without end is refused where the schema asks for %s', (_what, schema) => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    const judge = createOutputCheck(schema, '');
    expect(judge(nested(100))).toMatchObject({ ok: true });
    for (const levels of [101, 100_000])
      expect(judge(nested(levels))).toEqual({
        ok: false,
        problem: expect.stringContaining('it is nested deeper than 100 levels'),
      });
  });

  it('cannot be asked for by a schema that is none', () => {
    expect(() => createOutputCheck({ type: 'nonsense' }, '')).toThrow(
      expect.objectContaining({ code: 'bad_manifest', hint: expect.any(String) }),
    );
  });
});

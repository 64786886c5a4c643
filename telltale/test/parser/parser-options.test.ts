import { describe, expect, it } from 'vitest';
import { createTagParser, parseStream, type TagParserOptions } from '../../src/parser/index.ts';

const refusal = (options: unknown): unknown => {
  try {
    createTagParser(options as TagParserOptions);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
};

describe('createTagParser refuses', () => {
  it.each([
    ['maxBody', 'Did you mean "max_body"? It takes: max_body, actions_in, key, ids.'],
    ['actionsIn', 'Did you mean "actions_in"? It takes: max_body, actions_in, key, ids.'],
    ['seal', 'It takes: max_body, actions_in, key, ids.'],
  ])('the option %s, which it does not have', (option, hint) => {
    expect(refusal({ [option]: 'x' })).toMatchObject({
      code: 'bad_option',
      message: `createTagParser has no option "${option}".`,
      hint,
    });
  });

  it.each<[string, unknown]>([
    ['max_body', '64KiB'],
    ['max_body', -1],
    ['max_body', Number.NaN],
    ['max_body', 1.5],
    ['max_body', null],
    ['actions_in', 'outside'],
    ['actions_in', ['Outside']],
    ['actions_in', new Set(['outside'])],
    ['key', ''],
    ['key', 7],
    ['ids', ['a1']],
  ])('%s: %j', (option, value) => {
    expect(refusal({ [option]: value })).toMatchObject({
      code: 'bad_option',
      message: `createTagParser was given a "${option}" that it does not take.`,
      hint: expect.stringMatching(/^Give an? /),
    });
  });

  it.each([null, 'x', 5])('options that are no object: %j', (options) => {
    expect(refusal(options)).toMatchObject({ code: 'bad_option' });
  });
});

it('createTagParser takes what it has, and what is undefined as left out', () => {
  const left = { max_body: undefined, actions_in: undefined, key: undefined, ids: undefined };
  expect(refusal(left)).toBeUndefined();
  expect(refusal({ max_body: 0, actions_in: [], key: 'k', ids: new Set() })).toBeUndefined();
  expect(refusal({ max_body: Number.POSITIVE_INFINITY })).toBeUndefined();
  expect(createTagParser().push('<metadata>{"a": 1}</metadata>')).toHaveLength(1);
});

it('parseStream refuses the same before it reads, and handlers that nothing calls', async () => {
  const read: string[] = [];
  function* source() {
    read.push('read');
    yield 'text';
  }
  await expect(parseStream(source(), { onActions: () => {} } as object)).rejects.toMatchObject({
    code: 'bad_option',
    message: 'parseStream has no option "onActions".',
    hint: expect.stringContaining('Did you mean "onAction"?'),
  });
  await expect(parseStream(source(), { max_body: '1KiB' } as object)).rejects.toMatchObject({
    message: 'parseStream was given a "max_body" that it does not take.',
  });
  expect(read).toEqual([]);
});

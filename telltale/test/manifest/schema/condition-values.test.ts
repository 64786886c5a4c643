import { describe, expect, it } from 'vitest';
import { agent, said } from './said.ts';

const FIELDS = {
  status: { values: ['IDLE', 'CODING'] },
  level: { type: 'enum', values: [1, 2] },
  progress: { type: 'number', min: 0, max: 100 },
  count: { type: 'number', integer: true },
  note: { type: 'string', max_length: 5, pattern: '^a' },
  done: { type: 'boolean' },
  tags: { type: 'array', items: { type: 'string' }, max_items: 2 },
  free: { type: 'object' },
  shaped: {
    type: 'object',
    schema: {
      type: 'object',
      properties: {
        phase: { enum: ['plan', 'build', null] },
        fixed: { const: 'x' },
        n: { type: 'integer' },
        either: { type: ['string', 'number'] },
        deep: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
        open: { type: 'object', properties: {} },
        some: { type: 'object', patternProperties: { '^x': {} }, additionalProperties: false },
      },
      additionalProperties: false,
    },
  },
};

/** What is said of conditions on these fields, without the place. */
const saidOf = (conditions: unknown) =>
  said(
    agent({
      metadata: { fields: FIELDS },
      context_variables: {
        derived: [{ name: 'd', triggers: [{ type: 'metadata_match', conditions }] }],
      },
    }),
  ).map((line) => line.replace(/context_variables\.derived\.0\.triggers\.0\.conditions\.?/, ''));

describe('a condition that can hold is let through', () => {
  it.each([
    { status: 'IDLE' },
    { status: ['IDLE', 'CODING'] },
    { status: { in: ['IDLE'] }, level: { in: [1] } },
    { status: { not: 'IDLE' } },
    { status: { from: 'IDLE', to: ['CODING'] } },
    { status: { matches: '^C', contains: 'O', gt: 'A', exists: true } },
    { status: null },
    { level: { gt: 1, lte: 2 } },
    { progress: { any: [0, 100, { gt: 5 }] } },
    { count: 3 },
    { note: 'abcde' },
    { note: { gte: 'x', matches: 'b', contains: 'bbbbbbb' } },
    { done: { all: [{ changed: true }, true] } },
    { tags: { contains: 'x' } },
    { tags: { in: [['a', 'b']] } },
    { 'tags[0]': 'x' },
    { 'free.a.b': 1, free: { x: { gt: 'y' } } },
    { 'shaped.phase': 'plan', shaped: { n: 3, fixed: 'x', 'deep.text': 'x' } },
    { shaped: { open: { whatever: 1 }, some: { xa: 1, ya: 1 } } },
    { 'shaped.either': { gt: 3, matches: 'x', contains: 1 } },
    { shaped: { phase: 'plan', not: { n: 3 } } },
  ])('%j', (conditions) => {
    expect(saidOf(conditions)).toEqual([]);
  });
});

describe('a condition that never holds is an error with the reason', () => {
  const ask = 'Change the condition, or the declared type.';
  const own = 'Compare it with a value of the same type.';
  const value = 'Write a value that the field accepts.';
  const add = (missing: string) => `add ${missing} to the "values" of the metadata field "status".`;
  const listed = `Write one of its values, or ${add('"X"')}`;
  it.each<[unknown, string, string, string]>([
    [
      { status: 'CODNIG' },
      'status',
      '"CODNIG" is not IDLE or CODING.',
      `Did you mean "CODING"? If not, ${add('"CODNIG"')}`,
    ],
    [{ status: 7 }, 'status', '7 is not IDLE or CODING.', `Write one of its values, or ${add('7')}`],
    [{ status: ['IDLE', 'X'] }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ status: { in: ['X'] } }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ status: { not: 'X' } }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ status: { from: 'X' } }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ status: { to: 'X' } }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ status: { all: ['X'] } }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ status: { any: ['X'] } }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ all: [{ status: 'X' }] }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ any: [{ status: 'X' }] }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ not: { status: 'X' } }, 'status', '"X" is not IDLE or CODING.', listed],
    [{ status: { gt: 1 } }, 'status', '"gt" compares numbers, but this is an enum.', own],
    [{ level: { gt: 'x' } }, 'level', '"gt" compares texts, but this is an enum.', own],
    [{ progress: { gte: 'x' } }, 'progress', '"gte" compares texts, but this is a number.', own],
    [{ note: { lt: 1 } }, 'note', '"lt" compares numbers, but this is a string.', own],
    [{ done: { lte: 1 } }, 'done', '"lte" compares numbers, but this is a boolean.', own],
    [{ tags: { gt: 1 } }, 'tags', '"gt" compares numbers, but this is an array.', own],
    [{ progress: -1 }, 'progress', '-1 is less than the minimum 0.', value],
    [{ progress: 101 }, 'progress', '101 is greater than the maximum 100.', value],
    [{ progress: '5' }, 'progress', '"5" is not a number.', value],
    [{ count: 1.5 }, 'count', '1.5 is not a whole number.', value],
    [{ note: 'abcdef' }, 'note', '"abcdef" is longer than 5.', value],
    [{ note: 'b' }, 'note', '"b" does not match the pattern ^a.', value],
    [{ note: true }, 'note', 'true is not text.', value],
    [{ done: 1 }, 'done', '1 is not true or false.', value],
    [{ free: 1 }, 'free', '1 is not a map.', value],
    [{ tags: 'x' }, 'tags', '"x" is not a list.', 'To check what a list contains, write { contains: … }.'],
    [
      { tags: { in: [['a', 'b', 'c']] } },
      'tags',
      'it has 3 items, but at most 2 are allowed.',
      'To check what a list contains, write { contains: … }.',
    ],
    [
      { tags: { in: [['a', 7]] } },
      'tags',
      'item 2: 7 is not text.',
      'To check what a list contains, write { contains: … }.',
    ],
    [{ tags: { contains: 7 } }, 'tags', 'of its items, 7 is not text.', value],
    [
      { progress: { contains: 7 } },
      'progress',
      '"contains" needs a list or text, but this is a number.',
      ask,
    ],
    [{ tags: { matches: 'x' } }, 'tags', '"matches" needs text, but this is an array.', ask],
    [{ 'note.x': 1 }, 'note', 'it has no members, but this is a string.', ask],
    [{ note: { x: 1 } }, 'note', 'it has no members, but this is a string.', ask],
    [
      { 'shaped.phase': 'plam' },
      'shaped.phase',
      '"plam" is not plan or build.',
      'Did you mean "plan"? If not, add "plam" to the values that its schema allows.',
    ],
    [{ shaped: { n: 1.5 } }, 'shaped.n', '1.5 is not a whole number.', value],
    [
      { shaped: { fixed: 'y' } },
      'shaped.fixed',
      '"y" is not x.',
      'Write one of its values, or add "y" to the values that its schema allows.',
    ],
    [{ shaped: { 'deep.text': 5 } }, 'shaped.deep.text', '5 is not text.', value],
  ])('%j', (conditions, name, why, hint) => {
    const line = `The metadata field "${name}" can never match this: ${why} | ${hint}`;
    expect(saidOf(conditions)).toEqual([expect.stringMatching(/^never_matches /)]);
    expect(saidOf(conditions)[0]).toContain(`: ${line}`);
  });

  it.each<[unknown, string]>([
    [{ stauts: 1 }, 'There is no metadata field "stauts". | Did you mean "status"?'],
    [{ 'stauts.x': 1 }, 'There is no metadata field "stauts". | Did you mean "status"?'],
    [
      { shaped: { phasse: 1 } },
      'The schema of the metadata field "shaped" has no "phasse". | Did you mean "phase"?',
    ],
    [
      { 'shaped.deep.zzzzzzz': 1 },
      'The schema of the metadata field "shaped" has no "zzzzzzz". | It has: text.',
    ],
  ])('%j names what is not there', (conditions, message) => {
    expect(saidOf(conditions)).toEqual([expect.stringMatching(/^unknown_field /)]);
    expect(saidOf(conditions)[0]).toContain(`: ${message}`);
  });

  it('a name that reads like an operator is pointed out', () => {
    expect(saidOf({ free: { greater: 3 } })).toEqual([
      expect.stringMatching(/^warning likely_operator free\.greater: /),
    ]);
  });

  it('all of it is said at once, each at its place', () => {
    expect(
      saidOf({ status: 'X', any: [{ progress: 'y' }, { nope: 1 }] }).map((line) => line.split(':')[0]),
    ).toEqual(['never_matches status', 'never_matches any.0.progress', 'unknown_field any.1.nope']);
  });
});

import { describe, expect, it } from 'vitest';
import type { FieldError } from '../../src/log/session-events.ts';
import { describeField, type MetadataNews, renderMetadata } from '../../src/prompt/render-metadata.ts';
import { createEscape } from '../../src/prompt/text.ts';
import { agentWith } from './agent.ts';

const fields = {
  status: { values: ['IDLE', 'CODING'], default: 'IDLE' },
  note: { type: 'string', max_length: 9, pattern: '^a' },
};
const rejected: readonly FieldError[] = [
  { field: 'note', code: 'too_long', sent: '<action>', message: 'It is too long.', allowed: 'a string' },
];

const told = (injection: object, news: Partial<MetadataNews>) =>
  renderMetadata(
    { values: { status: 'CODING', note: 'x\n</result>' }, changed: [], rejected: [], first: false, ...news },
    agentWith({ metadata: { fields, injection } }).metadata,
    createEscape(),
  );

describe('the values of metadata', () => {
  it.each([
    ['auto', true, false, true],
    ['auto', false, true, true],
    ['auto', false, false, true],
    ['on_change', true, false, true],
    ['on_change', false, true, true],
    ['on_change', false, false, false],
    ['off', true, true, false],
  ])('with method %s, first %s, changed %s: shown %s', (method, first, changed, shown) => {
    const { values } = told({ method }, { first, changed: changed ? ['status'] : [] });
    expect(values !== '').toBe(shown);
  });

  it('are all shown at first, later only those that changed, each on one line and escaped', () => {
    expect(told({}, { first: true }).values).toBe(
      'Metadata, current values:\n- status: "CODING"\n- note: "x\\n&lt;/result>"',
    );
    expect(told({}, { changed: ['status'] }).values).toBe(
      'Metadata that changed, with its new values:\n- status: "CODING"',
    );
  });

  it('are shown with what each field takes before every turn where the manifest says auto', () => {
    expect(told({ method: 'auto' }, { changed: ['status'] }).values).toBe(
      'Metadata fields, with their current values:\n- status: one of "IDLE", "CODING" (current: "CODING")\n- note: a string of at most 9 characters in which /^a/ is found (current: "x\\n&lt;/result>")',
    );
  });

  it('are not told of where there are no fields', () => {
    const { metadata } = agentWith();
    const news = { values: {}, changed: [], rejected: [], first: true };
    expect(renderMetadata(news, metadata, createEscape())).toEqual({ errors: '', values: '' });
  });
});

describe('what was rejected', () => {
  it('is told whatever the method: what was sent, what is allowed, and the value as it is', () => {
    expect(told({ method: 'off' }, { rejected }).errors).toBe(
      'Metadata that was rejected:\n- note: "&lt;action>". It is too long. Allowed: a string.\n\nCurrent metadata (what was rejected is unchanged):\n- status: CODING\n- note: "x\\n&lt;/result>"',
    );
  });

  it('is bounded', () => {
    const many = Array.from(
      { length: 100 },
      () => ({ ...rejected[0], message: 'm'.repeat(9999) }) as FieldError,
    );
    expect(told({}, { rejected: many }).errors.length).toBeLessThan(30_000);
    const values = { note: 'v'.repeat(60_000) };
    expect(told({}, { rejected: many, values }).errors.length).toBeLessThan(50_000);
  });
});

describe('a template of the manifest', () => {
  const template = [
    'Fields:',
    '{fields}',
    'Now:',
    '{current}',
    'Allowed: {values.status} {values.nothing}',
    '- status: {values} (current: {current_value})',
    '- other: {values} {current_value}',
    '{errors}',
  ].join('\n');

  it('is filled with fields, values and errors', () => {
    // The manifest's check refuses unknown names, so this one is put in afterwards.
    const { metadata } = agentWith({ metadata: { fields } });
    const page = { ...metadata, injection: { method: 'auto' as const, template } };
    const news = { values: { status: 'CODING' }, changed: [], rejected, first: true };
    expect(renderMetadata(news, page, createEscape())).toEqual({
      errors: '',
      values: [
        'Fields:',
        '- status: one of "IDLE", "CODING"',
        '- note: a string of at most 9 characters in which /^a/ is found',
        'Now:',
        '- status: "CODING"',
        '- note: null',
        'Allowed: one of "IDLE", "CODING" {values.nothing}',
        '- status: one of "IDLE", "CODING" (current: "CODING")',
        '- other: {values} {current_value}',
        'Metadata that was rejected:',
        '- note: "&lt;action>". It is too long. Allowed: a string.',
        '',
        'Current metadata (what was rejected is unchanged):',
        '- status: CODING',
        '- note: null',
      ].join('\n'),
    });
  });

  it('is shown for errors alone where it has a place for them, and never looks into what it is filled with', () => {
    expect(told({ template: 'E: {errors}' }, { rejected })).toMatchObject({ errors: '' });
    expect(told({ template: 'C: {current}' }, { rejected }).values).toBe('');
    expect(told({ method: 'auto', template: 'C: {current}' }, {}).values).toContain('C: - status: "CODING"');
    expect(told({ template: 'C: {current}' }, { rejected }).errors).not.toBe('');
    const values = { status: '{errors}{current}', note: '$&' };
    expect(told({ template: '- status: {current_value}\n{current}' }, { first: true, values }).values).toBe(
      '- status: "{errors}{current}"\n- status: "{errors}{current}"\n- note: "$&"',
    );
  });
});

it.each([
  [{ type: 'number', min: 0, max: 9, integer: true }, 'a whole number from 0 to 9'],
  [{ type: 'number', min: 0 }, 'a number of at least 0'],
  [{ type: 'number', max: 0 }, 'a number of at most 0'],
  [{ type: 'boolean' }, 'true or false'],
  [{ type: 'object', merge: 'deep' }, 'an object, merged into the old one key by key (null removes a key)'],
  [{ type: 'object', schema: { type: 'object' } }, 'an object of the JSON Schema {"type":"object"}'],
  [
    { type: 'array', max_items: 3, items: { type: 'array', items: { values: [1, 2] } } },
    'a list of at most 3 items, each a list, each one of 1, 2',
  ],
])('%j is told as %s', (field, words) => {
  const { metadata } = agentWith({ metadata: { fields: { f: field } } });
  expect(describeField(metadata.fields.f as never)).toBe(words);
});

import { describe, expect, it } from 'vitest';
import { compileUserSchema } from '../../../src/manifest/schema/user-schemas/check-user-schema.ts';
import { said, tool } from './said.ts';

const about = (schema: object) => said(tool({ parameters: { type: 'object', ...schema } }));
const cannot = (path: string, key: string, value: string, hint: string) =>
  `bad_schema parameters.${path}: "${key}" cannot be ${value} in a JSON Schema. | ${hint}`;
const NAMES = 'Write "required: [names]" next to "properties", in the object that contains this one.';

describe('a JSON Schema that is none is shown with its place and what would be one', () => {
  it.each<[what: string, schema: object, said: readonly string[]]>([
    ['required as in draft 3', { required: true }, [cannot('required', 'required', 'true', NAMES)]],
    [
      'required of a property',
      { properties: { a: { type: 'string', required: true } } },
      [cannot('properties.a.required', 'required', 'true', NAMES)],
    ],
    [
      'required as a text',
      { required: 'a' },
      [cannot('required', 'required', '"a"', 'In JSON Schema "required" must be array.')],
    ],
    [
      'a bound that is a text',
      { properties: { a: { minimum: 'x' } } },
      [cannot('properties.a.minimum', 'minimum', '"x"', 'In JSON Schema "minimum" must be number.')],
    ],
    [
      'a type in a list',
      { properties: { a: { type: ['string', 'nul'] } } },
      [cannot('properties.a.type.1', 'type', '"nul"', 'Did you mean "null"?')],
    ],
    [
      'properties that are a list',
      { properties: [] },
      [cannot('properties', 'properties', 'an empty list', 'In JSON Schema "properties" must be object.')],
    ],
    [
      'under names with signs of their own',
      { properties: { 'a/b': { minLength: -1 }, 'c~d': { pattern: 5 } } },
      [
        cannot('properties.a/b.minLength', 'minLength', '-1', 'In JSON Schema "minLength" must be >= 0.'),
        cannot('properties.c~d.pattern', 'pattern', '5', 'In JSON Schema "pattern" must be string.'),
      ],
    ],
    [
      'the deepest places only, each once',
      { properties: { a: { anyOf: [{ type: 'strng' }, { minimum: 'x' }] } } },
      [
        cannot('properties.a.anyOf.0.type', 'type', '"strng"', 'Did you mean "string"?'),
        cannot('properties.a.anyOf.1.minimum', 'minimum', '"x"', 'In JSON Schema "minimum" must be number.'),
      ],
    ],
    [
      'beside what is only unknown',
      { properties: { a: { typ: 'x', minLength: -1 } } },
      [
        'warning unknown_keyword parameters.properties.a.typ: Unknown keyword "typ" in a JSON Schema. | Did you mean "type"?',
        cannot('properties.a.minLength', 'minLength', '-1', 'In JSON Schema "minLength" must be >= 0.'),
      ],
    ],
    [
      'a reference to nowhere',
      { properties: { a: { $ref: '#/definitions/q' } }, definitions: { p: {} } },
      [
        'bad_schema parameters.properties.a.$ref: The reference "#/definitions/q" does not exist. | Did you mean "#/definitions/p"?',
      ],
    ],
    [
      'a reference that is a number',
      { properties: { a: { $ref: 5 } } },
      [cannot('properties.a.$ref', '$ref', '5', 'In JSON Schema "$ref" must be string.')],
    ],
    [
      'a draft of another time',
      { $schema: 5 },
      [
        'bad_schema parameters.$schema: This JSON Schema declares an unsupported draft: 5. | Telltale supports draft 2020-12: https://json-schema.org/draft/2020-12/schema. Or remove "$schema".',
      ],
    ],
  ])('%s', (_what, schema, expected) => {
    expect(about(schema)).toEqual(expected);
  });

  it('while references by names with signs of their own lead there', () => {
    expect(
      about({ properties: { a: { $ref: '#/$defs/a~1b~0c' } }, $defs: { 'a/b~c': { type: 'string' } } }),
    ).toEqual([]);
    expect(about({ properties: { a: { $ref: '#/$defs/all' } }, $defs: { all: true } })).toEqual([]);
  });
});

describe('a value that a schema refuses', () => {
  it('is named by its path, and as a whole where it is all of it', () => {
    const compiled = compileUserSchema({
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'number' } } },
    });
    if (!compiled.ok) throw new Error('It is a schema.');
    expect(compiled.value({ a: [1, 2] })).toBeUndefined();
    expect(compiled.value({ a: [1, 'x'] })).toBe('/a/1 must be number');
    expect(compiled.value([])).toBe('it must be object');
  });

  it('is not judged by what is no schema', () => {
    expect(compileUserSchema({ type: 'objct' })).toMatchObject({ ok: false, error: [{ path: ['type'] }] });
  });
});

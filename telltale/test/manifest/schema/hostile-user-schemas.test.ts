import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/lib/json.ts';
import { compile } from '../../../src/manifest/schema/user-schemas/ajv.ts';
import {
  checkUserSchema,
  compileUserSchema,
} from '../../../src/manifest/schema/user-schemas/check-user-schema.ts';
import { MAX_SCHEMA_ROW } from '../../../src/manifest/schema/user-schemas/walk-user-schema.ts';
import { busyMs } from './busy-ms.ts';
import { agent, said } from './said.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const named = (count: number, make: (index: number) => Json): JsonObject =>
  Object.fromEntries(many(count, (index) => [`p${index}`, make(index)]));

/** Generous: what is guarded against takes minutes. */
const MAX_MS = 10_000;

function violation(schema: JsonObject, value: Json): string | undefined {
  const compiled = compileUserSchema(schema);
  if (!compiled.ok) throw new Error(compiled.error[0]?.message);
  return compiled.value(value);
}

describe('what every object inherits', () => {
  it.each([
    [
      'is not there where it is required',
      { required: ['toString'] },
      "it must have required property 'toString'",
    ],
    ['is not judged as a property', { properties: { valueOf: { type: 'string' } } }, undefined],
    ['asks for no other property', { dependentRequired: { toString: ['b'] } }, undefined],
    ['brings no other schema', { dependentSchemas: { hasOwnProperty: { required: ['b'] } } }, undefined],
  ])('%s', (_what, schema, said) => {
    expect(violation(schema as JsonObject, {})).toBe(said);
  });
});

describe('uniqueItems', () => {
  it('takes time by the length of a list, not by its square', () => {
    const list = many(100_000, (index) => ({ index }));
    const started = busyMs();
    expect(violation({ uniqueItems: true }, list)).toBeUndefined();
    expect(violation({ uniqueItems: true }, [...list, { index: 7 }])).toBe(
      'it must NOT have duplicate items',
    );
    expect(busyMs() - started).toBeLessThan(MAX_MS);
  });

  it('compares by value, whatever the order of keys, and converts nothing', () => {
    const isUnique = (...items: Json[]) => violation({ uniqueItems: true }, items) === undefined;
    expect(isUnique({ a: 1, b: [2] }, { b: [2], a: 1 })).toBe(false);
    expect(isUnique(1, '1', true, 'true', null, 'null', [], {}, '[]', '{}', [1], ['1'])).toBe(true);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(isUnique(value as Json, structuredClone(value) as Json)).toBe(false);
      }),
    );
  });

  it('asks for nothing where it is false', () => {
    expect(violation({ uniqueItems: false }, [1, 1])).toBeUndefined();
  });
});

describe('a JSON Schema that is as wide as it may be', () => {
  it.each<[string, (count: number) => JsonObject]>([
    ['allOf', (count) => ({ allOf: many(count, () => ({ type: 'object' })) })],
    ['oneOf', (count) => ({ oneOf: many(count, (index) => ({ required: [`p${index}`] })) })],
    ['properties', (count) => ({ properties: named(count, () => ({ type: 'string' })) })],
    ['prefixItems', (count) => ({ prefixItems: many(count, () => ({ type: 'string' })) })],
    ['patternProperties', (count) => ({ patternProperties: named(count, () => ({ type: 'string' })) })],
    ['dependentRequired', (count) => ({ dependentRequired: named(count, () => ['a']) })],
    ['dependentSchemas', (count) => ({ dependentSchemas: named(count, () => ({ type: 'object' })) })],
    [
      'properties in properties',
      (count) => ({
        properties: {
          ...named(count / 2 - 1, () => ({ type: 'string' })),
          z: { properties: named(count / 2, () => ({ type: 'string' })) },
        },
      }),
    ],
  ])(
    'by %s can be used, and one that is wider is refused before anything compiles it',
    (_keyword, schema) => {
      const started = busyMs();
      expect(checkUserSchema(schema(MAX_SCHEMA_ROW))).toEqual([]);
      expect(() => compile(schema(MAX_SCHEMA_ROW))({})).not.toThrow();
      for (const count of [MAX_SCHEMA_ROW + 2, 4_000])
        expect(checkUserSchema(schema(count))[0]?.message).toContain(
          `more than ${MAX_SCHEMA_ROW} parts side by side`,
        );
      expect(busyMs() - started).toBeLessThan(MAX_MS);
    },
    30_000,
  );

  it('by alternatives of which one is enough, and by named parts, may have thousands', () => {
    expect(checkUserSchema({ anyOf: many(3_000, (index) => ({ const: index })) })).toEqual([]);
    expect(checkUserSchema({ $defs: named(3_000, () => ({ type: 'string' })) })).toEqual([]);
  });

  it('does not end the check of a field that has a default', () => {
    const schema = { allOf: many(4_000, () => ({ type: 'object' })) };
    const fields = { f: { type: 'object', schema, default: {} } };
    expect(said(agent({ metadata: { fields } }))).toEqual([
      expect.stringContaining('bad_schema metadata.fields.f.schema.allOf'),
    ]);
  });

  it('by references that lead from one to the next is refused, and not thrown at', () => {
    const $defs = named(2_000, (index) => ({
      properties: { x: { $ref: `#/$defs/p${(index + 1) % 2_000}` } },
    }));
    expect(checkUserSchema({ $ref: '#/$defs/p0', $defs })[0]?.message).toContain('are nested too deep');
  });
});

describe('a keyword that JSON Schema does not know and ajv does', () => {
  it.each([
    ['nullable', { type: 'string', nullable: true }, 'Write "type: [string, \'null\']".'],
    ['dependencies', { dependencies: { a: ['b'] } }, 'Write "dependentRequired" or "dependentSchemas".'],
  ])('is not said to have no effect: %s', (_keyword, schema, hint) => {
    expect(checkUserSchema(schema)).toMatchObject([{ code: 'unknown_keyword', severity: 'warning', hint }]);
  });
});

describe('a value that is nested without end', () => {
  it('is judged as too deep by a schema that refers to itself', () => {
    const nested = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as Json;
    expect(violation({ items: { $ref: '#' } }, nested)).toBe('it is nested too deep to be checked');
  });
});

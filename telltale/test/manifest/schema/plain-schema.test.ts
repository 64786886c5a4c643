import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import { compile, metaSchema } from '../../../src/manifest/schema/user-schemas/ajv.ts';
import { isPlainSchema } from '../../../src/manifest/schema/user-schemas/check-user-schema.ts';
import { isFatal } from '../../../src/manifest/schema/user-schemas/schema-finding.ts';
import { KEYWORDS, walkUserSchema } from '../../../src/manifest/schema/user-schemas/walk-user-schema.ts';
import { moreRuns } from '../../more-runs.ts';

const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'null');
const numbers = fc.oneof(fc.integer({ min: -2, max: 5 }), fc.double());
const name = fc.constantFrom('a', 'b', 'toString', '', '__proto__');

/** Keywords with values of their kind, mostly; and any keyword with any value. */
const { schema } = fc.letrec<{ schema: JsonObject; part: JsonObject | boolean }>((tie) => ({
  part: fc.oneof({ weight: 3, arbitrary: tie('schema') }, fc.boolean()) as fc.Arbitrary<JsonObject | boolean>,
  schema: fc
    .array(
      fc.oneof(
        fc.tuple(fc.constant('type'), fc.oneof(type, fc.array(type, { maxLength: 3 }))),
        fc.tuple(
          fc.constantFrom('minimum', 'maximum', 'exclusiveMinimum', 'multipleOf', 'minLength', 'maxItems'),
          numbers,
        ),
        fc.tuple(fc.constantFrom('title', 'description', 'format', 'x-note', '$comment'), fc.string()),
        fc.tuple(fc.constantFrom('uniqueItems', 'deprecated', 'additionalProperties'), fc.boolean()),
        fc.tuple(fc.constantFrom('enum', 'examples', 'required'), fc.array(fc.oneof(name, fc.jsonValue()))),
        fc.tuple(fc.constantFrom('default', 'const'), fc.jsonValue()),
        fc.tuple(fc.constantFrom('items', 'additionalProperties'), tie('part')),
        fc.tuple(fc.constantFrom('allOf', 'anyOf', 'oneOf'), fc.array(tie('part'), { maxLength: 3 })),
        fc.tuple(fc.constant('properties'), fc.dictionary(name, tie('part'), { maxKeys: 3 })),
        fc.tuple(fc.constantFrom(...KEYWORDS), fc.jsonValue({ maxDepth: 2 })),
      ),
      { maxLength: 4 },
    )
    .map((entries) => Object.fromEntries(entries) as JsonObject),
}));

describe('a plain schema', () => {
  it('is found sound by the meta-schema, and can be compiled', () => {
    let plain = 0;
    fc.assert(
      fc.property(schema, (drawn) => {
        if (isFatal(walkUserSchema(drawn)) || !isPlainSchema(drawn)) return;
        plain += 1;
        expect(metaSchema().validateSchema(drawn)).toBe(true);
        expect(() => compile(drawn)).not.toThrow();
      }),
      { numRuns: moreRuns(2_000) },
    );
    expect(plain).toBeGreaterThan(100);
  });

  it.each([
    { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    { type: ['string', 'null'], description: 'A text.', enum: ['a', null], 'x-note': [1] },
    { type: 'array', items: { anyOf: [{ type: 'integer', minimum: 0 }, true] }, minItems: 1 },
  ])('is what most tools have: %j', (usual) => {
    expect(isPlainSchema(usual)).toBe(true);
  });

  it.each([
    { type: 'strng' },
    { type: [] },
    { enum: [] },
    { required: ['a', 'a'] },
    { properties: { a: 1 } },
    { minLength: -1 },
    { multipleOf: 0 },
    { anyOf: [] },
    { $ref: '#/$defs/a', $defs: { a: true } },
    { nullable: true },
    JSON.parse('{"properties":{"__proto__":{}}}'),
  ])('is not one that ajv has something to say about: %j', (other) => {
    expect(isPlainSchema(other)).toBe(false);
  });

  it('is checked without ajv being loaded', () => {
    const check = new URL('../../../src/manifest/schema/user-schemas/check-user-schema.ts', import.meta.url);
    const program = `import { checkUserSchema } from ${JSON.stringify(check.href)};
      import { createRequire } from 'node:module';
      const loaded = () => Object.keys(createRequire(${JSON.stringify(check.href)}).cache).some((file) => file.includes('ajv'));
      checkUserSchema({ type: 'object', properties: { a: { type: 'string' } } });
      const before = loaded();
      checkUserSchema({ $ref: '#/$defs/a', $defs: { a: true } });
      console.log(before, loaded());`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'false true\n', stderr: '' });
  });
});

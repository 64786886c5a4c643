import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compileField,
  createMetadata,
  MAX_ERRORS,
  type MetadataChanges,
  mergePatch,
} from '../../../src/agent/metadata/metadata.ts';
import type { Json, JsonObject } from '../../../src/lib/json.ts';
import { moreRuns } from '../../more-runs.ts';
import { agentWith } from '../../prompt/agent.ts';

const FIELDS = {
  status: { values: ['IDLE', 'CODING', 1], default: 'IDLE' },
  progress: { type: 'number', min: 0, max: 100, integer: true },
  title: { type: 'string', max_length: 8, pattern: '^[A-Z]' },
  blocked: { type: 'boolean', default: false, sticky: true },
  context: {
    type: 'object',
    merge: 'deep',
    schema: { type: 'object', properties: { phase: { type: 'string' } } },
  },
  plain: { type: 'object' },
  files: { type: 'array', items: { type: 'array', items: { type: 'string' }, max_items: 2 }, max_items: 2 },
};

const manifestOf = (keys: object = {}) => agentWith({ metadata: { fields: FIELDS, ...keys } }).metadata;
const metadata = createMetadata(manifestOf());

const applied = (current: JsonObject, changes: MetadataChanges): JsonObject => ({
  ...current,
  ...Object.fromEntries(Object.entries(changes).map(([field, { to }]) => [field, to])),
});

describe('an update of metadata', () => {
  it('changes the fields it names and leaves the others', () => {
    expect(metadata.apply({ status: 'IDLE', title: 'A' }, { status: 'CODING' })).toEqual({
      changes: { status: { from: 'IDLE', to: 'CODING' } },
      same: [],
      errors: [],
    });
  });

  it('that says what is already so changes nothing', () => {
    const current = { status: 'IDLE', plain: { a: [1, { b: 2 }] } };
    expect(metadata.apply(current, { status: 'IDLE', plain: { a: [1, { b: 2 }] }, progress: null })).toEqual({
      changes: {},
      same: ['status', 'plain', 'progress'],
      errors: [],
    });
  });

  it('applies field by field, and rejects the wrong ones with what was sent and what is allowed', () => {
    const { changes, errors } = metadata.apply({ status: 'IDLE' }, { status: 'CODNG', progress: 5 });
    expect(changes).toEqual({ progress: { from: null, to: 5 } });
    expect(errors).toEqual([
      {
        field: 'status',
        code: 'not_allowed',
        sent: 'CODNG',
        message: 'It is none of the values. Did you mean "CODING"?',
        allowed: 'one of "IDLE", "CODING", 1',
      },
    ]);
  });

  it('is rejected whole by one wrong field where on_invalid is all', () => {
    const strict = createMetadata(manifestOf({ on_invalid: 'all' }));
    const { changes, errors } = strict.apply({}, { status: 'CODING', progress: 101 });
    expect(changes).toEqual({});
    expect(errors.map(({ field, code }) => [field, code])).toEqual([['progress', 'above_max']]);
  });

  it.each<[string, Json, string, RegExp]>([
    ['status', '1', 'not_allowed', /a string; the value 1 is a number/],
    ['status', true, 'not_allowed', /none of the values/],
    ['status', { toString: {} }, 'not_allowed', /none of the values/],
    ['progress', -1, 'below_min', /-1 is below 0/],
    ['progress', 1.5, 'not_whole', /no whole number/],
    ['progress', '5', 'wrong_type', /a string, not a number/],
    ['progress', Number.NaN, 'wrong_type', /not a number/],
    ['title', 'Too long a title', 'too_long', /16 characters; 8 are allowed/],
    ['title', 'lower', 'no_match', /\^\[A-Z\]/],
    ['title', ['A'], 'wrong_type', /a list, not a string/],
    ['blocked', 'yes', 'wrong_type', /not true or false/],
    ['context', { phase: 1 }, 'bad_shape', /\/phase must be string/],
    ['context', [], 'wrong_type', /a list, not an object/],
    ['files', [['a'], ['b'], ['c']], 'too_many_items', /3 items; 2/],
    ['files', [['a'], ['b', 'c', 'd']], 'too_many_items', /Item 1: It has 3 items/],
    ['files', [['a', 1]], 'wrong_type', /Item 0: Item 1: It is a number/],
    ['statu', 'IDLE', 'undeclared', /Did you mean "status"/],
    ['constructor', 1, 'undeclared', /no such field/],
  ])('of %s to %j is rejected: %s', (field, value, code, message) => {
    const { changes, errors } = metadata.apply({}, { [field]: value });
    expect(changes).toEqual({});
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ field, code, message: expect.stringMatching(message) });
    expect(errors[0]?.allowed).not.toBe('');
  });

  it('to null sets a field back to its default, sticky or not', () => {
    const current = { status: 'CODING', progress: 5, blocked: true };
    expect(metadata.apply(current, { status: null, progress: null, blocked: null }).changes).toEqual({
      status: { from: 'CODING', to: 'IDLE' },
      progress: { from: 5, to: null },
      blocked: { from: true, to: false },
    });
  });

  it('merges an object where the field says so, and judges what comes out', () => {
    const current = { context: { phase: 'plan', deep: { a: 1, b: 2 } }, plain: { a: 1 } };
    const { changes } = metadata.apply(current, { context: { deep: { a: null, c: 3 } }, plain: { b: 2 } });
    expect(changes).toEqual({
      context: { from: current.context, to: { phase: 'plan', deep: { b: 2, c: 3 } } },
      plain: { from: { a: 1 }, to: { b: 2 } },
    });
  });

  it('keeps to the limit of depth, however deep it is', () => {
    const nested = (depth: number): Json => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as Json;
    const deep = createMetadata(manifestOf({ limits: { depth: 3 } }));
    expect(deep.apply({}, { plain: { a: nested(2) } }).errors).toEqual([]);
    expect(deep.apply({}, { plain: { a: nested(3) } }).errors[0]).toMatchObject({ code: 'too_deep' });
    const boundless = createMetadata(manifestOf({ limits: { depth: 1_000_000 } }));
    const pit = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`) as Json;
    for (const field of ['plain', 'context'])
      expect(boundless.apply({}, { [field]: pit(100_000) }).errors[0]).toMatchObject({
        code: 'too_deep',
        sent: 'a deep object',
      });
    expect(boundless.apply({}, { plain: { a: nested(100_000) } }).errors[0]).toMatchObject({
      code: 'too_deep',
    });
  });

  it('keeps to the limit of bytes: what grows is refused, what shrinks goes through', () => {
    const small = createMetadata(manifestOf({ limits: { bytes: 40 } }));
    const current = { plain: { a: 'é'.repeat(6) }, title: 'Abcdef' };
    const { changes, errors } = small.apply(current, { plain: { a: 'x'.repeat(40) }, title: 'A' });
    expect(Object.keys(changes)).toEqual(['title']);
    expect(errors).toMatchObject([
      { field: 'plain', code: 'too_large', allowed: expect.stringContaining('40 bytes') },
    ]);
  });

  it('counts a field that was not set as growing, by however little', () => {
    const full = createMetadata(manifestOf({ limits: { bytes: 8 } }));
    expect(full.apply({ title: 'Abcdef' }, { progress: 1 })).toMatchObject({
      changes: {},
      errors: [{ field: 'progress', code: 'too_large' }],
    });
  });

  it('gives a bounded number of errors of bounded size', () => {
    const update = Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`x${i}${'y'.repeat(500)}`, 'z'.repeat(5000)]),
    );
    const { errors } = metadata.apply({}, update);
    expect(errors).toHaveLength(MAX_ERRORS + 1);
    expect(errors.at(-1)).toMatchObject({ code: 'more_errors', message: expect.stringContaining('4968') });
    expect(JSON.stringify(errors).length).toBeLessThan(40_000);
  });

  it('is not fooled by names of Object.prototype', () => {
    const update = JSON.parse(
      '{"__proto__": {"polluted": 1}, "plain": {"__proto__": {"polluted": 1}}}',
    ) as JsonObject;
    const { changes, errors } = metadata.apply({}, update);
    expect(errors.map(({ field }) => field)).toEqual(['__proto__']);
    expect(JSON.stringify(changes.plain?.to)).toBe('{"__proto__":{"polluted":1}}');
    const merged = mergePatch({}, JSON.parse('{"__proto__": {"polluted": 1}}') as JsonObject);
    expect(Object.hasOwn(merged, '__proto__')).toBe(true);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('metadata at the start', () => {
  it('holds defaults, and nothing for fields without one', () => {
    expect(metadata.initial()).toEqual({ values: { status: 'IDLE', blocked: false }, dropped: [] });
  });

  it('takes what was kept where it still fits, and says what it dropped', () => {
    const { values, dropped } = metadata.initial({
      status: 'GONE',
      progress: 7,
      blocked: true,
      other: 1,
      title: null,
    });
    expect(values).toEqual({ status: 'IDLE', progress: 7, blocked: true });
    expect(dropped).toMatchObject([{ field: 'status', code: 'not_allowed', sent: 'GONE' }]);
  });

  it('falls back to defaults where what was kept is too large as a whole', () => {
    const small = createMetadata(manifestOf({ limits: { bytes: 40 } }));
    const { values, dropped } = small.initial({ plain: { a: 'x'.repeat(50) }, progress: 1 });
    expect(values).toEqual({ status: 'IDLE', blocked: false });
    expect(dropped.map(({ field, code }) => [field, code])).toEqual([
      ['progress', 'too_large'],
      ['plain', 'too_large'],
    ]);
  });
});

it('a reset sets all fields back but the sticky ones', () => {
  expect(metadata.reset({ status: 'CODING', progress: 3, blocked: true, title: null })).toEqual({
    status: { from: 'CODING', to: 'IDLE' },
    progress: { from: 3, to: null },
  });
});

describe('whatever is sent', () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
    fc.constantFrom<Json>('IDLE', 'CODING', 1, 50, 'Title', true, null, { phase: 'x' }, [['a']], {
      a: { b: null },
    }),
  );
  const update = fc.dictionary(fc.oneof(fc.constantFrom(...Object.keys(FIELDS)), fc.string()), value);
  const updates = fc.array(update, { maxLength: 6 });
  const manifest = manifestOf({ limits: { bytes: 120, depth: 3 } });
  const tight = createMetadata(manifest);
  const checks = new Map(
    Object.entries(manifest.fields).map(([name, field]) => [name, compileField(name, field)]),
  );

  it('the values always satisfy their fields and limits', () => {
    fc.assert(
      fc.property(updates, (all) => {
        let current = tight.initial().values;
        for (const each of all) current = applied(current, tight.apply(current, each).changes);
        let bytes = 0;
        for (const [name, held] of Object.entries(current)) {
          if (held === null) continue;
          expect(checks.get(name)?.(held)).toBeUndefined();
          bytes += Buffer.byteLength(JSON.stringify(held));
        }
        expect(checks.size).toBeGreaterThanOrEqual(Object.keys(current).length);
        expect(bytes).toBeLessThanOrEqual(120);
      }),
      { numRuns: moreRuns(500) },
    );
  });

  it('a field that is rejected keeps its value', () => {
    fc.assert(
      fc.property(updates, (all) => {
        let current = tight.initial().values;
        for (const each of all) {
          const { changes, errors } = tight.apply(current, each);
          for (const { field } of errors) expect(Object.hasOwn(changes, field)).toBe(false);
          current = applied(current, changes);
        }
      }),
    );
  });

  it('the order of its fields does not matter', () => {
    fc.assert(
      fc.property(updates, update, (all, last) => {
        let current = tight.initial().values;
        for (const each of all) current = applied(current, tight.apply(current, each).changes);
        const turned = Object.fromEntries(Object.entries(last).reverse());
        const one = tight.apply(current, last);
        const other = tight.apply(current, turned);
        expect(other.changes).toEqual(one.changes);
        expect(other.errors.map(({ field, code }) => `${field} ${code}`).sort()).toEqual(
          one.errors.map(({ field, code }) => `${field} ${code}`).sort(),
        );
      }),
      { numRuns: moreRuns(500) },
    );
  });
});

import fc from 'fast-check';
import { ACTION_KINDS } from '../../src/lib/calls.ts';
import type { Json } from '../../src/lib/json.ts';

/** Every field, what is none, and what every object inherits. */
const KEYS = [
  'name',
  'parameters',
  'output_key',
  'depends_on',
  'timeout',
  'retry',
  'on_error',
  'if',
  'compensate',
  'literal',
  'arguments',
  'args',
  'input',
  'template',
  'type',
  'mode',
  'id',
  'dependson',
  '__proto__',
  'constructor',
  'toString',
  '0',
];

// biome-ignore format: a table
const ATTRIBUTES = [
  '', '', ' id="a1"', ' mode="sync"', ' type="context_feed"', ' name="n"', ' name="m"', ' retry="1"', ' timeout="1.5"',
  ' depends_on="a1"', ' output_key="a1"', ' on_error=skip', ' literal="true"', ' name="n" literal=false',
] as const;

const KIND_WORDS = [...ACTION_KINDS, 'context_feed', 'Tool'];

const SCALARS: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  1.5,
  1e300,
  '',
  ' ',
  'a1',
  '9a',
  'a-b',
  'a b',
  'é',
  '__proto__',
  'skip',
  'fail',
  'retry',
  'Skip',
  'sync',
  'tool',
  '{"a":1}',
  '"{}"',
  '""',
];

const { envelope } = fc.letrec<{ value: Json; field: [string, Json]; envelope: string; inner: Json }>(
  (tie) => ({
    inner: tie('envelope').map((text) => JSON.parse(text) as Json),
    value: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...SCALARS) },
      { weight: 1, arbitrary: fc.array(fc.constantFrom(...SCALARS), { maxLength: 3 }) },
      { weight: 1, arbitrary: tie('inner') },
    ),
    field: fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...KEYS), tie('value')) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('type'), fc.constantFrom(...KIND_WORDS)) },
      { weight: 1, arbitrary: fc.tuple(fc.constant('compensate'), tie('inner')) },
    ),
    // As text: a key may stand twice, and `__proto__` is one like any other.
    envelope: fc
      .tuple(
        fc.constantFrom('', '"name":"n"', '"name":"n"', '"template":"t"'),
        fc.array(tie('field'), { maxLength: 2 }),
      )
      .map(([first, fields]) => {
        const written = fields.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
        return `{${[first, ...written].filter((text) => text !== '').join(',')}}`;
      }),
  }),
);

/** Actions whose JSON is well-formed, and whose fields may be anything. */
export const envelopeTurn: fc.Arbitrary<string> = fc
  .array(
    fc
      .tuple(
        fc.constantFrom(...ATTRIBUTES),
        envelope,
        fc.constantFrom(['', ''], ['<parallel>', '</parallel>'], ['<foreach in="$l">', '</foreach>']),
      )
      .map(([attributes, body, [before, after]]) => `${before}<action${attributes}>${body}</action>${after}`),
    { minLength: 1, maxLength: 3 },
  )
  .map((actions) => actions.join('\n'));

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createToAction } from '../../src/agent/to-action.ts';
import type { ActionIntent } from '../../src/parser/intents.ts';

const word = fc.string({ minLength: 1, maxLength: 8 });
/** All fields that an intent may have; the template names none. */
const intents = fc.record(
  {
    type: fc.constant('action' as const),
    id: word,
    kind: fc.constantFrom('tool' as const, 'relic' as const),
    mode: fc.constantFrom('sync' as const, 'fire_and_forget' as const),
    name: word,
    parameters: fc.dictionary(word, fc.nat()),
    literal: fc.boolean(),
    output_key: word,
    depends_on: fc.array(word),
    timeout: fc.nat(),
    retry: fc.nat(),
    on_error: fc.constantFrom('skip' as const, 'fail' as const),
    if: word,
    compensate: fc.constant({ name: 'undo' }),
    template: fc.constant('nothing'),
    in: fc.constantFrom('thought' as const, 'response' as const),
    repaired: fc.constant(true as const),
  } satisfies { readonly [Field in keyof Required<ActionIntent>]: fc.Arbitrary<unknown> },
  { requiredKeys: ['type', 'id', 'name', 'parameters'] },
) as fc.Arbitrary<ActionIntent>;

it('an action that names no template is declared as one whose template says nothing', () => {
  const toAction = createToAction({ nothing: {} } as Parameters<typeof createToAction>[0]);
  fc.assert(
    fc.property(intents, (intent) => {
      const { template: _, ...plain } = intent;
      const short = toAction(plain, []);
      const long = toAction({ ...plain, template: 'nothing' }, []);
      expect(long).toEqual(short.ok ? { ok: true, value: { ...short.value, template: 'nothing' } } : short);
    }),
  );
});

it('its fields stand on the log in the order in which they always stood there', () => {
  const toAction = createToAction({} as Parameters<typeof createToAction>[0]);
  const declared = toAction(
    {
      type: 'action',
      id: 'a',
      name: 'n',
      parameters: {},
      output_key: 'k',
      depends_on: ['b'],
      timeout: 1,
      retry: 2,
      on_error: 'skip',
      if: 'true',
      in: 'thought',
    },
    [],
  );
  const fields = 'id kind mode name parameters output_key depends_on timeout retry on_error if in';
  expect(declared.ok && Object.keys(declared.value).join(' ')).toBe(fields);
});

import { z } from 'zod';
import { choiceByValue } from './choice.ts';
import { closed, type Slips } from './closed.ts';
import { userSchema } from './user-schema.ts';
import { countFromZero, flag, jsonValue, pattern, text } from './values.ts';

export const FIELD_TYPES = ['enum', 'string', 'number', 'boolean', 'object', 'array'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** The keys of each type beyond those of every field. Misplaced keys are found with it. */
const OWN_KEYS: Readonly<Record<FieldType, readonly string[]>> = {
  enum: ['values'],
  string: ['max_length', 'pattern'],
  number: ['min', 'max', 'integer'],
  boolean: [],
  object: ['schema', 'merge'],
  array: ['items', 'max_items'],
};

const ALIASES: Slips = {
  enum: 'List the allowed values under "values".',
  options: 'List the allowed values under "values".',
  choices: 'List the allowed values under "values".',
  minimum: 'Use "min" for the smallest number.',
  maximum: 'Use "max" for the largest number.',
  maxLength: 'Use "max_length" for the greatest length of a string.',
  regex: 'Use "pattern" for a regular expression.',
  maxItems: 'Use "max_items" for the greatest number of items.',
  properties: 'Put the JSON Schema of an object into "schema".',
  required: 'Metadata fields are never required. The model sets only those that it wants to change.',
  persist: 'Use "sticky: true" for a field that survives a reset.',
};

const common = {
  description: text('What the field means; the model reads it.').optional(),
  default: jsonValue('The value at the start and after a reset. Must satisfy the field.').optional(),
  sticky: flag('true: the value survives a reset.').default(false),
};

function field<Shape extends z.core.$ZodLooseShape>(type: FieldType, own: Shape) {
  const title = `${/^[aeo]/.test(type) ? 'an' : 'a'} ${type} field`;
  const slips: Record<string, string> = { ...ALIASES };
  for (const other of FIELD_TYPES)
    for (const key of OWN_KEYS[other])
      if (!OWN_KEYS[type].includes(key))
        slips[key] =
          `"${key}" belongs to a field of type ${other}. A field of type ${type} has ${[...OWN_KEYS[type], ...Object.keys(common)].join(', ')}.`;
  return closed({ title, slips, id: `Field_${type}` }, { ...own, ...common });
}

const enumValue = z
  .union([z.string(), z.number(), z.boolean()])
  .meta({ description: 'An allowed value.', expects: 'text, a number or true/false' });

const simpleFields = {
  enum: field('enum', {
    type: z.literal('enum').default('enum'),
    values: z.array(enumValue).min(1).describe('The allowed values.'),
  }),
  string: field('string', {
    type: z.literal('string'),
    max_length: countFromZero('The greatest length, in UTF-16 code units.').optional(),
    pattern: pattern('A regular expression (RE2) that must be found in the text.').optional(),
  }),
  number: field('number', {
    type: z.literal('number'),
    min: z.number().describe('The least value.').optional(),
    max: z.number().describe('The greatest value.').optional(),
    integer: flag('true: whole numbers only.').default(false),
  }),
  boolean: field('boolean', { type: z.literal('boolean') }),
  object: field('object', {
    type: z.literal('object'),
    schema: userSchema('A JSON Schema (2020-12) that the object must satisfy.').optional(),
    merge: z
      .enum(['replace', 'deep'])
      .default('replace')
      .describe('How an update meets the old value: in its place, or merged as RFC 7396 says.'),
  }),
};

const arrayField = <Item>(item: z.ZodType<Item>) =>
  field('array', {
    type: z.literal('array'),
    items: item.optional().describe('What each item must be: a field without a name.'),
    max_items: countFromZero('The greatest number of items.').optional(),
  });

export type SimpleField = z.output<(typeof simpleFields)[keyof typeof simpleFields]>;
export type ArrayField = Omit<z.output<ReturnType<typeof arrayField<unknown>>>, 'items'> & {
  readonly items?: MetadataField | undefined;
};
export type MetadataField = SimpleField | ArrayField;

const item: z.ZodType<MetadataField> = z.lazy(() => metadataField);

/** One field of an agent's metadata. `values` without `type` is an enum. */
export const metadataField: z.ZodType<MetadataField> = choiceByValue(
  'A metadata field',
  'type',
  { ...simpleFields, array: arrayField(item) },
  { by: 'values', branch: 'enum' },
).meta({ id: 'MetadataField', description: 'A field that the model may set.' });

import type { JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { MetadataField } from '../../manifest/schema/metadata-field.ts';
import { describeField } from '../describe-field.ts';
import { shortSchema } from '../short-schema.ts';
import { placedSchema } from './placed-schema.ts';

/** Lists of lists beyond this are any lists. */
const MAX_ITEMS_DEPTH = 8;

/** Whether there is any metadata to set. */
export const hasMetadata = ({ metadata }: AgentManifest): boolean => Object.keys(metadata.fields).length > 0;

/** What setting it means, in words for the model. */
export function aboutMetadata({ metadata }: AgentManifest): string {
  const invalid = metadata.on_invalid === 'all' ? ' One wrong field rejects the whole update.' : '';
  return `Tells others what you are doing: keep it true. Set only what changes; null resets it.${invalid}`;
}

/** The fields of metadata as JSON Schema of an update; `place` is where it stands in the schema around it. */
export function metadataSchema({ metadata }: AgentManifest, place = '#'): JsonObject {
  const properties = Object.entries(metadata.fields).map(([name, field]) => {
    const description = [field.description?.trim() ?? '', ...inWords(field)]
      .filter((part) => part !== '')
      .join(' ');
    const schema = resettable(fieldSchema(field, `${place}/properties/${name}/anyOf/0`, 0));
    return [name, description === '' ? schema : { ...schema, description }] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** What the schema of a field does not say. */
function inWords(field: MetadataField): readonly string[] {
  if (field.type === 'string' && field.pattern !== undefined) return [`Takes ${describeField(field)}.`];
  return field.type === 'object' && field.merge === 'deep'
    ? ['Merged into the old value; null removes a key.']
    : [];
}

/** Some providers let a model write nothing but what the schema allows, so the reset has to stand in it. */
function resettable(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  if (Array.isArray(values))
    return { ...(typeof type === 'string' ? { type: [type, 'null'] } : {}), enum: [...values, null] };
  const isPlain = typeof type === 'string' && ['string', 'number', 'integer', 'boolean'].includes(type);
  return isPlain ? { ...schema, type: [type, 'null'] } : { anyOf: [schema, { type: 'null' }] };
}

function fieldSchema(field: MetadataField, place: string, depth: number): JsonObject {
  switch (field.type) {
    case 'enum':
      return {
        ...(field.values.every((value) => typeof value === 'string') ? { type: 'string' } : {}),
        enum: [...field.values],
      };
    case 'string':
      // A pattern is RE2's, which validators of providers do not read: it stands in the description.
      return { type: 'string', ...given('maxLength', field.max_length) };
    case 'number':
      return {
        type: field.integer ? 'integer' : 'number',
        ...given('minimum', field.min),
        ...given('maximum', field.max),
      };
    case 'boolean':
      return { type: 'boolean' };
    case 'object':
      return field.schema === undefined ? { type: 'object' } : placedSchema(shortSchema(field.schema), place);
    case 'array':
      return {
        type: 'array',
        ...given('maxItems', field.max_items),
        ...(field.items === undefined || depth >= MAX_ITEMS_DEPTH
          ? {}
          : { items: fieldSchema(field.items, `${place}/items`, depth + 1) }),
      };
  }
}

const given = (key: string, value: number | undefined): JsonObject =>
  value === undefined ? {} : { [key]: value };

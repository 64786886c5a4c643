import type { JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { MetadataField } from '../../manifest/schema/metadata-field.ts';
import { describeField } from '../describe-field.ts';
import { placedSchema } from './placed-schema.ts';

/** Lists of lists beyond this are any lists. */
const MAX_ITEMS_DEPTH = 8;

/** Whether there is any metadata to set. */
export const hasMetadata = ({ metadata }: AgentManifest): boolean => Object.keys(metadata.fields).length > 0;

/** What setting it means, in words for the model. */
export function aboutMetadata({ metadata }: AgentManifest): string {
  const invalid =
    metadata.on_invalid === 'all'
      ? 'One wrong field rejects the whole update.'
      : 'A wrong field is rejected, the others apply.';
  return `Declares what you are doing. Others act on it, so keep it true. Set only the fields you change; null sets one back to its default. ${invalid}`;
}

/** The fields of metadata as JSON Schema of an update; `place` is where it stands in the schema around it. */
export function metadataSchema({ metadata }: AgentManifest, place = '#'): JsonObject {
  const properties = Object.entries(metadata.fields).map(([name, field]) => {
    const start = field.default === undefined ? '' : ` Default: ${JSON.stringify(field.default)}.`;
    const told = field.description === undefined ? '' : `${field.description.trim()} `;
    const description = `${told}Takes ${describeField(field)}.${start}`;
    const set = fieldSchema(field, `${place}/properties/${name}/anyOf/0`, 0);
    // Some providers let a model write nothing but what the schema allows, so the reset has to stand in it.
    return [name, { anyOf: [set, { type: 'null' }], description }] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false };
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
      return field.schema === undefined ? { type: 'object' } : placedSchema(field.schema, place);
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

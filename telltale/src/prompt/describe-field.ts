import type { Json } from '../kernel/json.ts';
import type { MetadataField } from '../manifest/schema/metadata-field.ts';
import { clip } from './cut-text.ts';

const MAX_VALUES_LISTED = 64;
const MAX_SCHEMA_SHOWN = 2000;
/** Lists of lists beyond this are described as lists. */
const MAX_ITEMS_DEPTH = 8;

/** What a field takes, in words for the model: `one of "IDLE", "CODING"`, `a whole number from 0 to 100`. */
export function describeField(field: MetadataField, depth = 0): string {
  switch (field.type) {
    case 'enum':
      return `one of ${listValues(field.values)}`;
    case 'string':
      return `a string${field.max_length === undefined ? '' : ` of at most ${field.max_length} characters`}${field.pattern === undefined ? '' : ` in which /${field.pattern}/ is found`}`;
    case 'number':
      return `a ${field.integer ? 'whole ' : ''}number${range(field.min, field.max)}`;
    case 'boolean':
      return 'true or false';
    case 'object':
      return `an object${field.schema === undefined ? '' : ` of the JSON Schema ${clip(JSON.stringify(field.schema), MAX_SCHEMA_SHOWN)}`}${field.merge === 'deep' ? ', merged into the old one key by key (null removes a key)' : ''}`;
    case 'array': {
      const most = field.max_items === undefined ? '' : ` of at most ${field.max_items} items`;
      if (field.items === undefined || depth >= MAX_ITEMS_DEPTH) return `a list${most}`;
      return `a list${most}, each ${describeField(field.items, depth + 1)}`;
    }
  }
}

function listValues(values: readonly Json[]): string {
  const shown = values.slice(0, MAX_VALUES_LISTED).map((value) => JSON.stringify(value));
  const more = values.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}

import type { JsonObject } from '../../kernel/json.ts';
import { checkUserSchema } from '../../manifest/schema/user-schemas/check-user-schema.ts';
import { isFatal } from '../../manifest/schema/user-schemas/schema-finding.ts';

const MAX_SCHEMA_CHARS = 64 * 1024;

/**
 * A server's schema where it can be compiled and is of a size that a model can read; else one that lets every object
 * pass, since the server checks its parameters itself. The draft it names is dropped: most say draft 7 and use nothing
 * that has changed since.
 */
export function usableSchema({ $schema: _, ...schema }: JsonObject): JsonObject {
  const anything = { type: 'object' };
  if (schema.type !== 'object' || JSON.stringify(schema).length > MAX_SCHEMA_CHARS) return anything;
  return isFatal(checkUserSchema(schema)) ? anything : schema;
}

import type { JsonObject } from '../../kernel/json.ts';
import { checkWithoutCompiling } from '../../manifest/schema/user-schemas/check-user-schema.ts';
import { isFatal } from '../../manifest/schema/user-schemas/schema-finding.ts';

const MAX_SCHEMA_CHARS = 64 * 1024;
/** Of all tools of one server together: looking at them all must not hold up the process. */
const MAX_SERVER_CHARS = 1024 * 1024;

/**
 * A server's schema where it is sound and of a size that a model can read; else one that lets every object pass, since
 * the server checks its parameters itself. The draft it names is dropped: most say draft 7 and use nothing that has
 * changed since. It is compiled at the first call of its tool, which takes much longer than all the rest.
 */
export const usableSchema = (schema: JsonObject): JsonObject => createSchemaIntake()(schema);

/** The same for the tools of one server, which share a limit. */
export function createSchemaIntake(): (schema: JsonObject) => JsonObject {
  let left = MAX_SERVER_CHARS;
  return ({ $schema: _, ...schema }) => {
    const anything = { type: 'object' };
    if (schema.type !== 'object') return anything;
    const size = JSON.stringify(schema).length;
    if (size > MAX_SCHEMA_CHARS || size > left) return anything;
    left -= size;
    return isFatal(checkWithoutCompiling(schema)) ? anything : schema;
  };
}

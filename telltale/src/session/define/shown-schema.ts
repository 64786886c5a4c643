import type { IssuePath } from '../../manifest/issue.ts';
import type { Found } from './code-findings.ts';
import { jsonSchemaOf } from './json-schema-of.ts';
import { isStandardSchema } from './schema.ts';

/** What stands in the document for a schema: itself, where it is JSON Schema; else `jsonSchema`, or what its library writes. */
export async function shownSchema(
  schema: unknown,
  jsonSchema: unknown,
  path: IssuePath,
  findings: Found[],
): Promise<unknown> {
  if (!isStandardSchema(schema)) return schema;
  if (jsonSchema !== undefined) return jsonSchema;
  const made = await jsonSchemaOf(schema, 'input');
  if (made.ok) return made.schema;
  findings.push({ path, finding: made.finding });
  return undefined;
}

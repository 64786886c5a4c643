import { z } from 'zod';
import type { JsonObject } from '../../kernel/json.ts';
import { scriptSchema } from './script-schema.ts';

/** The JSON Schema (2020-12) of a `scripted:` file, for editors: made from the definition that `readScript` uses. */
export function scriptJsonSchema(): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(scriptSchema, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      delete jsonSchema.expects;
    },
  });
  const schema = { $schema, $id: 'urn:telltale:schema:Script', title: 'Telltale script', ...rest };
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}

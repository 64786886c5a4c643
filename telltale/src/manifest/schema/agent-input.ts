import type { JsonObject } from '../../kernel/json.ts';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { isMap } from './is-map.ts';
import { userSchema } from './user-schema.ts';

const DESCRIPTION =
  'A JSON Schema (2020-12) of what other agents and workflows call this agent with; without one, any parameters are added to its task.';

const bare = userSchema(DESCRIPTION);
const named = closed(
  { title: '"input"', description: 'The same schema, written as in "output".' },
  { schema: userSchema('A JSON Schema (2020-12).') },
);

/** `{ schema: … }`, as in "output", or the schema alone, as in a Workflow. */
export const isNamedSchema = (value: unknown): value is { readonly schema: JsonObject } =>
  isMap(value) && isMap(value.schema) && Object.keys(value).length === 1;

export const agentInput = choice([bare, named], (value) => (isNamedSchema(value) ? named : bare))
  .describe(DESCRIPTION)
  .optional();

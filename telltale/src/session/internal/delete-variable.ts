import type { Json } from '../../kernel/json.ts';
import type { Definition } from './definition.ts';
import { change, noneToWrite, variableToWrite } from './variables.ts';

export const deleteVariable: Definition = {
  name: 'delete_variable',
  description: 'Puts a runtime variable back to its default; to null where it has none.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { name: { type: 'string', description: 'The variable.' } },
    required: ['name'],
    additionalProperties: false,
  },
  useless: noneToWrite,
  run: async (input, edges) => {
    const { name } = input as { name: string };
    const variable = variableToWrite(name, edges.manifest);
    return change(edges, name, (variable.default ?? null) as Json);
  },
};

import type { Json } from '../../kernel/json.ts';
import type { Definition } from './definition.ts';
import { change, checkValue, noneToWrite, variableToWrite } from './variables.ts';

export const setVariable: Definition = {
  name: 'set_variable',
  description: 'Sets a runtime variable, for this session.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The variable.' },
      value: { description: 'Its new value, of the type it was declared with.' },
    },
    required: ['name', 'value'],
    additionalProperties: false,
  },
  useless: noneToWrite,
  run: async (input, edges) => {
    const { name, value } = input as { name: string; value: Json };
    const variable = variableToWrite(name, edges.manifest);
    checkValue(variable, value);
    return change(edges, name, value);
  },
};

import type { Json } from '../../kernel/json.ts';
import type { Definition } from './definition.ts';
import { noneToWrite } from './variables.ts';

export const setVariable: Definition = {
  name: 'set_variable',
  description: 'Sets a variable: a runtime one for this session, a defined one for all that share it.',
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
    const { from, to } = edges.setVariable(name, value, 'model');
    return { name, from, to };
  },
};

import type { Json } from '../../kernel/json.ts';
import type { Definition } from './definition.ts';
import { noneToWrite } from './variables.ts';

export const setVariable: Definition = {
  name: 'set_variable',
  description: 'Sets a variable.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Its name.' },
      value: { description: 'The new value.' },
    },
    required: ['name', 'value'],
    additionalProperties: false,
  },
  useless: noneToWrite,
  run: async (input, deps) => {
    const { name, value } = input as { name: string; value: Json };
    const { from, to } = deps.setVariable(name, value, 'model');
    return { name, from, to };
  },
};

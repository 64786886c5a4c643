import type { Json } from '../../kernel/json.ts';
import { settableBy } from '../variables/variable-writer.ts';
import type { Definition } from './definition.ts';
import { noneToWrite } from './variables.ts';

export const deleteVariable: Definition = {
  name: 'delete_variable',
  description: 'Resets a variable to its default, or to null if it has none.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Its name.' } },
    required: ['name'],
    additionalProperties: false,
  },
  useless: noneToWrite,
  run: async (input, deps) => {
    const { name } = input as { name: string };
    const byDefault = (settableBy(deps.manifest, name, 'model').default ?? null) as Json;
    const { from, to } = deps.setVariable(name, byDefault, 'model', { resets: true });
    return { name, from, to };
  },
};

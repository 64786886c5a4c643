import { type Definition, noSuchAction } from './definition.ts';

export const rollbackAction: Definition = {
  name: 'rollback',
  description:
    'Undoes completed actions in reverse order by running what each declared as "compensate", down to and including the one named.',
  idempotent: false,
  parameters: {
    type: 'object',
    properties: { to: { type: 'string', description: 'The action to go back to; all of them if absent.' } },
    additionalProperties: false,
  },
  run: async (input, { state, rollback }) => {
    const { to } = input as { to?: string };
    if (to !== undefined && !state.actions.has(to)) throw noSuchAction(to, state);
    const { undone } = await rollback(to);
    return { undone: [...undone] };
  },
};

import { type ActionStatus, hasEnded } from '../../events/action.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { MAX_SHOWN } from '../../prompt/limits.ts';
import { readOutput } from '../../prompt/read-output.ts';
import { type Definition, noSuchAction } from './definition.ts';

export const readOutputAction: Definition = {
  name: 'read_output',
  description: 'Reads on in a result that was too long to be shown whole.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The action whose result it is.' },
      offset: { type: 'integer', minimum: 0, description: 'The first character to show; 0 if absent.' },
      limit: { type: 'integer', minimum: 1, maximum: MAX_SHOWN, description: 'How many characters.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  run: async (input, { state }) => {
    const { id, offset, limit } = input as { id: string; offset?: number; limit?: number };
    const action = state.actions.get(id);
    if (action === undefined) throw noSuchAction(id, state);
    // An empty page would read as an empty result.
    if (!hasEnded(action.status)) throw notEnded(id, action.status);
    return { ...readOutput(action, offset, limit) };
  },
};

const notEnded = (id: string, status: ActionStatus) =>
  new RuntimeError('action_not_ended', `The action "${id}" has no result yet: it is ${status}.`, {
    hint: `You are shown its result when it has ended. To read on in it then, write "depends_on": ["${id}"].`,
  });

import { type ActionStatus, hasEnded } from '../../events/action.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { maxResultOf } from '../../prompt/block-style.ts';
import { readOutput } from '../../prompt/read-output.ts';
import { type Definition, noSuchAction } from './definition.ts';

export const readOutputAction: Definition = {
  name: 'read_output',
  description:
    'Reads on in a result that was too long to be shown whole. The result is the text from "offset" on; its tag says next_offset, where to go on, and total.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The action whose result it is.' },
      offset: { type: 'integer', minimum: 0, description: 'The first character to show; 0 if absent.' },
      limit: {
        type: 'integer',
        minimum: 1,
        description: 'How many characters; as many as a result shows if absent, and never more.',
      },
    },
    required: ['id'],
    additionalProperties: false,
  },
  run: async (input, { state, manifest }) => {
    const { id, offset, limit } = input as { id: string; offset?: number; limit?: number };
    const action = state.actions.get(id);
    if (action === undefined) throw noSuchAction(id, state);
    // An empty page would read as an empty result.
    if (!hasEnded(action.status)) throw notEnded(id, action.status);
    return { ...readOutput(action, maxResultOf(manifest), offset, limit) };
  },
};

const notEnded = (id: string, status: ActionStatus) =>
  new RuntimeError('action_not_ended', `The action "${id}" has no result yet: it is ${status}.`, {
    hint: `You are shown its result when it has ended. To read on in it then, write "depends_on": ["${id}"].`,
  });

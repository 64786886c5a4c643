import { type ActionStatus, hasEnded } from '../../events/action.ts';
import { newestOf } from '../../events/action-id.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { maxResultOf } from '../../prompt/block-style.ts';
import { readOutput } from '../../prompt/read-output.ts';
import { type Definition, noSuchAction } from './definition.ts';

export const readOutputAction: Definition = {
  name: 'read_output',
  description: 'Shows more of a result that was cut.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the action.' },
      offset: { type: 'integer', minimum: 0, description: 'First character.' },
      limit: { type: 'integer', minimum: 1, description: 'Characters.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  shownParameters: {
    type: 'object',
    properties: { id: { type: 'string' }, offset: { type: 'integer' } },
    required: ['id'],
  },
  run: async (input, { state, manifest }) => {
    const { id, offset, limit } = input as { id: string; offset?: number; limit?: number };
    const action = state.actions.get(newestOf(state, id));
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

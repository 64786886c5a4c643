import { type ActionStatus, hasEnded } from '../../events/action.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { type Definition, noSuchAction } from './definition.ts';

export const cancelAction: Definition = {
  name: 'cancel_action',
  description: 'Stops an action that has not ended; what depends on it is skipped.',
  idempotent: false,
  parameters: {
    type: 'object',
    properties: { id: { type: 'string', description: 'The action to stop.' } },
    required: ['id'],
    additionalProperties: false,
  },
  run: async (input, { state, cancel }, own) => {
    const { id } = input as { id: string };
    const known = state.actions.get(id);
    if (known === undefined) throw noSuchAction(id, state);
    if (id === own) throw cancelsItself(id);
    if (hasEnded(known.status)) throw endedAlready(id, known.status);
    await cancel(id, `Cancelled by the action "${own}".`);
    return { id, status: known.status };
  },
};

const cancelsItself = (id: string) =>
  new RuntimeError('bad_parameters', `The action "${id}" cannot cancel itself.`, {
    hint: 'Name the action that should stop.',
  });

const endedAlready = (id: string, status: ActionStatus) =>
  new RuntimeError('action_ended', `The action "${id}" has ended already: it is ${status}.`, {
    hint: 'Only what waits or runs can be cancelled; "rollback" undoes what was completed.',
  });

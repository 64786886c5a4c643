import { type ActionStatus, type DeclaredAction, hasEnded } from '../../events/action.ts';
import type { SessionState } from '../../events/state.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isLoop, loopOf } from '../../scheduler/loops.ts';
import { type Definition, noSuchAction } from './definition.ts';

export const cancelAction: Definition = {
  name: 'cancel_action',
  description: 'Stops an action that has not ended; what depends on it is skipped.',
  idempotent: false,
  parameters: {
    type: 'object',
    properties: { id: { type: 'string', description: 'The action to stop, or a parallel.' } },
    required: ['id'],
    additionalProperties: false,
  },
  run: async (input, { state, cancel }, own) => {
    const { id } = input as { id: string };
    const known = state.actions.get(id);
    if (known === undefined) {
      const open = openMembers(state, id);
      if (open === undefined) throw noSuchAction(id, state);
      if (open.includes(own)) throw cancelsItself(own);
      if (open.length === 0) throw endedAlready(id, 'over');
      await cancel(id, `Cancelled by the action "${own}".`);
      return { id, status: 'cancelled' };
    }
    if (id === own) throw cancelsItself(id);
    if (hasEnded(known.status)) throw endedAlready(id, known.status);
    await cancel(id, `Cancelled by the action "${own}".`);
    return { id, status: known.status };
  },
};

/** What has not ended of a `<parallel>` or of what a `<foreach>` makes of an action; undefined where the id is of neither. */
function openMembers({ actions }: SessionState, id: string): readonly string[] | undefined {
  const members = [...actions.values()].filter(({ action }) =>
    isLoop(action) ? loopOf(action).actions.some((each) => isOf(each, id)) : isOf(action, id),
  );
  if (members.length === 0) return undefined;
  return members.flatMap(({ action, status }) => (hasEnded(status) ? [] : [action.id]));
}

/** A model knows an action of a `<foreach>` by the id that it wrote. */
const isOf = ({ id, base, group, within }: DeclaredAction, asked: string): boolean =>
  id === asked || base === asked || group === asked || within?.includes(asked) === true;

const cancelsItself = (id: string) =>
  new RuntimeError('bad_parameters', `The action "${id}" cannot cancel itself.`, {
    hint: 'Name the action that should stop.',
  });

const endedAlready = (id: string, status: ActionStatus | 'over') =>
  new RuntimeError('action_ended', `The action "${id}" has ended already: it is ${status}.`, {
    hint: 'Only what waits or runs can be cancelled; "rollback" undoes what was completed.',
  });

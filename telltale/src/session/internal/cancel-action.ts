import { type ActionState, type DeclaredAction, hasEnded } from '../../events/action.ts';
import { newestOf, writtenId } from '../../events/action-id.ts';
import type { SessionState } from '../../events/state.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isLoop, loopOf } from '../../scheduler/loops.ts';
import { type Definition, noSuchAction } from './definition.ts';

export const cancelAction: Definition = {
  name: 'cancel_action',
  description: 'Stops an action that has not ended.',
  idempotent: false,
  // What else takes so long that a model would stop it?
  isTaught: (_, targets) =>
    targets.some(({ kind, name }) => kind === 'agent' || kind === 'workflow' || name === 'shell'),
  parameters: {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: false,
  },
  run: async (input, { state, cancel }, own) => {
    const { id: asked } = input as { id: string };
    const id = newestOf(state, asked);
    const known = state.actions.get(id);
    const reason = `Cancelled by the action "${writtenId(own)}".`;
    if (known === undefined) {
      const open = openMembers(state, id);
      if (open === undefined) throw noSuchAction(asked, state);
      if (open.some(({ action }) => action.id === own)) throw cancelsItself(writtenId(own));
      if (open.length === 0) throw endedAlready(`All of "${asked}" has ended already.`);
      const also = alsoMade(open, id).map(writtenId);
      await cancel(id, reason);
      return { id: asked, status: 'cancelled', ...(also.length === 0 ? {} : { also }) };
    }
    if (id === own) throw cancelsItself(asked);
    if (hasEnded(known.status))
      throw endedAlready(`The action "${asked}" has ended already: it is ${known.status}.`);
    await cancel(id, reason);
    return { id: asked, status: known.status };
  },
};

/** What has not ended of a `<parallel>` or of what a `<foreach>` makes of an action; undefined where the id is of neither. */
function openMembers({ actions }: SessionState, id: string): readonly ActionState[] | undefined {
  const members = [...actions.values()].filter(({ action }) =>
    isLoop(action) ? loopOf(action).actions.some((each) => isOf(each, id)) : isOf(action, id),
  );
  if (members.length === 0) return undefined;
  return members.filter(({ status }) => !hasEnded(status));
}

/** What else comes to nothing with these: a `<foreach>` that waits for its list has made none of its actions, and ends whole. */
const alsoMade = (open: readonly ActionState[], id: string): readonly string[] =>
  open
    .flatMap(({ action }) => (isLoop(action) ? loopOf(action).actions : []))
    .flatMap((each) => (isOf(each, id) ? [] : [each.id]));

/** A model knows an action of a `<foreach>` by the id that it wrote. */
const isOf = ({ id, base, group, within }: DeclaredAction, asked: string): boolean =>
  id === asked || base === asked || group === asked || within?.includes(asked) === true;

const cancelsItself = (id: string) =>
  new RuntimeError('bad_parameters', `The action "${id}" cannot cancel itself.`, {
    hint: 'Name the action that should stop.',
  });

const endedAlready = (message: string) =>
  new RuntimeError('action_ended', message, {
    hint: 'Only what waits or runs can be cancelled; "rollback" undoes what was completed.',
  });

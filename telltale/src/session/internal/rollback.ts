import { ROLLBACK } from '../../events/action.ts';
import { idFor, newestOf } from '../../events/action-id.ts';
import { isUndoable } from '../../prompt/taught.ts';
import { orStopped } from '../../targets/access/stopped.ts';
import { type Definition, noSuchAction } from './definition.ts';

export const rollbackAction: Definition = {
  name: ROLLBACK,
  description:
    'Undoes completed actions in reverse order, down to and including "to", by running the "compensate" of each.',
  idempotent: true, // what it does are actions of their own, each once; what is undone by then is not undone again
  isTaught: isUndoable,
  timeoutMs: Number.POSITIVE_INFINITY, // these have limits of their own, and a person may have to be asked about one
  parameters: {
    type: 'object',
    properties: { to: { type: 'string', description: 'Id of the last action to undo (default: all).' } },
    additionalProperties: false,
  },
  run: async (input, { state, rollback }, own, signal) => {
    const { to: asked } = input as { to?: string };
    const to = asked === undefined ? undefined : newestOf(state, asked);
    if (asked !== undefined && !state.actions.has(to ?? '')) throw noSuchAction(asked, state);
    const { undone, left } = await orStopped(rollback(to, own, signal), 'internal action "rollback"', signal);
    const named = (ids: readonly string[]) => ids.map((id) => idFor(state, id));
    return { undone: named(undone), ...(left.length === 0 ? {} : { not_undone: named(left) }) };
  },
};

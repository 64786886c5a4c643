import { type ActionState, type ActionStatus, isShown } from '../../events/action.ts';
import { idFor } from '../../events/action-id.ts';
import { reviewOf } from '../../events/fold-reviews.ts';
import type { SessionState } from '../../events/state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Definition } from './definition.ts';

const DEFAULT_LISTED = 50;
const MAX_LISTED = 200;

/** A record, so that a status which is missing here does not compile. */
const STATUSES: Readonly<Record<ActionStatus, true>> = {
  waiting: true,
  running: true,
  completed: true,
  failed: true,
  skipped: true,
  cancelled: true,
  interrupted: true,
  compensated: true,
};

export const listActions: Definition = {
  name: 'list_actions',
  description: 'Lists your actions with their names, statuses and times, the latest last.',
  idempotent: true,
  // A prompt shows each result once, so few agents ever need the list.
  isTaught: () => false,
  parameters: {
    type: 'object',
    properties: {
      status: { enum: Object.keys(STATUSES), description: 'Only actions with this status.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_LISTED,
        description: `How many (default ${DEFAULT_LISTED}).`,
      },
    },
    additionalProperties: false,
  },
  run: async (input, { state }, own) => {
    const { status, limit = DEFAULT_LISTED } = input as { status?: ActionStatus; limit?: number };
    const fitting = [...state.actions.values()].filter(
      (each) =>
        isShown(each.action) && each.action.id !== own && (status === undefined || each.status === status),
    );
    const left = fitting.length - limit;
    return {
      actions: fitting.slice(-limit).map((each) => listed(each, state)),
      ...(left > 0 ? { left_out: left } : {}),
    };
  },
};

function listed({ action, status, ms }: ActionState, state: SessionState): JsonObject {
  const waits = status === 'waiting' && reviewOf(state, action.id) !== undefined;
  return {
    id: idFor(state, action.id),
    name: action.name,
    status,
    ...(ms === undefined ? {} : { ms }),
    ...(waits ? { waits_for: "a person's approval" } : {}),
  };
}

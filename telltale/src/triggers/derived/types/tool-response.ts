import type { Condition } from '../../../conditions/maps/conditions.ts';
import { matches } from '../../../conditions/maps/matches.ts';
import { isPlainObject } from '../../../conditions/own-property.ts';
import type { SessionEvent } from '../../../events/event.ts';
import type { GivenTrigger } from '../given-trigger.ts';
import { readConditions } from '../read-conditions.ts';
import type { DerivedTriggerType } from '../trigger-type.ts';

type Given = GivenTrigger<'tool_response'>;

interface ToolResponse extends Pick<Given, 'tool' | 'status'> {
  readonly match: Condition | undefined;
}

/** Of the session's own calls: a sub-agent's log says of its results which call they answer, and its parent's does not. */
export const toolResponse: DerivedTriggerType<Given, ToolResponse> = {
  description: 'A tool answered.',
  parse: ({ tool, status, match }) => ({
    tool,
    status,
    match: match === undefined ? undefined : readConditions(match),
  }),
  on: ({ status }) => [ENDS[status]],
  matches({ tool, status, match }, { event, state }) {
    const result = resultOf(event);
    if (result === undefined || result.status !== status) return false;
    const action = state.actions.get(result.id)?.action;
    if (action?.kind !== 'tool' || action.name !== tool) return false;
    return match === undefined || matches(match, { current: fieldsIn(result.about) });
  },
};

const ENDS = {
  ok: 'action.completed',
  error: 'action.failed',
  timeout: 'action.failed',
  skipped: 'action.skipped',
  interrupted: 'action.interrupted',
} as const;

interface ToolResult {
  readonly id: string;
  readonly status: Given['status'];
  readonly about: unknown;
}

function resultOf(event: SessionEvent): ToolResult | undefined {
  switch (event.type) {
    case 'action.completed':
      return { id: event.id, status: 'ok', about: event.output };
    case 'action.failed':
      return {
        id: event.id,
        status: event.error.code === 'timeout' ? 'timeout' : 'error',
        about: event.error,
      };
    case 'action.skipped':
      return { id: event.id, status: 'skipped', about: { reason: event.reason, because: event.because } };
    case 'action.interrupted':
      return { id: event.id, status: 'interrupted', about: {} };
  }
  return undefined;
}

/** A result that is no map is the field `output` of one. */
const fieldsIn = (result: unknown): Readonly<Record<string, unknown>> =>
  isPlainObject(result) ? result : { output: result };

import { compilePattern } from '../../../conditions/linear-regex.ts';
import type { EventType } from '../../../events/event.ts';
import { agentOfChild } from '../../../events/fold-children.ts';
import type { GivenTrigger } from '../given-trigger.ts';
import type { DerivedTriggerType, Seen } from '../trigger-type.ts';

type Given = GivenTrigger<'agent_text'>;

interface AgentText {
  readonly agent: string | undefined;
  readonly in: Given['in'];
  fits(text: string): boolean;
}

/** Whole texts only: deltas are not on the log. What a sub-agent says is on its parent's, cut if it is long. */
export const agentText: DerivedTriggerType<Given, AgentText> = {
  description: 'An agent said something.',
  parse: ({ agent, in: where, match }) => ({ agent, in: where, fits: fitsOf(match) }),
  on: ({ in: where }): readonly EventType[] => [where, `child.${where}`],
  matches({ agent, in: where, fits }, { event, state }) {
    if (event.type !== where && event.type !== `child.${where}`) return false;
    if (agent !== undefined && agent !== speaker(event, state)) return false;
    return fits('event' in event ? textOf(event.event) : textOf(event));
  },
};

const textOf = (said: object): string => ('text' in said && typeof said.text === 'string' ? said.text : '');

/** The agent an event comes from. */
export function speaker(event: Seen['event'], state: Seen['state']): string | undefined {
  return 'child' in event ? agentOfChild(state, event.action) : state.agent;
}

function fitsOf({ equals, contains, matches }: Given['match']): AgentText['fits'] {
  if (equals !== undefined) return (text) => text === equals;
  if (contains !== undefined) return (text) => text.includes(contains);
  const pattern = compilePattern(matches ?? '');
  // One that cannot be read was refused with the manifest.
  return pattern.ok ? (text) => pattern.value.test(text) : () => false;
}

import type { GivenTrigger } from '../given-trigger.ts';
import type { DerivedTriggerType } from '../trigger-type.ts';
import { speaker } from './agent-text.ts';

type Given = GivenTrigger<'agent_turn_count'>;

/** Matches at the end of each turn from that number on. */
export const agentTurnCount: DerivedTriggerType<Given, Pick<Given, 'agent' | 'at_least'>> = {
  description: 'An agent reached a number of turns.',
  parse: ({ agent, at_least }) => ({ agent, at_least }),
  on: ({ agent }) => (agent === undefined ? ['turn.completed'] : ['turn.completed', 'child.turn.completed']),
  matches({ agent = undefined, at_least }, { event, state }) {
    const counted = agent ?? state.agent;
    if (speaker(event, state) !== counted) return false;
    if (agent === undefined && event.type !== 'turn.completed') return false;
    const own = counted === state.agent ? state.totals.turns : 0;
    const below = state.childTurns.find((each) => each.agent === agent)?.turns ?? 0;
    return own + below >= at_least;
  },
};

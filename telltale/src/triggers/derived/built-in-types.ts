import type { AnyTrigger, BuiltInType, GivenTrigger } from './given-trigger.ts';
import { type BoundTrigger, bindTrigger } from './trigger-type.ts';
import { agentText } from './types/agent-text.ts';
import { agentTurnCount } from './types/agent-turn-count.ts';
import { metadataMatch } from './types/metadata-match.ts';
import { onEvent } from './types/on-event.ts';
import { onFunction } from './types/on-function.ts';
import { timerExpired } from './types/timer-expired.ts';
import { toolResponse } from './types/tool-response.ts';

/** Every type of the manifest's schema (manifest/schema/derived-trigger.ts): one that is there must be here. */
const BUILT_IN_TYPES: { readonly [Type in BuiltInType]: (given: GivenTrigger<Type>) => BoundTrigger } = {
  agent_text: (given) => bindTrigger('agent_text', agentText, given),
  agent_turn_count: (given) => bindTrigger('agent_turn_count', agentTurnCount, given),
  tool_response: (given) => bindTrigger('tool_response', toolResponse, given),
  metadata_match: (given) => bindTrigger('metadata_match', metadataMatch, given),
  event: (given) => bindTrigger('event', onEvent, given),
  timer_expired: (given) => bindTrigger('timer_expired', timerExpired, given),
  function: (given) => bindTrigger('function', onFunction, given),
};

/** The trigger, if its type is a built-in one. */
export function bindBuiltIn(trigger: AnyTrigger): BoundTrigger | undefined {
  const bind = Object.hasOwn(BUILT_IN_TYPES, trigger.type)
    ? (BUILT_IN_TYPES[trigger.type as BuiltInType] as (given: AnyTrigger) => BoundTrigger)
    : undefined;
  return bind?.(trigger);
}

import { asText } from '../../conditions/as-text.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { Target } from '../../targets/target.ts';
import { textOfParameters } from './text-of-parameters.ts';

/** What an agent begins with. */
export interface AgentCall {
  readonly input: string;
  readonly vars?: JsonObject;
}

/** Whether an agent has variables that a call may set. */
export const takesVars = ({ parameters: { properties } }: Pick<Target, 'parameters'>): boolean =>
  isMap(properties) && Object.hasOwn(properties, 'vars');

/** Of the parameters `input` is the text it is given and `vars` its variables; others are added to the text. */
export function agentCall(parameters: JsonObject, hasVars: boolean): AgentCall {
  const { input = '', ...others } = parameters;
  const text = (more: JsonObject) => textOfParameters(asText(input), more);
  const { vars, ...rest } = others;
  return hasVars && isMap(vars) ? { input: text(rest), vars: vars as JsonObject } : { input: text(others) };
}

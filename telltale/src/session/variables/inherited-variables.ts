import type { SessionState } from '../../events/state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { isExposed } from '../../prompt/exposed-variables.ts';
import { type SettableVariable, settableVariables, valueProblem } from './declared-variables.ts';

/**
 * The values that a sub-agent's variables begin with, where it says `metadata.inherit: read` or `share`, or where it
 * speaks in a conversation: those of its caller's variables of the same names. What the caller's model can set gets into no variable that models may not set.
 */
export function inheritedVariables(
  parent: AgentManifest,
  child: AgentManifest,
  { variables }: Pick<SessionState, 'variables'>,
  speaks = false,
): JsonObject {
  if (child.metadata.inherit === 'none' && !speaks) return {};
  const above = new Map(settableVariables(parent).map((each) => [each.name, each]));
  const isDerived = (name: string) => parent.context_variables.derived.some((each) => each.name === name);
  const taken = settableVariables(child).flatMap((variable): readonly (readonly [string, Json])[] => {
    const { name } = variable;
    const source = above.get(name);
    const value = variables.get(name)?.value;
    if (value === undefined || (source === undefined && !isDerived(name))) return [];
    const isSafe = isForModels(variable) || (source !== undefined && !isForModels(source));
    return isSafe && valueProblem(variable, value) === undefined ? [[name, value]] : [];
  });
  return Object.fromEntries(taken);
}

const isForModels = ({ writers }: SettableVariable): boolean => writers.includes('model');

/** Variables that a sub-agent writes back to its caller's: where it says `metadata.inherit: share`, or speaks in a conversation. */
export function sharedVariables(
  parent: AgentManifest,
  child: AgentManifest,
  speaks = false,
): ReadonlySet<string> {
  if (child.metadata.inherit !== 'share' && !speaks) return NONE;
  const above = new Set(
    settableVariables(parent)
      .filter(isForModels)
      .map(({ name }) => name),
  );
  return new Set(settableVariables(child).flatMap(({ name }) => (above.has(name) ? [name] : [])));
}

const NONE: ReadonlySet<string> = new Set();

/** What a sub-agent with `metadata.inherit: read` is told of its caller's variables: those that are exposed to it. */
export function shownVariables(
  parent: AgentManifest,
  child: AgentManifest,
  { variables }: Pick<SessionState, 'variables'>,
): JsonObject | undefined {
  if (child.metadata.inherit !== 'read') return undefined;
  const { defined, runtime, derived } = parent.context_variables;
  const shown = [...defined, ...runtime, ...derived].flatMap((variable) => {
    const value = variables.get(variable.name)?.value;
    return value !== undefined && isExposed(variable, child.name) ? [[variable.name, value] as const] : [];
  });
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}

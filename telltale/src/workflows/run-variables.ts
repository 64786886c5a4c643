import type { RunState } from '../events/run-state.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import { isMap } from '../manifest/schema/is-map.ts';
import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import { allThere, entry, type MemberNames } from './member-names.ts';
import { ownExpressions } from './own-expressions.ts';

/**
 * The variables that a run sees: what it has set or declares itself, or a step has stored by `output_key`, the newest
 * counting; what follows from these by an expression of the workflow; and below them the session's, as of the run's
 * start.
 */
export interface RunVariables {
  /** Those of these names at least; the session's log is read only for one that is not the run's own. */
  some(names: MemberNames): JsonObject | Promise<JsonObject>;
  named(name: string): Promise<Json | undefined>;
}

export function createRunVariables(
  state: Pick<RunState, 'variables'>,
  workflow: Pick<WorkflowManifest, 'context_variables'>,
  agent: () => Promise<JsonObject>,
): RunVariables {
  const declared = new Set(workflow.context_variables.runtime.map(({ name }) => name));

  const own = (name: string): Json | undefined => {
    return state.variables.get(name) ?? (declared.has(name) ? null : undefined);
  };
  const ownNames = () => [...new Set([...declared, ...state.variables.keys()])];
  const expressions = ownExpressions(workflow);
  const isExpressed = (name: string) => expressions?.names.has(name) === true;
  const inherited = async (): Promise<JsonObject> => {
    const { variables, metadata } = await agent();
    const below = isMap(variables) ? (variables as JsonObject) : {};
    if (expressions === undefined) return below;
    const all = { ...below, ...valuesOf(ownNames()) };
    return { ...below, ...expressions.over(all, isMap(metadata) ? (metadata as JsonObject) : {}) };
  };
  const valuesOf = (names: readonly string[]): JsonObject =>
    Object.fromEntries(names.flatMap((name) => (isExpressed(name) ? [] : entry(name, own(name)))));

  return {
    some(names) {
      const known = allThere(names, (name) => own(name) !== undefined && !isExpressed(name));
      const above = valuesOf(known ?? ownNames());
      return known === undefined ? inherited().then((below) => ({ ...below, ...above })) : above;
    },
    async named(name) {
      const value = isExpressed(name) ? undefined : own(name);
      if (value !== undefined) return value;
      const below = await inherited();
      return Object.hasOwn(below, name) ? below[name] : undefined;
    },
  };
}

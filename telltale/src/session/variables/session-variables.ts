import type { Cause } from '../../events/event.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { CompiledTriggers } from '../../triggers/compile-triggers.ts';
import type { SessionLog } from '../session-log.ts';
import { classOf, type VariableWriter } from './declared-variables.ts';
import type { DerivedVariables } from './derived-triggers.ts';
import { variableDefaults } from './start-variables.ts';
import { createVariableKeeper, type KeeperDeps, type VariableKeeper } from './variable-keeper.ts';
import type { VariableReactionDeps, VariableReactions } from './variable-reactions.ts';
import { type SettableIn, type SetVariable, setVariable } from './variable-writer.ts';

/** The variables of one session that is worked on. */
export interface SessionVariables extends SettableIn {
  /** Where it has defined variables. */
  readonly keeper: VariableKeeper | undefined;
  /** Where it has derived ones. */
  readonly reactions: VariableReactions | undefined;
}

export interface VariableDeps extends KeeperDeps, Pick<VariableReactionDeps, 'artifacts'> {
  readonly derived: DerivedVariables | undefined;
  readonly triggers: CompiledTriggers | undefined;
}

/** To be made before the first event is appended: derived variables look at every event. */
export function createSessionVariables(deps: VariableDeps, log: SessionLog): SessionVariables {
  const { manifest, derived, clock, artifacts } = deps;
  const triggers = deps.triggers?.vars;
  const keeper = createVariableKeeper(deps, log);
  // A copy: docs/decisions/copies.md
  return { manifest, log, keeper, triggers, reactions: derived?.react({ log, clock, artifacts }) };
}

/** For those who set variables of one session, and know nothing else of it. */
export const setterOf =
  (variables: SessionVariables): SetVariable =>
  (...write) =>
    setVariable(variables, ...write);

/** Defined variables that were given at the start, and checked: they are kept like any that are set later. */
export function setGiven(
  variables: SessionVariables,
  given: JsonObject,
  by: VariableWriter,
  cause: Cause,
): void {
  if (variables.keeper === undefined) return;
  for (const [name, value] of Object.entries(given) as [string, Json][])
    if (classOf(variables.manifest, name) === 'defined') setVariable(variables, name, value, by, { cause });
}

/** What a session that is resumed lacks, since its manifest did when it began. What it has stays. */
export function seedMissing(
  { manifest }: Pick<VariableDeps, 'manifest'>,
  log: SessionLog,
  cause: Cause,
): void {
  for (const [name, to] of Object.entries(variableDefaults(manifest))) {
    if (log.state.variables.has(name)) continue;
    const kind = classOf(manifest, name) ?? 'runtime';
    log.append({ type: 'variable.changed', name, class: kind, from: null, to, by: 'seed' }, cause);
  }
}

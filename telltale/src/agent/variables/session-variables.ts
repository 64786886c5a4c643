import { deepEqual } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Cause } from '../../log/event.ts';
import type { VariableClass } from '../../log/session-events.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Beside } from '../../store/stream-batches.ts';
import type { CompiledTriggers, TriggerSide } from '../../triggers/compile-triggers.ts';
import { hearsUpdate } from '../../triggers/hears-update.ts';
import type { SessionLog } from '../session-log.ts';
import {
  classOf,
  type SettableVariable,
  settableVariables,
  type VariableWriter,
  valueProblem,
} from './declared-variables.ts';
import type { DerivedVariables, VariableReactionDeps, VariableReactions } from './derived-triggers.ts';
import { createVariableStore, type VariableStore, type VariableStoreDeps } from './variable-keeper.ts';

/** The variables of one active session. */
export interface SessionVariables extends VariableContext {
  /** Set if the agent has defined variables. */
  readonly variableStore: VariableStore | undefined;
  /** Set if the agent has derived variables. */
  readonly reactions: VariableReactions | undefined;
}

export interface VariableDeps extends VariableStoreDeps, Pick<VariableReactionDeps, 'artifacts'> {
  readonly derived: DerivedVariables | undefined;
  readonly triggers: CompiledTriggers | undefined;
}

/** Create it before the first event is appended, because derived variables need every event. */
export function createSessionVariables(deps: VariableDeps, log: SessionLog): SessionVariables {
  const { manifest, derived, clock, artifacts } = deps;
  const triggers = deps.triggers?.vars;
  const variableStore = createVariableStore(deps, log);
  return { manifest, log, variableStore, triggers, reactions: derived?.react({ log, clock, artifacts }) };
}

/** A function that sets variables of one session. */
export const setterOf =
  (variables: SessionVariables): SetVariable =>
  (...write) =>
    setVariable(variables, ...write);

/** Stores the defined variables that were passed at the start and checked. */
export function setGiven(
  variables: SessionVariables,
  given: JsonObject,
  by: VariableWriter,
  cause: Cause,
): void {
  if (variables.variableStore === undefined) return;
  for (const [name, value] of Object.entries(given) as [string, Json][])
    if (classOf(variables.manifest, name) === 'defined') setVariable(variables, name, value, by, { cause });
}

/** Adds variables that a resumed session lacks because its manifest did not declare them when it started. */
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

/**
 * The initial values of variables. Derived ones without a default start with null, so that conditions can
 * read them.
 */
export function variableDefaults({ context_variables: variables }: AgentManifest): Record<string, Json> {
  const defaults = new Map<string, Json>();
  for (const { name, default: value } of [...variables.defined, ...variables.runtime])
    if (value !== undefined) defaults.set(name, value as Json);
  for (const { name, default: value = null } of variables.derived) defaults.set(name, value as Json);
  return Object.fromEntries(defaults);
}

/** The classes of variables for `session.started`. Empty if all are runtime variables. */
export function classesOf({ context_variables: { defined, derived } }: AgentManifest): {
  readonly classes?: Readonly<Record<string, VariableClass>>;
} {
  if (defined.length === 0 && derived.length === 0) return {};
  const of = (list: readonly { readonly name: string }[], kind: VariableClass) =>
    list.map(({ name }) => [name, kind] as const);
  return { classes: Object.fromEntries([...of(defined, 'defined'), ...of(derived, 'derived')]) };
}

/**
 * Throws if a variable may not be passed at the start or has the wrong type. An undeclared variable belongs
 * to the caller: `$name` reads it, and nobody can change it.
 */
export function checkGiven(
  manifest: Pick<AgentManifest, 'context_variables'>,
  given: JsonObject,
  by: VariableWriter,
): void {
  for (const [name, value] of Object.entries(given)) {
    if (classOf(manifest, name) === undefined) continue;
    const wrong = valueProblem(settableBy(manifest, name, by), value);
    if (wrong !== undefined) throw wrong;
  }
}

export interface WriteOptions {
  /** The author on the log, if it is not the writer's own name: `workflow:NAME`, `child:NAME`. */
  readonly as?: string;
  readonly run?: string;
  /** Set if the value is the variable's default, which may have any type. */
  readonly resets?: true;
  readonly cause?: Cause;
  /** Other writes of the same transaction. */
  readonly beside?: Beside;
}

export interface VariableWriteResult {
  readonly name: string;
  readonly from: Json;
  readonly to: Json;
  /** The position of the event. Absent if nothing was written because the value is the same. */
  readonly at?: Cause;
}

/**
 * Sets a variable. Throws if it does not exist, the writer may not set it, or the value has the wrong type. A
 * defined variable is written to its table in the transaction of the event.
 */
export type SetVariable = (
  name: string,
  value: Json,
  by: VariableWriter,
  options?: WriteOptions,
) => VariableWriteResult;

/** What `setVariable` needs. */
export interface VariableContext {
  readonly manifest: AgentManifest;
  readonly log: SessionLog;
  readonly variableStore: VariableStore | undefined;
  /** The triggers on variables. */
  readonly triggers: TriggerSide | undefined;
}

export function setVariable(
  { manifest, log, variableStore, triggers }: VariableContext,
  name: string,
  value: Json,
  by: VariableWriter,
  { as = by, run, resets, cause, beside }: WriteOptions = {},
): VariableWriteResult {
  const variable = settableBy(manifest, name, by);
  const wrong = resets === true ? undefined : valueProblem(variable, value);
  if (wrong !== undefined) throw wrong;
  const from = log.state.variables.get(name)?.value ?? null;
  const isNews = isShared(variable) || hearsUpdate(triggers, log.state.variableUpdates);
  if (!isNews && deepEqual(from, value)) return { name, from, to: value };
  const kept = variable.class === 'defined' ? variableStore?.writes(variable, value) : undefined;
  const writes = [...(beside?.writes ?? []), ...(kept ?? [])];
  const at = log.append(
    {
      type: 'variable.changed',
      name,
      class: variable.class,
      from,
      to: value,
      by: as,
      ...(run === undefined ? {} : { run }),
    },
    cause,
    beside === undefined && writes.length === 0
      ? undefined
      : { ...beside, ...(writes.length === 0 ? {} : { writes }) },
  );
  if (variable.class === 'defined') variableStore?.wrote(variable, at.seq);
  return { name, from, to: value, at };
}

/**
 * Whether other sessions can set the variable too. Then setting it to the known value may undo their change.
 */
const isShared = (variable: SettableVariable): boolean =>
  variable.class === 'defined' && (variable.key !== 'session' || variable.store !== undefined);

/** The variable of that name. Throws if it does not exist or the writer may not set it. */
export function settableBy(
  manifest: Pick<AgentManifest, 'context_variables'>,
  name: string,
  by: VariableWriter,
): SettableVariable {
  const all = settableVariables(manifest);
  const found = all.find((each) => each.name === name);
  if (found?.writers.includes(by) === true) return found;
  if (found !== undefined) throw notYours(name, by, found.writers);
  const { derived } = manifest.context_variables;
  if (derived.some((each) => each.name === name)) throw notByHand(name);
  throw variableUnknown(
    name,
    all.flatMap((each) => (each.writers.includes(by) ? [each.name] : [])),
  );
}

const variableUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('variable_unknown', `No runtime or defined variable is named "${name}".`, {
    hint: suggest(name, known, 'Those you may set'),
  });

const WHOSE: Readonly<Record<VariableWriter, string>> = {
  model: "the model's",
  workflow: "a workflow's",
  user: "a user's",
};

const notYours = (name: string, by: VariableWriter, writers: readonly string[]) =>
  new RuntimeError('variable_denied', `The variable "${name}" is not ${WHOSE[by]} to set.`, {
    hint: `Its "writers": ${writers.length === 0 ? 'nobody' : writers.join(', ')}.`,
  });

const notByHand = (name: string) =>
  new RuntimeError('variable_denied', `The variable "${name}" is derived from events, and cannot be set.`, {
    hint: 'Only variables of "context_variables.runtime" and "context_variables.defined" can be.',
  });

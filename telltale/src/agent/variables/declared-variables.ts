import { createHash } from 'node:crypto';
import { PLAIN_NAME, parsePath } from '../../expressions/path.ts';
import { readPath } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { VariableClass } from '../../log/session-events.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import { isExposed } from '../../prompt/exposed-variables.ts';

/**
 * The initial values of a sub-agent's variables if it has `metadata.inherit: read` or `share`, or speaks in a
 * conversation: the values of its caller's variables with the same names. A value that the caller's model can
 * set is not inherited by a variable that models may not set.
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

/**
 * The variables that a sub-agent writes back to its caller, if it has `metadata.inherit: share` or speaks in
 * a conversation.
 */
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

/** The caller's variables that a sub-agent with `metadata.inherit: read` can see. */
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

export type DefinedVariable = AgentManifest['context_variables']['defined'][number];
export type RuntimeVariable = AgentManifest['context_variables']['runtime'][number];

/** A variable that can be set, in contrast to derived ones. */
export type SettableVariable =
  | (RuntimeVariable & { readonly class: 'runtime' })
  | (DefinedVariable & { readonly class: 'defined' });

/** Who sets a variable: the model, a workflow's run, or a person (API, command line). */
export type VariableWriter = 'model' | 'workflow' | 'user';

/** The maximum size of a value as JSON. */
const MAX_CHARS = 64 * 1024;

export function settableVariables({
  context_variables: { defined, runtime },
}: Pick<AgentManifest, 'context_variables'>): readonly SettableVariable[] {
  return [
    ...runtime.map((each) => ({ ...each, class: 'runtime' as const })),
    ...defined.map((each) => ({ ...each, class: 'defined' as const })),
  ];
}

export function classOf(
  { context_variables: variables }: Pick<AgentManifest, 'context_variables'>,
  name: string,
): VariableClass | undefined {
  const classes = ['runtime', 'defined', 'derived'] as const;
  return classes.find((each) => variables[each].some((variable) => variable.name === name));
}

/** What is wrong with a value for a variable. Undefined if it fits. */
export function valueProblem(
  { name, type }: Pick<SettableVariable, 'name' | 'type'>,
  value: Json,
): RuntimeError | undefined {
  if (type !== 'any' && typeOf(value) !== type) return wrongType(name, type, value);
  const chars = JSON.stringify(value).length;
  return chars > MAX_CHARS ? tooLarge(name, chars) : undefined;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const wrongType = (name: string, type: string, value: Json) =>
  new RuntimeError(
    'bad_parameters',
    `The variable "${name}" holds a value of type ${type}, not ${showValue(value)}.`,
    { hint: `Give "value" as ${type}.` },
  );

const tooLarge = (name: string, chars: number) =>
  new RuntimeError(
    'bad_parameters',
    `The value of "${name}" has ${chars} characters; ${MAX_CHARS} are allowed.`,
    { hint: 'Keep it in a file or a relic, and its place in the variable.' },
  );

/** The keys by which values of defined variables are stored. */
export interface VariableKeys {
  readonly session: string;
  readonly agent: string;
  readonly user: string;
  readonly metadata: JsonObject;
}

/** The user if none is given. */
export const DEFAULT_USER = 'local';

/** Longer keys are replaced by their hash, because they become part of a table's name. */
const MAX_KEY_CHARS = 200;

/**
 * The scope of a variable's value: `user:ada`, `metadata.customer:17`. Undefined if `key` is a path into the
 * metadata without a text, number or boolean. Then the value is not stored.
 */
export function scopeOf({ key }: Pick<DefinedVariable, 'key'>, keys: VariableKeys): string | undefined {
  if (key === 'session' || key === 'agent' || key === 'user') return `${key}:${short(keys[key])}`;
  const path = parsePath(key.startsWith('metadata.') ? key.slice('metadata.'.length) : key, PLAIN_NAME);
  const value = path.ok ? readPath(keys.metadata, path.value) : undefined;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  return `${key}:${short(String(value))}`;
}

const short = (text: string): string =>
  text.length <= MAX_KEY_CHARS ? text : createHash('sha256').update(text).digest('hex');

import { deepEqual } from '../expressions/values.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Issue, IssuePath } from './diagnostic.ts';
import { isMap } from './schema/plain-values.ts';
import { showValue } from './schema/show-value.ts';

/** WorkRail's names for keys of a step, by our names. */
const KEYS: Readonly<Record<string, string>> = { verify: 'verifier', type: 'stepType' };
/** WorkRail's names for step types, by our names. */
const TYPES: Readonly<Record<string, string>> = { plan: 'planned', script: 'scripted' };
const TYPES_OF_OURS = new Map(Object.entries(TYPES).map(([ours, theirs]) => [theirs, ours]));

/** The other name of a key, if it has one. */
export const otherNameOf = (key: string | number): string | undefined =>
  typeof key === 'string' && Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;

/** Replaces WorkRail's names in a workflow by ours. Reports steps that give both names with different values. */
export function withOurNames(workflow: JsonObject): {
  readonly document: JsonObject;
  readonly issues: readonly Issue[];
} {
  const issues: Issue[] = [];

  const stepIn = (value: Json, path: IssuePath): Json => {
    if (!isMap(value)) return value;
    const step: Record<string, Json> = { ...(value as JsonObject) };
    for (const [ours, theirs] of Object.entries(KEYS)) {
      if (!Object.hasOwn(step, theirs)) continue;
      const written = step[theirs] ?? null;
      const meant = ours === 'type' && typeof written === 'string' ? TYPES_OF_OURS.get(written) : undefined;
      const named = meant ?? written;
      if (Object.hasOwn(step, ours) && !deepEqual(step[ours] ?? null, named))
        issues.push(conflict([...path, theirs], ours, theirs, step[ours] ?? null, written));
      else step[ours] = named;
      delete step[theirs];
    }
    for (const key of ['body', 'default', 'catch', 'finally', 'branches'])
      if (Array.isArray(step[key])) step[key] = listIn(step[key], [...path, key]);
    if (Array.isArray(step.cases))
      step.cases = step.cases.map((each: Json, index) =>
        isMap(each) && Array.isArray(each.body)
          ? { ...(each as JsonObject), body: listIn(each.body, [...path, 'cases', index, 'body']) }
          : each,
      );
    return step;
  };
  // A branch of `parallel` and `race` is a step or a list of steps.
  const listIn = (list: readonly Json[], path: IssuePath): Json =>
    list.map((each, index) =>
      Array.isArray(each) ? listIn(each, [...path, index]) : stepIn(each, [...path, index]),
    );

  const { steps, states } = workflow;
  const document: Record<string, Json> = { ...workflow };
  if (Array.isArray(steps)) document.steps = listIn(steps, ['steps']);
  if (isMap(states))
    document.states = Object.fromEntries(
      Object.entries(states as JsonObject).map(([name, state]) => [
        name,
        isMap(state) && Array.isArray(state.steps)
          ? { ...(state as JsonObject), steps: listIn(state.steps, ['states', name, 'steps']) }
          : state,
      ]),
    );
  return { document, issues };
}

const conflict = (path: IssuePath, ours: string, theirs: string, value: Json, written: Json): Issue => ({
  severity: 'error',
  code: 'exclusive',
  path,
  at: 'key',
  message: `"${ours}" and "${theirs}" are two names of one key, and say different things: ${showValue(value)} and ${showValue(written)}.`,
  hint: `Give only one of them. Ours is "${ours}".`,
});

/** Adds the other names to the JSON Schema of a workflow, so that editors accept and complete them. */
export function schemaWithOtherNames(schema: JsonObject): JsonObject {
  const walked = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      Array.isArray(value)
        ? value.map((each: Json) => (isMap(each) ? schemaWithOtherNames(each as JsonObject) : each))
        : isMap(value)
          ? schemaWithOtherNames(value as JsonObject)
          : value,
    ]),
  ) as JsonObject;
  const { properties, required, allOf } = walked;
  if (!isMap(properties) || !isMap(properties.type)) return walked;
  const more: Record<string, Json> = {};
  if (isMap(properties.verify))
    more.verifier = { ...(properties.verify as JsonObject), description: 'Another name of "verify".' };
  const type = String(properties.type.const);
  const other = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (other === undefined || !Array.isArray(required))
    return Object.keys(more).length === 0
      ? walked
      : { ...walked, properties: { ...properties, ...more } as JsonObject };
  return {
    ...walked,
    properties: {
      ...properties,
      ...more,
      stepType: { type: 'string', enum: [other], description: `Another name of "type: ${type}".` },
    } as JsonObject,
    required: required.filter((key) => key !== 'type'),
    allOf: [
      ...(Array.isArray(allOf) ? allOf : []),
      { anyOf: [{ required: ['type'] }, { required: ['stepType'] }] },
    ],
  };
}

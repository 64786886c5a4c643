import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { LeafPlace } from '../leaf.ts';
import { resolveDeep } from '../resolve-deep.ts';
import type { LeafDeps } from './leaf-edges.ts';

/** For messages. */
export const stepWhat = ({ step }: Pick<LeafPlace, 'step'>): string => `step "${step.name}"`;

/** A value of the step with its `${…}` resolved, at once where nothing has to be read for it. */
export const resolveInStep = (
  value: Json,
  place: LeafPlace,
  { scope }: Pick<LeafDeps, 'scope'>,
): Json | Promise<Json> =>
  resolveDeep(value, scope, { what: stepWhat(place), locals: place.locals, at: place.address });

/** As `resolveInStep`, where a map has to come of it; `key` is what the manifest calls it. */
export function resolveMap(
  value: Json,
  key: string,
  place: LeafPlace,
  deps: Pick<LeafDeps, 'scope'>,
): JsonObject | Promise<JsonObject> {
  const resolved = resolveInStep(value, place, deps);
  return resolved instanceof Promise
    ? resolved.then((found) => mapOf(found, key, place))
    : mapOf(resolved, key, place);
}

function mapOf(resolved: Json, key: string, place: LeafPlace): JsonObject {
  if (isMap(resolved)) return resolved as JsonObject;
  throw noMap(stepWhat(place), key, resolved);
}

const noMap = (what: string, key: string, found: Json) =>
  new RuntimeError('bad_parameters', `"${key}" of ${what} is ${showValue(found)}; it must be a map.`, {
    hint: 'Refer to an object, or write the map itself.',
  });

import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { LeafPlace } from '../leaf.ts';
import { resolveDeep } from '../resolve-deep.ts';
import type { LeafEdges } from './leaf-edges.ts';

/** For messages. */
export const stepWhat = ({ step }: Pick<LeafPlace, 'step'>): string => `step "${step.name}"`;

/** A value of the step with its `${…}` resolved. */
export const resolveInStep = (
  value: Json,
  place: LeafPlace,
  { scope }: Pick<LeafEdges, 'scope'>,
): Promise<Json> =>
  resolveDeep(value, scope, { what: stepWhat(place), locals: place.locals, at: place.address });

/** As `resolveInStep`, where a map has to come of it; `key` is what the manifest calls it. */
export async function resolveMap(
  value: Json,
  key: string,
  place: LeafPlace,
  edges: Pick<LeafEdges, 'scope'>,
): Promise<JsonObject> {
  const resolved = await resolveInStep(value, place, edges);
  if (isMap(resolved)) return resolved as JsonObject;
  throw noMap(stepWhat(place), key, resolved);
}

const noMap = (what: string, key: string, found: Json) =>
  new RuntimeError('bad_parameters', `"${key}" of ${what} is ${showValue(found)}; it must be a map.`, {
    hint: 'Refer to an object, or write the map itself.',
  });

import type { DeclaredAction } from '../../../../../telltale/src/events/action.ts';
import type { Json } from '../../../../../telltale/src/kernel/json.ts';

/** A `$name` in parameters, `$$` aside: an output key or an action's id. */
const REFERENCE = /(?<!\$)\$\{?([A-Za-z_][\w-]*)/g;
/** Parameters are looked through so deep, and each text so far. */
const MAX_DEPTH = 8;
const MAX_TEXT = 10_000;

/** The actions that one has to wait for. `actionNamed`: the one that a `$name` stands for, if any does. */
export function needsOf(
  { depends_on: dependsOn = [], parameters }: DeclaredAction,
  actionNamed: (name: string) => string | undefined,
): readonly string[] {
  const needs = new Set(dependsOn);
  const look = (value: Json, depth: number): void => {
    if (typeof value === 'string') {
      if (!value.includes('$')) return;
      for (const [, name = ''] of value.slice(0, MAX_TEXT).matchAll(REFERENCE)) {
        const id = actionNamed(name);
        if (id !== undefined) needs.add(id);
      }
    } else if (value !== null && typeof value === 'object' && depth < MAX_DEPTH)
      for (const each of Object.values(value)) look(each, depth + 1);
  };
  look(parameters, 0);
  return [...needs];
}

import type { Json } from '../../../kernel/json.ts';

/** Whether no part of a value is nested deeper than so many levels. Walks without recursion: depth is what it bounds. */
export function isShallow(value: Json, maxDepth: number): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return false;
    const below: Json[] = [];
    for (const each of level)
      if (typeof each === 'object' && each !== null)
        for (const inner of Object.values(each)) below.push(inner);
    level = below;
  }
  return true;
}

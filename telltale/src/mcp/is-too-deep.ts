import type { Json } from '../kernel/json.ts';

/** As deep as what a model sends may be: who walks or writes a value later may not take any depth. */
export const MAX_DEPTH = 500;

/** Whether lists and objects stand in each other more than `MAX_DEPTH` times. */
export const isTooDeep = (value: Json): boolean => isDeeperThan(value, MAX_DEPTH);

function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

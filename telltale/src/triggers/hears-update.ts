import type { TriggerSide } from './compile-triggers.ts';

/**
 * Whether an update that changes nothing makes a difference to triggers: to all of them if it is the first, before which
 * every condition counts as false, later to those that fire with each, or whose artifact is asked with each.
 */
export const hearsUpdate = (
  side: Pick<TriggerSide, 'indexed' | 'hearsEach'> | undefined,
  updates: number,
): boolean => side !== undefined && (side.hearsEach || (updates === 0 && side.indexed.length > 0));

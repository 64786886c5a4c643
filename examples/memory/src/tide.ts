import { moonPhase } from './moon.ts';

/** Metres above the lowest water, at an hour of the year. */
export function tideAt(hour: number): number {
  return 2 + Math.cos((hour / 12.42) * 2 * Math.PI) * (1 + moonPhase(hour) / 2);
}

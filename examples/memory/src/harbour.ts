import { tideAt } from './tide.ts';

export interface Ship {
  readonly name: string;
  readonly draught: number;
}

const SILL = 3;

/** Whether the ship comes over the sill at that hour. */
export const mayEnter = (ship: Ship, hour: number): boolean => SILL + tideAt(hour) > ship.draught;

/** The first hour from `from` on at which it does. */
export function nextEntry(ship: Ship, from: number): number | undefined {
  for (let hour = from; hour < from + 25; hour++) if (mayEnter(ship, hour)) return hour;
  return undefined;
}

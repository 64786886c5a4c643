/** From 0, new, to 1, full. */
export function moonPhase(hour: number): number {
  return (1 - Math.cos((hour / 708.7) * 2 * Math.PI)) / 2;
}

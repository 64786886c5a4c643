import type { Point } from './layout-level.ts';

const round = (value: number): number => Math.round(value * 10) / 10;

/** A line through all points that leaves and enters each of them downwards (or upwards): straight where they are in line. */
export function edgePath(points: readonly Point[]): string {
  return points
    .map(({ x, y }, at) => {
      const before = points[at - 1];
      if (before === undefined) return `M ${round(x)} ${round(y)}`;
      if (Math.abs(before.x - x) < 0.5) return `L ${round(x)} ${round(y)}`;
      const middle = round((before.y + y) / 2);
      return `C ${round(before.x)} ${middle} ${round(x)} ${middle} ${round(x)} ${round(y)}`;
    })
    .join(' ');
}

/** Of an edge that leads back to its own box: out of its side, and in again. */
export function loopPath([from, over, to]: readonly Point[]): string {
  if (from === undefined || over === undefined || to === undefined) return '';
  return `M ${round(from.x)} ${round(from.y)} C ${round(over.x + 6)} ${round(from.y)} ${round(over.x + 6)} ${round(to.y)} ${round(to.x)} ${round(to.y)}`;
}

import type { Point, Size } from './layout-level.ts';

export const MIN_ZOOM = 0.1;
/** The margin around the drawing, as a share of the viewport. */
export const PADDING = 0.05;
/** Text below this scale cannot be read. */
const READABLE = 0.62;

export interface View extends Point {
  readonly zoom: number;
}

/**
 * The initial view of a drawing: all of it if it is readable. Otherwise as much as is readable, centered on the point
 * of interest, within the drawing's bounds.
 */
export function firstView(drawing: Size, room: Size, interest: Point): View {
  const free = 1 - 2 * PADDING;
  const across = (room.width * free) / Math.max(1, drawing.width);
  const down = (room.height * free) / Math.max(1, drawing.height);
  const all = Math.min(1, across, down);
  const zoom = all >= READABLE ? all : Math.max(MIN_ZOOM, Math.min(1, across, READABLE));
  const shift = (size: number, space: number, at: number) => {
    const drawn = size * zoom;
    const border = space * PADDING;
    if (drawn + 2 * border <= space) return (space - drawn) / 2;
    return Math.min(border, Math.max(space - drawn - border, space / 2 - at * zoom));
  };
  return {
    x: shift(drawing.width, room.width, interest.x),
    y: shift(drawing.height, room.height, interest.y),
    zoom,
  };
}

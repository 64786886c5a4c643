import type { Point, Size } from './layout-level.ts';

export const MIN_ZOOM = 0.1;
/** Of the room, around the drawing. */
export const PADDING = 0.05;
/** Below this size text is not read any more, only seen. */
const READABLE = 0.62;

export interface View extends Point {
  readonly zoom: number;
}

/**
 * What is shown of a drawing at first: all of it where that can be read. Else as much as can be, with the point of
 * interest in the middle, as far as the drawing's edges allow.
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

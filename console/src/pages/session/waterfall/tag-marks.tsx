import { memo } from 'react';
import type { Moment } from '../model/action-phases.ts';
import type { TimeAxis } from '../model/time-axis.ts';
import type { Tag, TagKind } from '../model/waterfall-rows.ts';

export interface TagMarksProps {
  readonly tags: readonly Tag[];
  readonly axis: TimeAxis;
  readonly moment: Moment;
}

/** One shape for each kind of tag, as relative lines from its center, so that color is not needed. */
const SHAPES: Readonly<Record<TagKind, string>> = {
  thought: 'm-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0',
  action: 'm-4.2 -3.4h8.4l-4.2 7.6z',
  metadata: 'm0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z',
  response: 'm-3.4 -3.4h6.8v6.8h-6.8z',
  fault: 'm-3.4 -3.4l6.8 6.8m0 -6.8l-6.8 6.8',
};
const ORDER: readonly TagKind[] = ['thought', 'response', 'action', 'metadata', 'fault'];
/** Marks of the same kind that are closer than this are drawn as one. */
const LEAST_PX = 3;

/** The places in the stream where tags closed, as one path per kind. */
export const TagMarks = memo(function TagMarks({ tags, axis, moment }: TagMarksProps) {
  return (
    <svg
      aria-hidden="true"
      className="pointer-events-none absolute top-0 left-0 h-full w-full overflow-visible"
    >
      {ORDER.map((kind) => {
        const path = pathOf(kind, tags, axis, moment);
        return path === '' ? null : <path key={kind} d={path} className={`wf-tag wf-tag-${kind}`} />;
      })}
    </svg>
  );
});

function pathOf(kind: TagKind, tags: readonly Tag[], axis: TimeAxis, moment: Moment): string {
  let path = '';
  let last = Number.NEGATIVE_INFINITY;
  for (const tag of tags) {
    if (tag.kind !== kind || tag.seq > moment.seq) continue;
    const x = axis.x(tag.at);
    if (x - last < LEAST_PX) continue;
    last = x;
    path += `M${x.toFixed(1)} ${MIDDLE}${SHAPES[kind]}`;
  }
  return path;
}

/** The vertical center of the bar in its row. */
const MIDDLE = 23;

/** The tag near the pointer, if there is one. */
export function tagNear(tags: readonly Tag[], axis: TimeAxis, moment: Moment, x: number): Tag | undefined {
  let best: Tag | undefined;
  let least = REACH_PX;
  for (const tag of tags) {
    if (tag.seq > moment.seq) continue;
    const away = Math.abs(axis.x(tag.at) - x);
    if (away > least) continue;
    least = away;
    best = tag;
  }
  return best;
}

const REACH_PX = 7;

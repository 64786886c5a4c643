import { formatDuration } from '../../../format/format-duration.ts';
import { GAP_PX, type TimeAxis } from '../model/time-axis.ts';
import { gapText } from './waterfall-axis.tsx';

export interface GapMarksProps {
  readonly axis: TimeAxis;
  readonly gutter: number;
  readonly height: number;
  /** What of the axis is in view. */
  readonly from: number;
  readonly to: number;
}

/** Where time was cut out of the axis: a torn strip over the whole height. */
export const GapMarks = ({ axis, gutter, height, from, to }: GapMarksProps) =>
  axis.gaps
    .filter(({ x }) => x + GAP_PX >= from && x <= to)
    .map((gap) => (
      <div
        key={gap.seq}
        aria-hidden="true"
        title={gapText(gap)}
        className="pointer-events-none absolute top-0 z-[5] flex justify-center wf-gap"
        style={{ left: gutter + gap.x, width: GAP_PX, height }}
      >
        <span className="sticky top-9 mt-2 h-fit rounded bg-surface py-1 text-micro text-ink-faint tabular-nums [writing-mode:vertical-rl]">
          {formatDuration(gap.to - gap.from)}
        </span>
      </div>
    ));

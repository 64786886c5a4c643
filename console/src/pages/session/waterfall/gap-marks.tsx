import { GAP_PX, type TimeAxis } from '../model/time-axis.ts';
import { gapText } from './waterfall-axis.tsx';

export interface GapMarksProps {
  readonly axis: TimeAxis;
  readonly gutter: number;
  readonly height: number;
}

/** Where time was cut out of the axis: a torn strip over the whole height. */
export const GapMarks = ({ axis, gutter, height }: GapMarksProps) =>
  axis.gaps.map((gap) => (
    <div
      key={gap.seq}
      aria-hidden="true"
      title={gapText(gap)}
      className="pointer-events-none absolute top-0 z-[5] wf-gap"
      style={{ left: gutter + gap.x, width: GAP_PX, height }}
    />
  ));

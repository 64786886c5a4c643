import { formatDuration } from '../../../format/format-duration.ts';
import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import { axisMark } from '../model/axis-mark.ts';
import type { Gap } from '../model/idle-gaps.ts';
import { axisStep, GAP_PX, type TimeAxis } from '../model/time-axis.ts';

const GAP_WORDS: Readonly<Record<Gap['why'], string>> = {
  person: 'waited for a person',
  away: 'no process ran',
  idle: 'nothing was done',
};

export const gapText = ({ from, to, why }: Gap): string => `${formatDuration(to - from)}: ${GAP_WORDS[why]}`;

export interface WaterfallAxisProps {
  readonly axis: TimeAxis;
  readonly gutter: number;
  readonly width: number;
  /** The visible part of the axis. */
  readonly from: number;
  readonly to: number;
}

/** Marks are so far apart that their labels do not touch. */
const LEAST_PX = 84;

/** The axis of the time since the session started. */
export function WaterfallAxis({ axis, gutter, width, from, to }: WaterfallAxisProps) {
  return (
    <div
      aria-hidden="true"
      className="sticky top-0 z-20 flex h-7 border-b border-line bg-surface text-micro text-ink-faint tabular-nums"
      style={{ width: gutter + width }}
    >
      <span
        className="sticky left-0 z-10 shrink-0 border-r border-line bg-surface px-3 leading-7"
        style={{ width: gutter }}
      >
        since the start
      </span>
      <span className="relative flex-1">
        {marksOf(axis, from, to).map(({ at, x, text }) => (
          <span
            key={at}
            className="absolute top-0 h-7 border-l border-line pl-1 leading-7"
            style={{ left: x }}
          >
            {text}
          </span>
        ))}
        {axis.gaps
          .filter(({ x }) => x + GAP_PX >= from && x <= to)
          .map((gap) => (
            <span
              key={gap.seq}
              title={gapText(gap)}
              className={cx(
                'absolute top-0 flex h-7 items-center justify-center bg-surface',
                gap.why === 'person' ? 'text-wait' : 'text-ink-faint',
              )}
              style={{ left: gap.x, width: GAP_PX }}
            >
              <Icon
                name={gap.why === 'person' ? 'person' : gap.why === 'away' ? 'offline' : 'clock'}
                size={12}
              />
            </span>
          ))}
      </span>
    </div>
  );
}

function marksOf(axis: TimeAxis, from: number, to: number) {
  const step = axisStep(axis.pxPerMs, LEAST_PX);
  const marks: { at: number; x: number; text: string }[] = [];
  let at = Math.floor((axis.at(Math.max(0, from)) - axis.start) / step) * step;
  let last = Number.NEGATIVE_INFINITY;
  while (axis.start + at <= axis.end && marks.length < 60) {
    const x = axis.x(axis.start + at);
    if (x > to) break;
    const gap = axis.gaps.find((each) => axis.start + at > each.from && axis.start + at < each.to);
    if (gap !== undefined) {
      at = Math.ceil((gap.to - axis.start) / step) * step;
      continue;
    }
    const isClear = axis.gaps.every((each) => x < each.x - LEAST_PX / 2 || x >= each.x + GAP_PX);
    if (x >= last + LEAST_PX / 2 && isClear) {
      marks.push({ at, x, text: axisMark(at, step) });
      last = x;
    }
    at += step;
  }
  return marks;
}

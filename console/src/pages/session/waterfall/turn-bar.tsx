import { cx } from '../../../ui/class-names.ts';
import type { Moment } from '../model/action-phases.ts';
import type { TimeAxis } from '../model/time-axis.ts';
import type { TurnRow } from '../model/waterfall-rows.ts';
import { TagMarks } from './tag-marks.tsx';

export interface TurnBarProps {
  readonly row: TurnRow;
  readonly axis: TimeAxis;
  readonly moment: Moment;
}

/** The model's stream in a turn: waiting for the first token, then speaking, then waiting for an action. */
export function TurnBar({ row, axis, moment }: TurnBarProps) {
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const from = axis.x(row.at);
  const first = axis.x(Math.min(row.at + (end?.firstTokenMs ?? 0), end?.spokeUntil ?? moment.at));
  const spoke = axis.x(end?.spokeUntil ?? moment.at);
  const until = axis.x(end?.at ?? moment.at);
  const isFailed = end?.finish === 'failed';
  return (
    <>
      <span
        data-seq={row.seq}
        className="absolute top-[15px] h-4 rounded-l-sm border border-r-0 border-dashed border-accent/60"
        style={{ left: from, width: Math.max(0, first - from) }}
      />
      <span
        data-seq={end?.seq ?? row.seq}
        className={cx('absolute top-[15px] h-4 rounded-sm', isFailed ? 'wf-failed' : 'wf-speech')}
        style={{ left: first, width: Math.max(3, spoke - first) }}
      />
      {until - spoke > 1 ? (
        <span
          data-seq={end?.seq ?? row.seq}
          className="absolute top-[18px] h-2.5 rounded-r-sm wf-held"
          style={{ left: spoke, width: until - spoke }}
        />
      ) : null}
      <TagMarks tags={row.tags} axis={axis} moment={moment} />
    </>
  );
}

import { formatDuration } from '../../../format/format-duration.ts';
import { cx } from '../../../ui/class-names.ts';
import type { Moment } from '../model/action-phases.ts';
import type { TimeAxis } from '../model/time-axis.ts';
import type { RunRow } from '../model/waterfall-rows.ts';
import { EndMark } from './end-mark.tsx';

export interface RunBarProps {
  readonly row: RunRow;
  readonly axis: TimeAxis;
  readonly moment: Moment;
}

/** A triggered workflow run. The conversation does not wait for it. */
export function RunBar({ row, axis, moment }: RunBarProps) {
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const to = end?.at ?? moment.at;
  const left = axis.x(row.at);
  const width = Math.max(3, axis.x(to) - left);
  return (
    <>
      <span
        data-seq={row.seq}
        className={cx(
          'absolute top-[7px] h-3 rounded-full',
          end?.status === 'failed' ? 'wf-failed' : 'wf-run',
        )}
        style={{ left, width }}
      />
      <EndMark
        status={end?.status ?? 'running'}
        left={left + width}
        seq={end?.seq ?? row.seq}
        text={formatDuration(to - row.at)}
      />
    </>
  );
}

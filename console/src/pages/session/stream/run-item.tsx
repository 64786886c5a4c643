import { Link } from 'wouter';
import { formatDuration } from '../../../format/format-duration.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { RunRow } from '../model/waterfall-rows.ts';
import { ItemFrame } from './item-frame.tsx';

export interface RunItemProps {
  readonly seq: number;
  readonly row: RunRow;
  readonly isEnd: boolean;
}

/** That a workflow was set off, and how it ended. */
export function RunItem({ seq, row, isEnd }: RunItemProps) {
  const { workflow, run, end, at } = row;
  const told =
    isEnd && end !== undefined ? `${end.status} after ${formatDuration(end.at - at)}` : 'triggered';
  return (
    <ItemFrame seq={seq} label={`Workflow ${workflow}`}>
      <p className="flex flex-wrap items-center gap-1.5 text-small">
        <Icon name="workflows" size={13} className="text-stall" />
        <Link href={`/runs/${encodeURIComponent(run)}`} className="font-semibold hover:underline">
          {workflow}
        </Link>
        <span className={isEnd && end?.status === 'failed' ? 'text-fail' : 'text-ink-soft'}>{told}</span>
        {isEnd && end?.error !== undefined ? (
          <span className="min-w-0 break-words text-ink-soft">{end.error.message}</span>
        ) : null}
      </p>
    </ItemFrame>
  );
}

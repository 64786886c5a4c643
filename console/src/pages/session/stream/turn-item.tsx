import { formatDuration } from '../../../format/format-duration.ts';
import { formatCost, formatCount } from '../../../format/format-number.ts';
import type { TurnRow } from '../model/waterfall-rows.ts';
import { useSessionView } from '../session-view.ts';
import { ItemFrame } from './item-frame.tsx';

/** Where a turn begins, with what it took. */
export function TurnItem({ row }: { readonly row: TurnRow }) {
  const { model, moment } = useSessionView();
  const end = row.end !== undefined && row.end.seq <= moment.seq ? row.end : undefined;
  const isWaiting = end === undefined && model.stateAt(moment.seq).status === 'waiting';
  const figures: string[] = [];
  if (end?.usage !== undefined)
    figures.push(`${formatCount(end.usage.input)} + ${formatCount(end.usage.output)} tokens`);
  if (end?.firstTokenMs !== undefined) figures.push(`first after ${formatDuration(end.firstTokenMs)}`);
  if (end !== undefined) figures.push(formatDuration(end.spokeUntil - row.at));
  if (end?.cost !== undefined && end.cost > 0) figures.push(formatCost(end.cost));
  if (end?.finish === 'cut') figures.push('cut by the runtime');
  if (end?.finish === 'interrupted') figures.push('interrupted');
  if (end?.finish === 'length') figures.push('reached its length limit');
  return (
    <ItemFrame seq={row.seq} label={`Turn ${row.turn}`} className="pt-3">
      <p className="flex items-center gap-2 text-small">
        <span className="shrink-0 font-semibold">Turn {row.turn}</span>
        <span aria-hidden="true" className="h-px min-w-3 flex-1 bg-line" />
        <span className="truncate text-micro text-ink-faint tabular-nums">
          {end === undefined
            ? isWaiting
              ? 'waiting for a person'
              : 'the model speaks…'
            : figures.join(' · ')}
        </span>
      </p>
    </ItemFrame>
  );
}

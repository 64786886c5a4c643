import { cx } from '../../../ui/class-names.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import type { WaterfallRow } from '../model/waterfall-rows.ts';

const ICONS: Readonly<Record<string, IconName>> = {
  agent: 'agents',
  workflow: 'workflows',
  artifact: 'artifacts',
  llm: 'message',
};

/** The label of a row, in the column that stays while the axis scrolls. */
export function RowLabel({ row, width }: { readonly row: WaterfallRow; readonly width: number }) {
  const frame =
    'sticky left-0 z-10 flex h-full shrink-0 items-center gap-1.5 border-r border-line bg-surface pr-2';
  if (row.kind === 'turn')
    return (
      <span aria-hidden="true" className={cx(frame, 'pl-3 text-small font-semibold')} style={{ width }}>
        <span className="truncate">Turn {row.turn}</span>
        <span className="ml-auto truncate text-micro font-normal text-ink-faint">model</span>
      </span>
    );
  const isRun = row.kind === 'run';
  const name = isRun ? row.workflow : row.action.name;
  const icon = isRun ? 'workflows' : ICONS[row.action.kind];
  return (
    <span aria-hidden="true" className={cx(frame, isRun ? 'pl-3' : 'pl-5', 'text-small')} style={{ width }}>
      {icon === undefined ? null : (
        <Icon name={icon} size={12} className={isRun ? 'text-stall' : 'text-accent'} />
      )}
      <span className="truncate">{name}</span>
      <span className="ml-auto max-w-[45%] shrink-0 truncate font-mono text-micro text-ink-faint">
        {isRun ? 'workflow' : row.action.id}
      </span>
    </span>
  );
}

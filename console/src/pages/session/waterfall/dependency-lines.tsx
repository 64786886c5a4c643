import type { Moment } from '../model/action-phases.ts';
import type { TimeAxis } from '../model/time-axis.ts';
import type { Waterfall } from '../model/waterfall.ts';
import { ROW_HEIGHT } from './layout.ts';
import type { ShownRow } from './use-row-window.ts';

export interface DependencyLinesProps {
  readonly waterfall: Waterfall;
  readonly axis: TimeAxis;
  readonly gutter: number;
  readonly moment: Moment;
  readonly height: number;
  readonly shown: readonly ShownRow[];
}

/** From the end of an action down to what waited for it; only between rows that are in view. */
export function DependencyLines({ waterfall, axis, gutter, moment, height, shown }: DependencyLinesProps) {
  const tops = new Map<string, number>();
  let path = '';
  for (const { index, top: start } of shown) {
    const row = waterfall.rows[index];
    if (row?.kind !== 'action') continue;
    tops.set(row.action.id, start);
    const began = row.attempts[0];
    for (const id of row.needs) {
      const top = tops.get(id);
      const end = waterfall.action(id)?.end;
      if (top === undefined || end === undefined || end.seq > moment.seq || end.at < row.at) continue;
      const x = gutter + axis.x(end.at);
      const to = began === undefined || began.seq > moment.seq ? x : gutter + axis.x(began.at);
      path += `M${x.toFixed(1)} ${top + ROW_HEIGHT - 7}V${start + ROW_HEIGHT / 2}H${to.toFixed(1)}`;
    }
  }
  return path === '' ? null : (
    <svg
      aria-hidden="true"
      className="pointer-events-none absolute top-0 left-0 z-[4] w-full overflow-visible"
      style={{ height }}
    >
      <path d={path} fill="none" stroke="var(--ink-faint)" strokeWidth={1} />
    </svg>
  );
}

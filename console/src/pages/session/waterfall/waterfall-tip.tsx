import type { ActionStatus } from '../../../../../telltale/src/log/action.ts';
import { cx } from '../../../ui/class-names.ts';
import type { RowFacts } from '../model/row-facts.ts';
import type { Tag } from '../model/waterfall-rows.ts';

export interface WaterfallTipProps {
  readonly facts: RowFacts;
  readonly tag: Tag | undefined;
  /** Relative to the window. */
  readonly x: number;
  readonly y: number;
}

const WIDTH = 304;
const HEIGHT = 240;

/** A tooltip for whatever is under the pointer. The row's accessible name says the same. */
export function WaterfallTip({ facts, tag, x, y }: WaterfallTipProps) {
  const left = Math.min(x + 14, window.innerWidth - WIDTH - 12);
  const isLow = y > window.innerHeight - HEIGHT;
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none fixed z-40 rounded-lg border border-line bg-raised p-2.5 text-small shadow-float"
      style={{ left, width: WIDTH, ...(isLow ? { bottom: window.innerHeight - y + 14 } : { top: y + 18 }) }}
    >
      {tag === undefined ? null : (
        <p className="mb-1.5 flex gap-1.5 border-b border-line pb-1.5">
          <span className="shrink-0 font-semibold capitalize">{tag.kind}</span>
          <span className="line-clamp-3 min-w-0 break-words text-ink-soft">{tag.label}</span>
        </p>
      )}
      <p className="flex items-center gap-1.5">
        <span className="max-w-[55%] shrink-0 truncate font-semibold">{facts.title}</span>
        <span className="truncate text-ink-faint">{facts.about}</span>
        <StatusWord status={facts.status} />
      </p>
      <dl className="mt-1.5 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5">
        {facts.lines.map(([what, value], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same phase may come twice, and lines never move.
          <div key={index} className="contents">
            <dt className="text-ink-faint">{what}</dt>
            <dd className="line-clamp-3 break-words tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const INKS: Readonly<Record<ActionStatus, string>> = {
  waiting: 'text-wait',
  running: 'text-accent',
  completed: 'text-done',
  failed: 'text-fail',
  skipped: 'text-off',
  cancelled: 'text-off',
  interrupted: 'text-stall',
  compensated: 'text-off',
};

const WORDS: Partial<Record<ActionStatus, string>> = { compensated: 'undone', interrupted: 'interrupted' };

const StatusWord = ({ status }: { readonly status: ActionStatus }) => (
  <span className={cx('ml-auto shrink-0 font-medium', INKS[status])}>{WORDS[status] ?? status}</span>
);

import { visibleText } from '../../../../telltale/src/kernel/visible-text.ts';
import { plural } from '../../format/format-number.ts';
import { cx } from '../../ui/class-names.ts';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import type { DiffRow } from './diff-rows.ts';

const LOOKS = {
  same: ['', ' ', ''],
  old: ['bg-fail-soft', '−', 'gone: '],
  new: ['bg-done-soft', '+', 'new: '],
} as const;

/** A comparison line by line: by colour, by sign, and for who listens in words. */
export const DiffView = ({ rows }: { readonly rows: readonly DiffRow[] }) => (
  <section
    aria-label="Changes"
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window is scrolled to by keyboard, too.
    tabIndex={0}
    className="overflow-x-auto py-2 font-mono text-small -outline-offset-2"
  >
    <InvisibleWarning of={rows.map((row) => (row.kind === 'gap' ? '' : row.text))} />
    {rows.map((row, at) =>
      row.kind === 'gap' ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows are known by their place.
        <p key={at} className="my-1 bg-sunken px-3 py-0.5 text-ink-faint">
          {plural(row.lines, 'line')} that are the same
        </p>
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above.
        <div key={at} className={cx('flex min-w-max', LOOKS[row.kind][0])}>
          <span className="w-10 shrink-0 pr-2 text-right text-ink-faint tabular-nums select-none">
            {row.old}
          </span>
          <span className="w-10 shrink-0 pr-2 text-right text-ink-faint tabular-nums select-none">
            {row.fresh}
          </span>
          <span aria-hidden="true" className="w-4 shrink-0 select-none">
            {LOOKS[row.kind][1]}
          </span>
          <code className="pr-4 whitespace-pre">
            {LOOKS[row.kind][2] === '' ? null : <span className="sr-only">{LOOKS[row.kind][2]}</span>}
            {row.text === '' ? ' ' : visibleText(row.text)}
          </code>
        </div>
      ),
    )}
  </section>
);

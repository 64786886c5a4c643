import { useId, useMemo, useState } from 'react';
import type { ArtifactSource } from '../../../../telltale/src/client/api.ts';
import { visibleText } from '../../../../telltale/src/lib/text.ts';
import { plural } from '../../format/format-number.ts';
import { cx } from '../../ui/class-names.ts';
import { InvisibleWarning } from '../../ui/invisible-warning.tsx';
import { type DiffRow, diffRows } from './diff-rows.ts';

export interface ArtifactChangesProps {
  readonly versions: readonly ArtifactSource[];
  readonly shown: ArtifactSource;
}

/** The changes of a version relative to another one, by default its parent. */
export function ArtifactChanges({ versions, shown }: ArtifactChangesProps) {
  const id = useId();
  const others = versions.filter(({ version }) => version !== shown.version);
  const [chosen, setChosen] = useState<number>();
  const base =
    others.find(({ version }) => version === (chosen ?? shown.parent)) ??
    others.find(({ version }) => version < shown.version) ??
    others[0];
  const diff = useMemo(
    () => (base === undefined ? undefined : diffRows(base.source, shown.source)),
    [base, shown],
  );
  if (base === undefined || diff === undefined)
    return <p className="p-4 text-ink-soft">There is only one version, so there is nothing to compare.</p>;
  return (
    <div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2 text-small">
        <label htmlFor={id}>From version</label>
        <select
          id={id}
          value={base.version}
          onChange={(event) => setChosen(Number(event.target.value))}
          className="h-7 rounded-md border border-line-strong bg-surface px-1.5"
        >
          {others.map(({ version }) => (
            <option key={version} value={version}>
              {version}
            </option>
          ))}
        </select>
        <span>to version {shown.version}:</span>
        <span role="status" className="text-ink-soft">
          {diff.added + diff.removed === 0
            ? 'they say the same'
            : `${plural(diff.added, 'line')} new, ${plural(diff.removed, 'line')} gone`}
        </span>
      </div>
      <DiffView rows={diff.rows} />
    </div>
  );
}

const LOOKS = {
  same: ['', ' ', ''],
  old: ['bg-fail-soft', '−', 'gone: '],
  new: ['bg-done-soft', '+', 'new: '],
} as const;

/** A line-by-line comparison. Color, signs and screen-reader text all say which lines changed. */
const DiffView = ({ rows }: { readonly rows: readonly DiffRow[] }) => (
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

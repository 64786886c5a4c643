import { useId, useMemo, useState } from 'react';
import type { ArtifactSource } from '../../../../telltale/src/client/api.ts';
import { plural } from '../../format/format-number.ts';
import { diffRows } from './diff-rows.ts';
import { DiffView } from './diff-view.tsx';

export interface ArtifactChangesProps {
  readonly versions: readonly ArtifactSource[];
  readonly shown: ArtifactSource;
}

/** What a version says that another does not: its parent, unless somebody chooses. */
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

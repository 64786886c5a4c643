import { useState } from 'react';
import type { Json } from '../../../../../telltale/src/lib/json.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { brief } from '../model/brief-value.ts';
import { type Change, changesUntil } from '../model/field-history.ts';
import { useSessionView } from '../session-view.ts';

/** The variables at the shown moment: value, class, who set them, and their earlier values. */
export function VariablesPanel() {
  const { model, moment } = useSessionView();
  const [open, setOpen] = useState<string>();
  const { variables } = model.stateAt(moment.seq);
  if (variables.size === 0) return <EmptyState icon="key" title="No variable has a value yet." />;
  return (
    <ul className="flex flex-col">
      {[...variables].map(([name, { value, class: kind, by }]) => {
        const changes = changesUntil(model.history.variables.get(name) ?? [], moment.seq);
        const isOpen = open === name;
        return (
          <li key={name} className="border-b border-line last:border-b-0">
            <button
              type="button"
              aria-expanded={isOpen}
              onClick={() => setOpen(isOpen ? undefined : name)}
              className="flex w-full min-w-0 items-center gap-2 px-3 py-2 text-left text-small -outline-offset-2 hover:bg-hover"
            >
              <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={12} className="text-ink-faint" />
              <span className="shrink-0 font-mono font-medium">${name}</span>
              <span className="min-w-0 flex-1 truncate font-mono text-ink-soft">{brief(value, 120)}</span>
              <span className="shrink-0 rounded border border-line px-1 text-micro text-ink-soft">
                {kind}
              </span>
              <span className="hidden shrink-0 text-micro text-ink-faint sm:inline">by {by}</span>
            </button>
            {isOpen ? <ChangeList value={value} changes={changes} /> : null}
          </li>
        );
      })}
    </ul>
  );
}

/** How many of the newest changes are listed. */
const MAX_LISTED = 50;

/** A full value and its history. */
function ChangeList({ value, changes }: { readonly value: Json; readonly changes: readonly Change[] }) {
  const { model, select } = useSessionView();
  const older = changes.length - MAX_LISTED;
  return (
    <div className="flex flex-col gap-2 px-3 pb-3">
      <JsonView value={value} label="Value" className="max-h-60 overflow-y-auto" />
      <ol className="flex flex-col gap-1 text-small">
        {changes
          .slice(-MAX_LISTED)
          .toReversed()
          .map(({ seq, at, to, by }) => (
            <li key={seq} className="flex min-w-0 items-baseline gap-2">
              <button
                type="button"
                onClick={() => select(seq)}
                className="shrink-0 font-mono text-micro text-accent hover:underline"
              >
                event {seq}
              </button>
              <span className="shrink-0 text-micro text-ink-faint tabular-nums">
                +{formatDuration(at - model.waterfall.start)}
              </span>
              <span className="min-w-0 flex-1 truncate font-mono">{brief(to, 100)}</span>
              <span className="shrink-0 text-micro text-ink-faint">by {by}</span>
            </li>
          ))}
      </ol>
      {older > 0 ? <p className="text-micro text-ink-faint">and {older} before that</p> : null}
    </div>
  );
}

import { useState } from 'react';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { brief } from '../model/brief-value.ts';
import { changesUntil } from '../model/field-history.ts';
import { useSessionView } from '../session-view.ts';
import { ChangeList } from './change-list.tsx';

/** The variables at the moment: value, class, who set it, and what it was before. */
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

import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { STATUS_LOOKS, STATUSES, type Status } from '../../ui/status-look.ts';

export interface SessionFiltersProps {
  readonly status: readonly Status[];
  readonly agent: string;
  readonly search: string;
  readonly subAgents: boolean;
  readonly onStatus: (status: readonly Status[]) => void;
  readonly onAgent: (agent: string) => void;
  readonly onSearch: (search: string) => void;
  readonly onSubAgents: (shown: boolean) => void;
}

export function SessionFilters(props: SessionFiltersProps) {
  const { status, agent, search, subAgents, onStatus, onAgent, onSearch, onSubAgents } = props;
  const agents = useReadable(useData().agents);
  const names = agents.kind === 'ready' ? agents.value.map(({ name }) => name) : [];
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchField label="Search sessions" value={search} onChange={onSearch} />
      <fieldset className="flex max-w-full items-center gap-1 overflow-x-auto rounded-lg p-0.5">
        <legend className="sr-only">Status</legend>
        {STATUSES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={status.includes(one)}
            onClick={() =>
              onStatus(status.includes(one) ? status.filter((other) => other !== one) : [...status, one])
            }
            className={cx(
              'inline-flex h-7 shrink-0 items-center gap-1 rounded-full border px-2.5 text-small font-medium',
              status.includes(one)
                ? cx('border-current', STATUS_LOOKS[one].ink, STATUS_LOOKS[one].ground)
                : 'border-line bg-surface text-ink-soft hover:border-line-strong',
            )}
          >
            <Icon name={STATUS_LOOKS[one].icon} size={12} />
            {STATUS_LOOKS[one].label}
          </button>
        ))}
      </fieldset>
      <select
        aria-label="Agent"
        value={agent}
        onChange={(event) => onAgent(event.target.value)}
        className="h-8 max-w-48 rounded-md border border-line bg-surface px-2 text-body hover:border-line-strong"
      >
        <option value="">All agents</option>
        {[...new Set(agent === '' ? names : [agent, ...names])].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <label className="inline-flex h-8 items-center gap-2 px-1 text-body text-ink-soft">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          checked={subAgents}
          onChange={(event) => onSubAgents(event.target.checked)}
        />
        Sub-agents
      </label>
    </div>
  );
}

import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { useLocation } from 'wouter';
import { useLiveList } from '../../data/live-lists.ts';
import { useReadable } from '../../data/readable.ts';
import type { SessionFilter } from '../../data/session-lists.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useData } from '../../data/use-data.ts';
import { useKept } from '../../data/use-kept.ts';
import { plural } from '../../format/format-number.ts';
import { Page } from '../../shell/page.tsx';
import { useKeys } from '../../shell/use-keys.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Loading } from '../../ui/loading.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { STATUS_LOOKS, STATUSES, type Status } from '../../ui/status-look.ts';
import { FirstSession } from './first-session.tsx';
import { SESSION_GRID } from './session-columns.ts';
import { SessionLine } from './session-line.tsx';
import { type SessionRow, sessionRows } from './session-rows.ts';

export function SessionsPage() {
  const { sessions } = useData();
  const [, navigate] = useLocation();
  const [status, setStatus] = useKept<readonly Status[]>('sessions.status', []);
  const [agent, setAgent] = useKept('sessions.agent', '');
  const [search, setSearch] = useKept('sessions.search', '');
  const [subAgents, setSubAgents] = useKept('sessions.sub-agents', false);
  const filter: SessionFilter = {
    ...(status.length === 0 ? {} : { status }),
    ...(agent === '' ? {} : { agent }),
  };
  const list = useLiveList(sessions, filter);
  const rows = useMemo(() => sessionRows(list.rows, { search, subAgents }), [list.rows, search, subAgents]);
  const blocked = useBlocked('run');
  const filtered = status.length > 0 || agent !== '' || search !== '';
  const clear = () => {
    setStatus([]);
    setAgent('');
    setSearch('');
  };
  const start = (
    <Button
      kind="primary"
      icon="plus"
      blocked={blocked}
      // On a wide screen, the sidebar has this button.
      className="md:hidden"
      onClick={() => navigate('/start')}
    >
      New session
    </Button>
  );
  if (list.kind === 'ready' && list.rows.length === 0 && !list.more && !filtered)
    return (
      <Page title="Sessions">
        <FirstSession />
      </Page>
    );
  return (
    <Page title="Sessions" actions={start} fill>
      <SessionFilters
        {...{ status, agent, search, subAgents }}
        onStatus={setStatus}
        onAgent={setAgent}
        onSearch={setSearch}
        onSubAgents={setSubAgents}
      />
      {list.error === undefined ? null : (
        <ErrorState title="The sessions could not be read." error={list.error} onRetry={list.refresh} />
      )}
      {list.kind === 'loading' ? (
        <Loading label="Reading the sessions" rows={6} className="rounded-lg border border-line bg-surface" />
      ) : rows.length === 0 && list.kind === 'ready' ? (
        <NoMatch onClear={clear} more={list.more} busy={list.reading} onMore={list.loadMore} />
      ) : list.kind === 'ready' ? (
        <SessionTable rows={rows} more={list.more} busy={list.reading} onMore={list.loadMore} />
      ) : null}
    </Page>
  );
}

interface NoMatchProps {
  readonly onClear: () => void;
  readonly more: boolean;
  readonly busy: boolean;
  readonly onMore: () => void;
}

const NoMatch = ({ onClear, more, busy, onMore }: NoMatchProps) => (
  <div className="rounded-lg border border-line bg-surface">
    <EmptyState
      icon="filter"
      title="No session matches."
      actions={
        <>
          <Button onClick={onClear}>Show all</Button>
          {more ? (
            <Button busy={busy} onClick={onMore}>
              Search older sessions
            </Button>
          ) : null}
        </>
      }
    >
      {more
        ? 'Only the newest sessions were searched. There are older ones.'
        : 'New sessions that match appear here.'}
    </EmptyState>
  </div>
);

interface SessionFiltersProps {
  readonly status: readonly Status[];
  readonly agent: string;
  readonly search: string;
  readonly subAgents: boolean;
  readonly onStatus: (status: readonly Status[]) => void;
  readonly onAgent: (agent: string) => void;
  readonly onSearch: (search: string) => void;
  readonly onSubAgents: (shown: boolean) => void;
}

function SessionFilters(props: SessionFiltersProps) {
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

interface SessionTableProps {
  readonly rows: readonly SessionRow[];
  readonly more: boolean;
  readonly busy: boolean;
  readonly onMore: () => void;
}

const ROW_PIXELS = 60;
const OVERSCAN = 8;

/** Only the visible rows are in the document, so ten thousand rows scroll as well as ten. */
function SessionTable({ rows, more, busy, onMore }: SessionTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PIXELS,
    overscan: OVERSCAN,
    // Rows may be one frame late. Blocking the scroll would be worse.
    useFlushSync: false,
    getItemKey: (at) => rows[at]?.session.id ?? at,
  });
  const chosen = useRef(-1);
  useKeys((key) => {
    if (key !== 'j' && key !== 'k') return false;
    const to = Math.min(rows.length - 1, Math.max(0, chosen.current + (key === 'j' ? 1 : -1)));
    chosen.current = to;
    virtual.scrollToIndex(to);
    // The row may not be in the document before the next frame.
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-at="${to}"] a`)?.focus({ preventScroll: true }),
    );
    return true;
  });
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-hidden rounded-lg border border-line bg-surface">
      <SessionHead />
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
        <ul aria-label="Sessions" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <SessionLine
                key={key}
                row={row}
                at={index}
                of={rows.length}
                top={start}
                measure={virtual.measureElement}
              />
            );
          })}
        </ul>
      </div>
      <div className="flex shrink-0 items-center justify-between gap-2 border-t border-line px-3 py-1.5 text-small text-ink-faint">
        <span>{plural(rows.length, 'session')}</span>
        {more ? (
          <Button size="small" kind="quiet" busy={busy} onClick={onMore}>
            Load more
          </Button>
        ) : null}
      </div>
    </div>
  );
}

const COLUMNS = [
  ['Status', ''],
  ['Session', ''],
  ['Declared state', ''],
  ['Waits and runs', ''],
  ['Turn', 'text-right'],
  ['Tokens', 'text-right'],
  ['Cost', 'text-right'],
  ['Started', 'text-right'],
] as const;

/** Not for screen readers, because each row names its own figures. */
const SessionHead = () => (
  <div
    aria-hidden="true"
    className={cx(
      'hidden h-8 shrink-0 border-b border-line bg-sunken px-3 text-small font-medium text-ink-faint',
      SESSION_GRID,
    )}
  >
    {COLUMNS.map(([label, side]) => (
      <span key={label} className={side}>
        {label}
      </span>
    ))}
  </div>
);

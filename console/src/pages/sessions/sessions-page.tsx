import { useMemo } from 'react';
import { useLocation } from 'wouter';
import { useLiveList } from '../../data/live-lists.ts';
import type { SessionFilter } from '../../data/session-lists.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useData } from '../../data/use-data.ts';
import { useKept } from '../../data/use-kept.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import type { Status } from '../../ui/status-look.ts';
import { FirstSession } from './first-session.tsx';
import { NoMatch } from './no-match.tsx';
import { SessionFilters } from './session-filters.tsx';
import { sessionRows } from './session-rows.ts';
import { SessionTable } from './session-table.tsx';

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
      // Where there is a sidebar, it has one.
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

import type { ReactNode } from 'react';
import { allows } from '../../data/allows.ts';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { useKept } from '../../data/use-kept.ts';
import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { AuditPanel } from './audit-panel.tsx';
import { NotificationsPanel } from './notifications-panel.tsx';
import { TokensPanel } from './tokens-panel.tsx';
import { WorkersPanel } from './workers-panel.tsx';

type View = 'audit' | 'notifications' | 'workers' | 'tokens';

/** The server itself: who did what, which notifications were sent, which workers run, and who has access. */
export function ActivityPage() {
  const [view, setView] = useKept<View>('activity.view', 'audit');
  return (
    <Page title="Activity">
      <Tabs<View>
        label="Activity"
        className="rounded-lg border border-line bg-surface"
        tabs={[
          { id: 'audit', label: 'Who did what' },
          { id: 'notifications', label: 'Notifications' },
          { id: 'workers', label: 'Workers' },
          { id: 'tokens', label: 'Tokens' },
        ]}
        active={view}
        onChange={setView}
      >
        {view === 'audit' ? (
          <ForAdmins what="Only administrators see who did what.">
            <AuditPanel />
          </ForAdmins>
        ) : null}
        {view === 'notifications' ? <NotificationsPanel /> : null}
        {view === 'workers' ? <WorkersPanel /> : null}
        {view === 'tokens' ? (
          <ForAdmins what="Only administrators see tokens.">
            <TokensPanel />
          </ForAdmins>
        ) : null}
      </Tabs>
    </Page>
  );
}

/** For content that only admins may see. Others are told why they can't. */
function ForAdmins({ what, children }: { readonly what: string; readonly children: ReactNode }) {
  const caller = useReadable(useData().who);
  if (caller.kind !== 'known') return <Loading label="Asking who you are" />;
  const { name, role } = caller.who;
  if (allows(role, 'admin')) return children;
  return (
    <EmptyState icon="key" title={what}>
      Your token “{name}” has the role “{role}”. Ask whoever runs the server for a token with the role
      “admin”.
    </EmptyState>
  );
}

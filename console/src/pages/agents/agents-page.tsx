import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const AgentsPage = () => (
  <Page title="Agents">
    <EmptyState icon="agents" title="This page is not there yet." />
  </Page>
);

import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const WorkflowsPage = () => (
  <Page title="Workflows">
    <EmptyState icon="workflows" title="This page is not there yet." />
  </Page>
);

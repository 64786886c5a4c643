import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const SessionsPage = () => (
  <Page title="Sessions">
    <EmptyState icon="sessions" title="This page is not there yet." />
  </Page>
);

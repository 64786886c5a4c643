import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const ActivityPage = () => (
  <Page title="Activity">
    <EmptyState icon="activity" title="This page is not there yet." />
  </Page>
);

import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const MemoryPage = () => (
  <Page title="Memory">
    <EmptyState icon="memory" title="This page is not there yet." />
  </Page>
);

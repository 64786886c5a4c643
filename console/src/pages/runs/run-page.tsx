import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const RunPage = ({ id }: { readonly id: string }) => (
  <Page title={`Run ${id}`}>
    <EmptyState icon="workflows" title="This page is not there yet." />
  </Page>
);

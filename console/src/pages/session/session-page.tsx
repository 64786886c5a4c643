import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const SessionPage = ({ id }: { readonly id: string }) => (
  <Page title={`Session ${id}`}>
    <EmptyState icon="sessions" title="This page is not there yet." />
  </Page>
);

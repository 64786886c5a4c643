import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const AgentPage = ({ name }: { readonly name: string }) => (
  <Page title={name}>
    <EmptyState icon="agents" title="This page is not there yet." />
  </Page>
);

import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const WorkflowPage = ({ agent, name }: { readonly agent: string; readonly name: string }) => (
  <Page title={`${agent} / ${name}`}>
    <EmptyState icon="workflows" title="This page is not there yet." />
  </Page>
);

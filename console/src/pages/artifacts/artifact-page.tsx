import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const ArtifactPage = ({ name }: { readonly name: string }) => (
  <Page title={name}>
    <EmptyState icon="artifacts" title="This page is not there yet." />
  </Page>
);

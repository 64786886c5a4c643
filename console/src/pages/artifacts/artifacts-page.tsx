import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const ArtifactsPage = () => (
  <Page title="Artifacts">
    <EmptyState icon="artifacts" title="This page is not there yet." />
  </Page>
);

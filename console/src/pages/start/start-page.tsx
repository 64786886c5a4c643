import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const StartPage = ({ agent }: { readonly agent: string | undefined }) => (
  <Page title={agent ?? 'Start a session'}>
    <EmptyState icon="plus" title="This page is not there yet." />
  </Page>
);

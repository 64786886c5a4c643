import { Page } from '../../shell/page.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export const ReviewsPage = ({ review }: { readonly review: string | undefined }) => (
  <Page title={review ?? 'Reviews'}>
    <EmptyState icon="reviews" title="This page is not there yet." />
  </Page>
);

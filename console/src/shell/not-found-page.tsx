import { Link } from 'wouter';
import { EmptyState } from '../ui/empty-state.tsx';
import { Page } from './page.tsx';

export const NotFoundPage = () => (
  <Page title="No such page">
    <EmptyState icon="search" title="There is nothing at this address.">
      The address may belong to another version of the console.{' '}
      <Link href="/sessions" className="text-accent underline">
        See the sessions
      </Link>
      .
    </EmptyState>
  </Page>
);

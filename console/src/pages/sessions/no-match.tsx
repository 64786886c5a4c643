import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';

export interface NoMatchProps {
  readonly onClear: () => void;
  readonly more: boolean;
  readonly busy: boolean;
  readonly onMore: () => void;
}

export const NoMatch = ({ onClear, more, busy, onMore }: NoMatchProps) => (
  <div className="rounded-lg border border-line bg-surface">
    <EmptyState
      icon="filter"
      title="No session matches."
      actions={
        <>
          <Button onClick={onClear}>Show all</Button>
          {more ? (
            <Button busy={busy} onClick={onMore}>
              Look further back
            </Button>
          ) : null}
        </>
      }
    >
      {more
        ? 'Only the newest sessions were searched. There are older ones.'
        : 'New sessions that match appear here.'}
    </EmptyState>
  </div>
);

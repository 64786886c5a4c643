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
        ? 'Only the sessions that were read so far are searched; there are older ones.'
        : 'New ones that match will appear here by themselves.'}
    </EmptyState>
  </div>
);

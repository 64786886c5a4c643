import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useSessionView } from './session-view.ts';

/** Until the first events are there. */
export function SessionArrival() {
  const { model } = useSessionView();
  const status = model.status();
  return status.kind === 'failed' ? (
    <ErrorState
      title="The session could not be read."
      list={{ href: '/sessions', label: 'See all sessions' }}
      error={status.error}
      onRetry={model.open}
    />
  ) : (
    <Loading label="Reading the session" rows={8} />
  );
}

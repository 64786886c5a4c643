import { EmptyState } from '../../../ui/empty-state.tsx';
import { EventDetails } from '../../log/event-details.tsx';
import { runEventClause } from '../../session/model/run-event-clause.ts';
import { useRunView } from '../run-view.ts';

/** One event: what it says, and why it happened. */
export function RunEventPanel() {
  const view = useRunView();
  const { model, selected } = view;
  const event = selected === undefined ? undefined : model.events[selected - 1];
  if (event === undefined)
    return (
      <EmptyState icon="dot" title="No event selected.">
        Choose one among the events, the decisions or the states.
      </EmptyState>
    );
  const clause = runEventClause(event);
  const sentence = `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
  return <EventDetails {...{ view, event, sentence }} count={model.events.length} />;
}

import { useMemo, useState } from 'react';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { decisionsOf } from '../model/decisions.ts';
import { useRunView } from '../run-view.ts';
import { DecisionLine } from './decision-line.tsx';

const FIRST = 150;
const STEP = 500;

/** Everything that was decided: by artifacts, with their fallbacks, by tests, and by hooks. */
export function DecisionsPanel() {
  const { model, seq, version } = useRunView();
  const [shown, setShown] = useState(FIRST);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the events, which stay one list, are more.
  const decisions = useMemo(() => decisionsOf(model.events, seq), [model, seq, version]);
  if (decisions.length === 0)
    return (
      <EmptyState icon="artifacts" title="No decisions yet.">
        Conditions, artifacts and hooks decide. Each decision appears here with its result.
      </EmptyState>
    );
  return (
    <>
      <ol aria-label="Decisions" className="divide-y divide-line">
        {decisions.slice(0, shown).map((decision) => (
          <DecisionLine key={decision.seq} decision={decision} />
        ))}
      </ol>
      {decisions.length > shown ? (
        <Button size="small" kind="quiet" className="m-2" onClick={() => setShown(shown + STEP)}>
          {(decisions.length - shown).toLocaleString('en')} more
        </Button>
      ) : null}
    </>
  );
}

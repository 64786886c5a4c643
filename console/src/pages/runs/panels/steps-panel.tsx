import { useMemo, useState } from 'react';
import { stepName } from '../../../../../telltale/src/log/reduce-run.ts';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { stepStories } from '../model/step-stories.ts';
import { useRunView } from '../run-view.ts';
import { StepLine } from './step-line.tsx';

export interface StepsPanelProps {
  readonly chosen: string | undefined;
  readonly onChoose: (name: string | undefined) => void;
}

/** How many steps are shown at first and per click, because a loop may have executed thousands. */
const FIRST = 150;
const STEP = 500;

/** Every execution of a step, in order. If a box of the graph is selected, only its steps. */
export function StepsPanel({ chosen, onChoose }: StepsPanelProps) {
  const { model, state, version } = useRunView();
  const [shown, setShown] = useState(FIRST);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that events and state, which stay the same, are more.
  const stories = useMemo(() => stepStories(model.events, state), [model, state, version]);
  const own = chosen === undefined ? stories : stories.filter(({ step }) => isOf(step.step, chosen));
  if (stories.length === 0)
    return (
      <EmptyState icon="workflows" title="No step has started.">
        {state.visited.length === 0
          ? 'Each step appears here with its input and its output.'
          : 'The states of this run have no steps.'}
      </EmptyState>
    );
  return (
    <>
      {chosen === undefined ? null : (
        <p className="flex items-center gap-2 border-b border-line px-3 py-1.5 text-small text-ink-soft">
          Only what belongs to <strong className="font-semibold text-ink">{chosen}</strong>
          <Button size="small" kind="quiet" onClick={() => onChoose(undefined)}>
            Show all
          </Button>
        </p>
      )}
      {own.length === 0 ? <p className="p-4 text-ink-soft">The run has not reached this step.</p> : null}
      <ol aria-label="Steps" className="divide-y divide-line">
        {own.slice(0, shown).map((story) => (
          <StepLine
            key={`${chosen ?? ''} ${story.step.step}`}
            story={story}
            isOpen={chosen !== undefined && own.length === 1}
          />
        ))}
      </ol>
      {own.length > shown ? (
        <Button size="small" kind="quiet" className="m-2" onClick={() => setShown(shown + STEP)}>
          {(own.length - shown).toLocaleString('en')} more
        </Button>
      ) : null}
    </>
  );
}

/** Whether the address is the named step or state, or inside it. */
const isOf = (address: string, name: string): boolean =>
  stepName(address) === name ||
  address.split('/').some((part) => part.replace(/(?:@\d+|\[\d+\]|~\d+|#\d+)+$/, '') === name);

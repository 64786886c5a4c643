import { useEffect, useState } from 'react';
import type { StepDecision } from '../../../../telltale/src/log/run-event.ts';
import type { StepChange } from '../../../../telltale/src/log/run-state.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useRunView } from './run-view.ts';

const MARKS: Readonly<Record<StepChange['change'], string>> = {
  kept: '=',
  new: '+',
  gone: '−',
  in_doubt: '?',
};
const CHOICES: Readonly<Record<StepDecision, string>> = {
  rerun: 'Run it again',
  skip: 'Count it as done',
  fail: 'Fail it',
};

export interface ChangesDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onResumed: () => void;
}

/** Shows what a changed workflow means for the run, and asks about each undecided step. */
export function ChangesDialog({ open, onClose, onResumed }: ChangesDialogProps) {
  const { id } = useRunView();
  const { client } = useData();
  const [steps, setSteps] = useState<readonly StepChange[]>();
  const [problem, setProblem] = useState<string>();
  const [decide, setDecide] = useState<Readonly<Record<string, StepDecision>>>({});
  useEffect(() => {
    if (!open) return;
    setDecide({});
    setSteps(undefined);
    setProblem(undefined);
    client.runChanges(id).then(
      (changes) => setSteps(changes.steps),
      (thrown: unknown) => setProblem(thrown instanceof Error ? thrown.message : String(thrown)),
    );
  }, [open, client, id]);
  const resume = useCall((caller, options, decided: Readonly<Record<string, StepDecision>>) =>
    caller.resumeRun(id, { accept_changes: { decide: decided } }, options),
  );
  const undecided = (steps ?? []).filter(({ step, choices }) => choices !== undefined && !(step in decide));
  const onResume = async () => {
    if ((await resume.run(decide)) === undefined) return;
    onClose();
    onResumed();
  };
  const blocked =
    steps === undefined
      ? 'The changes are not loaded yet.'
      : undecided.length > 0
        ? `Decide about ${undecided.map(({ step }) => step).join(', ')} first.`
        : undefined;
  const error = resume.error?.message ?? problem;
  return (
    <Dialog
      wide
      title="The workflow has changed"
      open={open}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Leave the run as it is</Button>
          <Button kind="primary" busy={resume.busy} blocked={blocked} onClick={() => void onResume()}>
            Accept and resume
          </Button>
        </>
      }
    >
      {error === undefined ? null : (
        <p role="alert" className="mb-3 text-small text-fail">
          {error}
        </p>
      )}
      {steps === undefined && problem === undefined ? <Loading label="Comparing the steps" rows={3} /> : null}
      <ul className="flex flex-col gap-2">
        {(steps ?? []).map(({ step, change, status, now, outcome, choices }) => (
          <li key={step} className="text-body">
            <p>
              <span aria-hidden="true" className="inline-block w-4 font-mono text-ink-faint">
                {MARKS[change]}
              </span>
              <strong className="font-semibold">{step}</strong>
              {status === undefined ? '' : ` (${status})`}
              {now === undefined ? '' : `, now “${now}”`}
            </p>
            <p className="pl-4 text-ink-soft">{outcome}</p>
            {choices === undefined ? null : (
              <fieldset className="mt-1 flex flex-wrap gap-3 pl-4">
                <legend className="sr-only">What becomes of {step}?</legend>
                {choices.map((choice) => (
                  <label key={choice} className="flex items-center gap-1">
                    <input
                      type="radio"
                      name={`decide ${step}`}
                      checked={decide[step] === choice}
                      onChange={() => setDecide({ ...decide, [step]: choice })}
                    />
                    {CHOICES[choice]}
                  </label>
                ))}
              </fieldset>
            )}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

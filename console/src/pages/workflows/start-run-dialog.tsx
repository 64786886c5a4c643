import { useState } from 'react';
import { useLocation } from 'wouter';
import type { WorkflowInfo } from '../../../../telltale/src/client/api.ts';
import type { JsonObject } from '../../../../telltale/src/kernel/json.ts';
import { useCall } from '../../data/use-call.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { inputFields, readInput, readObject } from './input-fields.ts';
import { InputForm } from './input-form.tsx';
import { runPath } from './paths.ts';

export interface StartRunDialogProps {
  readonly workflow: WorkflowInfo;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Starts a workflow by hand: with a form where its input is simple, else with JSON. */
export function StartRunDialog({ workflow, open, onClose }: StartRunDialogProps) {
  const { agent, name, input: schema } = workflow;
  const fields = inputFields(schema);
  const [, navigate] = useLocation();
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [json, setJson] = useState('{}');
  const [isTried, setTried] = useState(false);
  const start = useCall((client, options, input: JsonObject) =>
    client.startRun(
      { agent, workflow: name, ...(Object.keys(input).length === 0 ? {} : { input }) },
      options,
    ),
  );
  const read = fields === undefined ? undefined : readInput(fields, typed);
  const object = fields === undefined ? readObject(json) : undefined;
  const submit = async () => {
    setTried(true);
    const input = read?.input ?? object;
    if (input === undefined || typeof input === 'string') return;
    if (read !== undefined && Object.keys(read.problems).length > 0) return;
    const run = await start.run(input as JsonObject);
    if (run !== undefined) navigate(runPath(run.id));
  };
  return (
    <Dialog
      title={`Run ${name}`}
      open={open}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" icon="play" busy={start.busy} onClick={() => void submit()}>
            Run
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p className="text-ink-soft">
          The workflow runs with the tools and permissions of {agent}, but without a session. Values that it
          reads from a session, such as “agent.metadata”, are missing.
        </p>
        {read !== undefined && fields !== undefined ? (
          <InputForm
            fields={fields}
            typed={typed}
            problems={isTried ? read.problems : {}}
            onChange={setTyped}
          />
        ) : (
          <TextArea
            label="Input"
            hint="A JSON object that fits the workflow’s schema."
            error={isTried && typeof object === 'string' ? object : undefined}
            rows={8}
            value={json}
            onText={setJson}
            onSubmit={() => void submit()}
            className="font-mono text-small"
          />
        )}
        {/* Enter in a field submits only where a button of the form does. */}
        <button type="submit" className="sr-only" tabIndex={-1} aria-hidden="true">
          Run
        </button>
        {start.error === undefined ? null : (
          <ErrorState title="The run was not started." error={start.error} />
        )}
      </form>
    </Dialog>
  );
}

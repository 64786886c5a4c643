import { useState } from 'react';
import { useLocation } from 'wouter';
import type { WorkflowInfo } from '../../../../telltale/src/client/api.ts';
import type { JsonObject } from '../../../../telltale/src/lib/json.ts';
import { useCall } from '../../data/use-call.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { type InputField, inputFields, readInput, readObject } from './input-fields.ts';
import { runPath } from './paths.ts';

export interface StartRunDialogProps {
  readonly workflow: WorkflowInfo;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Starts a workflow by hand: with a form if its input is simple, otherwise with JSON. */
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

interface InputFormProps {
  readonly fields: readonly InputField[];
  readonly typed: Readonly<Record<string, string>>;
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: (typed: Readonly<Record<string, string>>) => void;
}

/** One field for each input of the workflow. */
const InputForm = ({ fields, typed, problems, onChange }: InputFormProps) => (
  <>
    {fields.map((field) => (
      <OneField
        key={field.name}
        field={field}
        value={typed[field.name] ?? ''}
        problem={problems[field.name]}
        onValue={(value) => onChange({ ...typed, [field.name]: value })}
      />
    ))}
  </>
);

interface OneFieldProps {
  readonly field: InputField;
  readonly value: string;
  readonly problem: string | undefined;
  readonly onValue: (value: string) => void;
}

function OneField({ field, value, problem, onValue }: OneFieldProps) {
  const { name, kind, required, description, options = [], fallback } = field;
  const hint = [description, fallback === undefined ? undefined : `${fallback} if nothing is given.`]
    .filter(Boolean)
    .join(' ');
  const told = hint === '' ? {} : { hint };
  if (kind === 'json')
    return (
      <TextArea
        label={name}
        hint={`${hint} JSON or plain text.`.trim()}
        error={problem}
        optional={!required}
        rows={3}
        value={value}
        onText={onValue}
        className="font-mono text-small"
      />
    );
  return (
    <Field label={name} {...told} error={problem} optional={!required}>
      {(tie) =>
        kind === 'choice' || kind === 'flag' ? (
          <select {...tie} value={value} onChange={(event) => onValue(event.target.value)}>
            <option value="">–</option>
            {(kind === 'flag' ? ['true', 'false'] : options).map((option) => (
              <option key={option} value={option}>
                {option}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...tie}
            type="text"
            inputMode={kind === 'number' ? 'decimal' : 'text'}
            value={value}
            onChange={(event) => onValue(event.target.value)}
          />
        )
      }
    </Field>
  );
}

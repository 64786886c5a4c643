import { Field } from '../../ui/field.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import type { InputField } from './input-fields.ts';

export interface InputFormProps {
  readonly fields: readonly InputField[];
  readonly typed: Readonly<Record<string, string>>;
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: (typed: Readonly<Record<string, string>>) => void;
}

/** A field for each thing that a workflow wants to be given. */
export const InputForm = ({ fields, typed, problems, onChange }: InputFormProps) => (
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

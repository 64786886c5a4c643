import { useId } from 'react';
import type { ModelChoice } from '../../../telltale/src/client/api.ts';
import { Field } from './field.tsx';

export interface ModelFieldProps {
  readonly value: string;
  /** The model that is used if nothing is typed. */
  readonly own: string;
  readonly choices: readonly ModelChoice[];
  readonly onChange: (model: string) => void;
}

/** A model to choose or to type, because a server may know more models than it lists. */
export function ModelField({ value, own, choices, onChange }: ModelFieldProps) {
  const list = useId();
  const provided = choices.some(({ from }) => from === 'provider');
  return (
    <Field
      label="Model"
      optional
      hint={
        provided
          ? 'Choose one, or type provider/model.'
          : 'Type provider/model. The server has no provider key yet, so it suggests none.'
      }
    >
      {(tie) => (
        <>
          <input
            {...tie}
            list={list}
            value={value}
            autoComplete="off"
            spellCheck={false}
            placeholder={own === '' ? 'provider/model' : own}
            onChange={(event) => onChange(event.target.value)}
          />
          <datalist id={list}>
            {choices.map(({ model, from }) => (
              <option key={model} value={model}>
                {from === 'agent' ? 'named in the manifest' : model.split('/')[0]}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

import { Button } from '../../ui/button.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import type { StartVariable } from './start-variables.ts';

export interface VariableFieldsProps {
  readonly variables: readonly StartVariable[];
  readonly onChange: (variables: readonly StartVariable[]) => void;
}

const INPUT =
  'h-8 min-w-0 rounded-md border border-line-strong bg-surface px-2 text-body placeholder:text-ink-faint';

export function VariableFields({ variables, onChange }: VariableFieldsProps) {
  const replace = (at: number, next: StartVariable) =>
    onChange(variables.map((one, other) => (other === at ? next : one)));
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-body font-medium">
        Variables <span className="font-normal text-ink-faint">(optional)</span>
      </legend>
      {variables.map((variable, at) => {
        const { name, value, description, fallback, declared } = variable;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: names are typed here, and may be the same while they are.
          <div key={at}>
            <div className="flex gap-2">
              {declared ? (
                <code className="flex h-8 w-40 shrink-0 items-center truncate text-small" title={name}>
                  {name}
                </code>
              ) : (
                <input
                  className={`${INPUT} w-40 shrink-0 font-mono`}
                  aria-label={`Name of variable ${at + 1}`}
                  placeholder="name"
                  value={name}
                  onChange={(event) => replace(at, { ...variable, name: event.target.value })}
                />
              )}
              <input
                className={`${INPUT} flex-1`}
                aria-label={`Value of ${name || `variable ${at + 1}`}`}
                placeholder={fallback ?? 'value'}
                value={value}
                onChange={(event) => replace(at, { ...variable, value: event.target.value })}
              />
              {declared ? null : (
                <IconButton
                  icon="close"
                  label={`Remove ${name || `variable ${at + 1}`}`}
                  onClick={() => onChange(variables.filter((_, other) => other !== at))}
                />
              )}
            </div>
            {description === undefined ? null : (
              <p className="mt-0.5 text-small text-ink-faint">{description}</p>
            )}
          </div>
        );
      })}
      <Button
        size="small"
        kind="quiet"
        icon="plus"
        className="self-start"
        onClick={() => onChange([...variables, { name: '', value: '', declared: false }])}
      >
        Add a variable
      </Button>
    </fieldset>
  );
}

import { type ReactNode, useId } from 'react';

export interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** What is wrong with its value. */
  readonly error?: string | undefined;
  readonly optional?: boolean;
  /** Renders the control with the ids that connect it to its label, hint and error. */
  readonly children: (tie: FieldTie) => ReactNode;
}

export interface FieldTie {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
  readonly className: string;
}

const CONTROL =
  'block w-full rounded-md border border-line-strong bg-surface px-2.5 py-1.5 text-body text-ink placeholder:text-ink-faint aria-invalid:border-fail';

export function Field({ label, hint, error, optional = false, children }: FieldProps) {
  const id = useId();
  const described = [
    hint === undefined ? undefined : `${id}-hint`,
    error === undefined ? undefined : `${id}-error`,
  ];
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-body font-medium">
        {label}
        {optional ? <span className="font-normal text-ink-faint"> (optional)</span> : null}
      </label>
      {children({
        id,
        'aria-describedby': described.filter(Boolean).join(' ') || undefined,
        'aria-invalid': error === undefined ? undefined : true,
        className: CONTROL,
      })}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="text-small text-ink-faint">
          {hint}
        </p>
      )}
      {error === undefined ? null : (
        <p id={`${id}-error`} className="text-small text-fail">
          {error}
        </p>
      )}
    </div>
  );
}

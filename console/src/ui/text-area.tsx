import type { KeyboardEvent, TextareaHTMLAttributes } from 'react';
import { cx } from './class-names.ts';
import { Field } from './field.tsx';

export interface TextAreaProps extends Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange'> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly optional?: boolean;
  readonly onText: (text: string) => void;
  /** Called at Ctrl+Enter or Cmd+Enter. */
  readonly onSubmit?: () => void;
}

export function TextArea(props: TextAreaProps) {
  const { label, hint, error, optional, onText, onSubmit, className, ...rest } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <Field
      label={label}
      {...(hint === undefined ? {} : { hint })}
      error={error}
      {...(optional === undefined ? {} : { optional })}
    >
      {(tie) => (
        <textarea
          rows={4}
          {...rest}
          {...tie}
          className={cx(tie.className, 'resize-y', className)}
          onChange={(event) => onText(event.target.value)}
          onKeyDown={onKeyDown}
        />
      )}
    </Field>
  );
}

import type { ButtonHTMLAttributes } from 'react';
import { cx } from './class-names.ts';
import { Icon } from './icon.tsx';
import type { IconName } from './icon-shapes.ts';

export interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly icon: IconName;
  /** What it does: its accessible name and its tooltip. */
  readonly label: string;
  /** For a toggle button. */
  readonly pressed?: boolean;
  readonly blocked?: string | undefined;
}

export function IconButton({ icon, label, pressed, blocked, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...(blocked === undefined
        ? { title: label }
        : {
            title: `${label}: ${blocked}`,
            'aria-disabled': true,
            'aria-description': blocked,
            onClick: (event) => event.preventDefault(),
          })}
      aria-label={label}
      aria-pressed={pressed}
      className={cx(
        'inline-flex size-8 shrink-0 items-center justify-center rounded-md text-ink-soft transition-colors',
        'hover:bg-hover hover:text-ink aria-pressed:bg-accent-soft aria-pressed:text-accent',
        'aria-disabled:cursor-not-allowed aria-disabled:opacity-55 disabled:opacity-55',
        className,
      )}
    >
      <Icon name={icon} />
    </button>
  );
}

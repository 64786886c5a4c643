import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { cx } from './class-names.ts';
import { Icon } from './icon.tsx';
import type { IconName } from './icon-shapes.ts';

export type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger';

const KINDS: Readonly<Record<ButtonKind, string>> = {
  primary: 'border-transparent bg-accent text-on-accent enabled:hover:bg-accent-strong',
  plain: 'border-line bg-surface text-ink enabled:hover:border-line-strong enabled:hover:bg-hover',
  quiet: 'border-transparent bg-transparent text-ink-soft enabled:hover:bg-hover enabled:hover:text-ink',
  danger: 'border-line bg-surface text-fail enabled:hover:border-fail enabled:hover:bg-fail-soft',
};

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: ButtonKind;
  readonly size?: 'small' | 'normal';
  readonly icon?: IconName;
  readonly busy?: boolean;
  /** Why it cannot be used. The button stays focusable, is announced as disabled, and shows the reason. */
  readonly blocked?: string | undefined;
  readonly children: ReactNode;
}

export function Button(props: ButtonProps) {
  const {
    kind = 'plain',
    size = 'normal',
    icon,
    busy = false,
    blocked,
    children,
    className,
    ...rest
  } = props;
  const off = blocked !== undefined || busy;
  return (
    <button
      type="button"
      {...rest}
      {...(off ? { 'aria-disabled': true, onClick: (event) => event.preventDefault() } : {})}
      {...(blocked === undefined ? {} : { title: blocked, 'aria-description': blocked })}
      className={cx(
        'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors',
        size === 'small' ? 'h-7 px-2 text-small' : 'h-8 px-3 text-body',
        KINDS[kind],
        'aria-disabled:cursor-not-allowed aria-disabled:opacity-55 disabled:opacity-55',
        className,
      )}
    >
      {busy ? (
        <Icon name="spinner" size={14} className="animate-turn" />
      ) : icon === undefined ? null : (
        <Icon name={icon} size={14} />
      )}
      {children}
    </button>
  );
}

import type { ReactNode } from 'react';
import { Icon } from './icon.tsx';
import type { IconName } from './icon-shapes.ts';

export interface EmptyStateProps {
  readonly icon: IconName;
  readonly title: string;
  /** Why it is empty, and how to change that. */
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

export const EmptyState = ({ icon, title, children, actions }: EmptyStateProps) => (
  <div className="flex flex-col items-center gap-3 px-6 py-12 text-center">
    <span className="flex size-11 items-center justify-center rounded-full bg-sunken text-ink-faint">
      <Icon name={icon} size={20} />
    </span>
    <p className="text-lead font-semibold">{title}</p>
    {children === undefined ? null : <div className="max-w-md text-body text-ink-soft">{children}</div>}
    {actions === undefined ? null : <div className="mt-1 flex flex-wrap justify-center gap-2">{actions}</div>}
  </div>
);

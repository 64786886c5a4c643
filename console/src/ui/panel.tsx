import { type ReactNode, useId } from 'react';
import { cx } from './class-names.ts';

export interface PanelProps {
  readonly title?: ReactNode;
  /** At the end of the title's line. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  /** Classes for the part below the title. With it, that part has no padding of its own. */
  readonly bodyClassName?: string;
}

/** A card. With a title, it is a region with that name. */
export function Panel({ title, actions, children, className, bodyClassName }: PanelProps) {
  const id = useId();
  const named = title !== undefined;
  return (
    <section
      aria-labelledby={named ? id : undefined}
      className={cx('flex min-w-0 flex-col rounded-lg border border-line bg-surface', className)}
    >
      {named || actions !== undefined ? (
        <header className="flex min-h-10 shrink-0 items-center gap-2 border-b border-line px-3">
          <h2 id={id} className="min-w-0 flex-1 truncate text-body font-semibold">
            {title}
          </h2>
          {actions}
        </header>
      ) : null}
      <div className={cx('min-h-0 min-w-0 flex-1', bodyClassName ?? 'p-3')}>{children}</div>
    </section>
  );
}

import { type KeyboardEvent, type ReactNode, useEffect, useId } from 'react';
import { cx } from './class-names.ts';

export interface Tab<Id extends string> {
  readonly id: Id;
  readonly label: string;
  /** A number next to the label. */
  readonly count?: number;
}

export interface TabsProps<Id extends string> {
  /** The accessible name of the tab list. */
  readonly label: string;
  readonly tabs: readonly Tab<Id>[];
  readonly active: Id;
  readonly onChange: (id: Id) => void;
  /** The panel of the active tab. */
  readonly children: ReactNode;
  readonly className?: string;
  readonly panelClassName?: string;
}

/** Arrow keys, Home and End move between tabs. Only the active tab is in the tab order. */
export function Tabs<Id extends string>(props: TabsProps<Id>) {
  const { label, tabs, active, onChange, children, className, panelClassName } = props;
  const base = useId();
  useEffect(() => {
    // On a narrow screen the tabs scroll, and other controls may activate one.
    document
      .getElementById(`${base}-${active}`)
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
  }, [base, active]);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const at = tabs.findIndex(({ id }) => id === active);
    const to = targetOf(event.key, at, tabs.length);
    const next = to === undefined ? undefined : tabs[to];
    if (next === undefined) return;
    event.preventDefault();
    onChange(next.id);
    document.getElementById(`${base}-${next.id}`)?.focus();
  };
  return (
    <div className={cx('flex min-h-0 flex-col', className)}>
      <div
        role="tablist"
        aria-label={label}
        onKeyDown={onKeyDown}
        className="flex shrink-0 gap-1 overflow-x-auto border-b border-line px-2"
      >
        {tabs.map(({ id, label: text, count }) => (
          <button
            key={id}
            id={`${base}-${id}`}
            type="button"
            role="tab"
            aria-selected={id === active}
            aria-controls={`${base}-panel`}
            tabIndex={id === active ? 0 : -1}
            onClick={() => onChange(id)}
            className={cx(
              '-mb-px h-9 border-b-2 px-2 text-body font-medium whitespace-nowrap -outline-offset-2',
              id === active ? 'border-accent text-ink' : 'border-transparent text-ink-faint hover:text-ink',
            )}
          >
            {text}
            {count === undefined ? null : (
              <span className="ml-1 text-small font-normal text-ink-faint tabular-nums"> {count}</span>
            )}
          </button>
        ))}
      </div>
      <div
        id={`${base}-panel`}
        role="tabpanel"
        aria-labelledby={`${base}-${active}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel without controls has to be reachable to be scrolled.
        tabIndex={0}
        className={cx('min-h-0 flex-1 -outline-offset-2', panelClassName)}
      >
        {children}
      </div>
    </div>
  );
}

function targetOf(key: string, at: number, length: number): number | undefined {
  if (key === 'ArrowRight') return (at + 1) % length;
  if (key === 'ArrowLeft') return (at - 1 + length) % length;
  if (key === 'Home') return 0;
  if (key === 'End') return length - 1;
  return undefined;
}

import { Link } from 'wouter';
import { cx } from '../ui/class-names.ts';
import { Icon } from '../ui/icon.tsx';
import type { NavItem } from './nav-items.ts';

export interface NavLinkProps {
  readonly item: NavItem;
  readonly active: boolean;
  /** How many things are waiting there. */
  readonly count: number;
  readonly narrow?: boolean;
}

export const NavLink = ({ item, active, count, narrow = false }: NavLinkProps) => (
  <Link
    href={item.path}
    aria-current={active ? 'page' : undefined}
    title={narrow ? undefined : `${item.label} (g ${item.key})`}
    className={cx(
      'relative flex items-center rounded-md font-medium transition-colors',
      narrow ? 'flex-1 flex-col justify-center gap-0.5 py-1.5 text-micro' : 'h-8 gap-2.5 px-2.5 text-body',
      active ? 'bg-accent-soft text-accent' : 'text-ink-soft hover:bg-hover hover:text-ink',
    )}
  >
    <Icon name={item.icon} size={narrow ? 18 : 16} />
    <span className={narrow ? '' : 'flex-1'}>{item.label}</span>
    {count > 0 ? (
      <span
        className={cx(
          'inline-flex h-4.5 min-w-4.5 items-center justify-center rounded-full bg-wait px-1 text-micro font-semibold text-canvas tabular-nums',
          narrow && 'absolute top-0.5 left-1/2 ml-1.5',
        )}
      >
        {count}
        <span className="sr-only"> waiting</span>
      </span>
    ) : null}
  </Link>
);

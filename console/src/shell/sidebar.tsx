import { Link } from 'wouter';
import { Icon } from '../ui/icon.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { ConnectionNote } from './connection-note.tsx';
import { Logo } from './logo.tsx';
import { NAV_ITEMS } from './nav-items.ts';
import { NavLink } from './nav-link.tsx';

export interface NavProps {
  /** The path of the active item. */
  readonly home: string;
  readonly waiting: number;
  readonly onHelp: () => void;
}

export const Sidebar = ({ home, waiting, onHelp }: NavProps) => (
  <nav
    aria-label="Pages"
    className="hidden h-full w-52 shrink-0 flex-col gap-4 border-r border-line bg-surface p-3 md:flex"
  >
    <Link
      href="/sessions"
      className="flex items-center gap-2 px-1.5 pt-1 text-lead font-semibold tracking-tight"
    >
      <Logo />
      Telltale
    </Link>
    <Link
      href="/start"
      className="flex h-8 items-center gap-2 rounded-md bg-accent px-2.5 font-medium text-on-accent hover:bg-accent-strong"
    >
      <Icon name="plus" />
      <span className="flex-1">New session</span>
      <kbd className="font-mono text-small opacity-80">n</kbd>
    </Link>
    <div className="flex flex-1 flex-col gap-0.5">
      {NAV_ITEMS.map((item) => (
        <NavLink
          key={item.path}
          item={item}
          active={home === item.path}
          count={item.path === '/reviews' ? waiting : 0}
        />
      ))}
    </div>
    <div className="flex items-end gap-1">
      <ConnectionNote />
      <IconButton icon="keyboard" label="Keyboard shortcuts" onClick={onHelp} />
    </div>
  </nav>
);

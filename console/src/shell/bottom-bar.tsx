import { useState } from 'react';
import { cx } from '../ui/class-names.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { ConnectionNote } from './connection-note.tsx';
import { NAV_ITEMS } from './nav-items.ts';
import { NavLink } from './nav-link.tsx';
import type { NavProps } from './sidebar.tsx';

/** The pages on a narrow screen: the four that people use on the way, and the others behind "More". */
export function BottomBar({ home, waiting }: Omit<NavProps, 'onHelp'>) {
  const [more, setMore] = useState(false);
  const rest = NAV_ITEMS.filter(({ main }) => !main);
  const isInRest = rest.some(({ path }) => path === home);
  return (
    <nav
      aria-label="Pages"
      className="flex shrink-0 gap-1 border-t border-line bg-surface px-2 pt-1 pb-[max(0.25rem,env(safe-area-inset-bottom))] md:hidden"
    >
      {NAV_ITEMS.filter(({ main }) => main).map((item) => (
        <NavLink
          key={item.path}
          narrow
          item={item}
          active={home === item.path}
          count={item.path === '/reviews' ? waiting : 0}
        />
      ))}
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setMore(true)}
        className={cx(
          'flex flex-1 flex-col items-center justify-center gap-0.5 rounded-md py-1.5 text-micro font-medium',
          isInRest ? 'bg-accent-soft text-accent' : 'text-ink-soft hover:bg-hover',
        )}
      >
        <Icon name="chevronDown" size={18} className="rotate-180" />
        More
      </button>
      <Dialog title="More" open={more} onClose={() => setMore(false)}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the links inside do the work; following one closes the list. */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click, too. */}
        <div className="flex flex-col gap-1" onClick={() => setMore(false)}>
          {rest.map((item) => (
            <NavLink key={item.path} item={item} active={home === item.path} count={0} />
          ))}
        </div>
        <div className="mt-3 border-t border-line pt-3">
          <ConnectionNote />
        </div>
      </Dialog>
    </nav>
  );
}

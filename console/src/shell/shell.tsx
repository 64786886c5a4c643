import { useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useReadable } from '../data/readable.ts';
import { useData } from '../data/use-data.ts';
import { ToastRegion } from '../ui/toast-region.tsx';
import { ArrivalContext } from './arrival.ts';
import { BottomBar } from './bottom-bar.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { OfflineBanner } from './lost-server.tsx';
import { homeOf } from './nav-items.ts';
import { Routes } from './routes.tsx';
import { ShortcutsHelp } from './shortcuts-help.tsx';
import { Sidebar } from './sidebar.tsx';
import { TokenPrompt } from './token-prompt.tsx';
import { useShortcuts } from './use-shortcuts.ts';

/** What stands around every page. */
export function Shell() {
  const { connection, who, reviews } = useData();
  const [location] = useLocation();
  const [help, setHelp] = useState(false);
  const state = useReadable(connection);
  const caller = useReadable(who);
  const { open } = useReadable(reviews);
  const first = useRef(location);
  const moved = useRef(false);
  if (first.current !== location && first.current !== '/') moved.current = true;
  else first.current = location;
  useShortcuts(() => setHelp(true));
  if (caller.kind === 'refused') return <TokenPrompt error={caller.error} />;
  const nav = { home: homeOf(location), waiting: open.length, onHelp: () => setHelp(true) };
  return (
    <ArrivalContext value={moved}>
      <button
        type="button"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 font-medium text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        onClick={() => document.getElementById('main')?.focus()}
      >
        Skip to content
      </button>
      <div className="flex h-dvh flex-col md:flex-row">
        <Sidebar {...nav} />
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {state.kind === 'lost' ? <OfflineBanner error={state.error} retryAt={state.retryAt} /> : null}
          <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto">
            <ErrorBoundary at={location}>
              <Routes />
            </ErrorBoundary>
          </main>
        </div>
        <BottomBar {...nav} />
      </div>
      <ToastRegion />
      <ShortcutsHelp open={help} onClose={() => setHelp(false)} />
    </ArrivalContext>
  );
}

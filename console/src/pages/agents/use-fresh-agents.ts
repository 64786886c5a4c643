import { useEffect } from 'react';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';

const LOOK_MS = 2_000;

/** If the server reloads changed manifests, the page shows the change within two seconds. */
export function useFreshAgents(also?: () => void): void {
  const { agents, who } = useData();
  const state = useReadable(who);
  const dev = state.kind === 'known' && state.who.dev;
  useEffect(() => {
    if (!dev) return;
    const timer = setInterval(() => {
      if (document.hidden) return;
      void agents.refresh();
      also?.();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [agents, dev, also]);
}

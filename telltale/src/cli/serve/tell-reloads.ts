import type { AgentCatalog } from '../../server/catalog/agent-catalog.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { reloadText } from './serve-lines.ts';

/** Loads agents anew when files below the roots change, and says what that came to, until it is told to stop. */
export async function tellReloads(
  catalog: AgentCatalog,
  roots: readonly string[],
  io: Io,
  onError: (thrown: unknown) => void,
): Promise<() => void> {
  const { watchCatalog } = await import('../../server/catalog/watch-catalog.ts');
  const watching = watchCatalog(catalog, { roots, clock: io.clock, onError });
  let before = catalog.list();
  const unlisten = catalog.onChange(() => {
    const now = catalog.list();
    void io.stderr.write(reloadText(before, now, { paint: paletteFor(io.stderr), cwd: io.cwd }));
    before = now;
  });
  return () => {
    unlisten();
    watching.close();
  };
}

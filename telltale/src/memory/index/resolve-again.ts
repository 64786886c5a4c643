import type { GraphFile, GraphStore } from '../../store/graph.ts';
import type { Language } from '../parsed-file.ts';
import type { ResolveContext } from './resolve/resolve-context.ts';
import { resolveImport } from './resolve/resolve-import.ts';
import { createResolveView } from './resolve/resolve-view.ts';

/** Imports that go to the store at once, or are looked at between two turns of the event loop. */
const CHUNK = 1_000;

/** Looks again where imports lead that led nowhere, now that other files are there. */
export async function resolveAgain(
  store: GraphStore,
  graph: string,
  known: ReadonlyMap<string, GraphFile>,
  context: ResolveContext,
): Promise<void> {
  const view = createResolveView(known.has.bind(known), () => known.keys());
  const open = await store.unresolved(graph);
  let found: { path: string; specifier: string; target: string }[] = [];
  const write = async () => {
    if (found.length > 0) await store.resolve(graph, found);
    found = [];
  };
  for (const [at, { path, specifier }] of open.entries()) {
    const language = known.get(path)?.language as Language | undefined;
    const target =
      language === undefined ? undefined : resolveImport(specifier, path, language, view, context);
    if (target !== undefined && target !== path) found.push({ path, specifier, target });
    if (found.length >= CHUNK) await write();
    // Others of this thread are not to wait for 100,000 of them.
    else if (at % CHUNK === CHUNK - 1) await new Promise((resolve) => setImmediate(resolve));
  }
  await write();
}

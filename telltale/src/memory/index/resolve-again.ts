import type { GraphStore, ResolvedImport } from '../../store/graph.ts';
import type { Language } from '../parsed-file.ts';
import type { ResolveContext } from './resolve/resolve-context.ts';
import { resolveImport } from './resolve/resolve-import.ts';
import { createResolveView } from './resolve/resolve-view.ts';

/** Imports that are asked for at once, and between two of which others of this thread have their turn. */
const PAGE = 2_000;
/** Longer ones are not kept whole: they stay as they were first resolved. */
const MAX_SPECIFIER = 500;

/**
 * Looks again where all imports lead, now that files have come or gone, or manifests say something else: also those that
 * led somewhere may lead elsewhere, as `./a` from `a.js` to a new `a.ts`.
 */
export async function resolveAgain(store: GraphStore, graph: string, context: ResolveContext): Promise<void> {
  // As the store has them now: another process may have brought files that this one has not seen.
  const known = new Map((await store.files(graph)).map((file) => [file.path, file]));
  const view = createResolveView(known.has.bind(known), () => known.keys());
  for (let after = 0; ; ) {
    const page = await store.imports(graph, after, PAGE);
    const changed: ResolvedImport[] = [];
    for (const { id, path, specifier, names, target: before } of page) {
      const language = known.get(path)?.language as Language | undefined;
      if (language === undefined || specifier.length >= MAX_SPECIFIER) continue;
      const found = resolveImport({ specifier, names }, path, language, view, context);
      const target = found === path ? undefined : found;
      if (target !== before) changed.push({ id, ...(target === undefined ? {} : { target }) });
    }
    if (changed.length > 0) await store.resolve(graph, changed);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

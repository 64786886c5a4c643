import { nearest } from '../../kernel/nearest.ts';
import type { GraphStore } from '../../store/graph.ts';

/** Files whose symbols are looked at for one that is near: a mistyped name may take a second or two, and no more. */
const MAX_FILES = 5_000;
const SYMBOLS_A_FILE = 500;
const AT_ONCE = 100;

/** The symbol's name, of all that the graph has, that was most likely meant. */
export async function nearSymbol(
  graphs: GraphStore,
  graph: string,
  asked: string,
): Promise<string | undefined> {
  const files = (await graphs.files(graph)).slice(0, MAX_FILES);
  const names = new Set<string>();
  const isQualified = /[.#:]/.test(asked);
  for (let at = 0; at < files.length; at += AT_ONCE) {
    const some = files.slice(at, at + AT_ONCE);
    const symbols = await Promise.all(some.map(({ path }) => graphs.symbolsOf(graph, path, SYMBOLS_A_FILE)));
    for (const { name, within, kind } of symbols.flat()) {
      if (kind === 'heading') continue;
      names.add(isQualified && within !== undefined ? `${within}.${name}` : name);
    }
  }
  return nearest(asked, names);
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const MAX_PATHS = 5;

/** Files that have the name of the path, or the nearest to it. */
export async function nearPaths(
  graphs: GraphStore,
  graph: string,
  asked: string,
): Promise<readonly string[]> {
  const paths = (await graphs.files(graph)).map(({ path }) => path);
  const name = nameOf(asked);
  const near = paths.some((path) => nameOf(path) === name) ? name : nearest(name, paths.map(nameOf));
  return near === undefined ? [] : paths.filter((path) => nameOf(path) === near).slice(0, MAX_PATHS);
}

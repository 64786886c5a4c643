import { folderOf } from './paths.ts';

/** The files of a graph, as far as resolving looks at them. */
export interface ResolveView {
  has(path: string): boolean;
  /** The first file of a folder, in the order of names, that has this ending; tests come last. */
  firstIn(folder: string, ending: string): string | undefined;
  /** The first path that ends with these names: of `com/a/B.java`, `src/main/java/com/a/B.java`. */
  bySuffix(suffix: string): string | undefined;
}

/** `paths` are asked for when they are first needed: most languages only ask `has`. */
export function createResolveView(
  has: (path: string) => boolean,
  paths: () => Iterable<string>,
): ResolveView {
  let byName: Map<string, string[]> | undefined;
  let byFolder: Map<string, string[]> | undefined;
  const indexed = (keyOf: (path: string) => string): Map<string, string[]> => {
    const index = new Map<string, string[]>();
    for (const path of paths()) {
      if (!LOOKED_UP.test(path)) continue;
      const key = keyOf(path);
      const before = index.get(key);
      if (before === undefined) index.set(key, [path]);
      else before.push(path);
    }
    for (const group of index.values()) group.sort();
    return index;
  };
  return {
    has,
    firstIn(folder, ending) {
      byFolder ??= indexed(folderOf);
      const files = (byFolder.get(folder) ?? []).filter((path) => path.endsWith(ending));
      return files.find((path) => !path.endsWith(`_test${ending}`)) ?? files[0];
    },
    bySuffix(suffix) {
      byName ??= indexed(nameOf);
      return byName.get(nameOf(suffix))?.find((path) => path === suffix || path.endsWith(`/${suffix}`));
    },
  };
}

/** Languages whose imports name no file. */
const LOOKED_UP = /\.(?:go|java)$/;

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

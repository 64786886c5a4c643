import type { LoadedManifest, Project } from '../manifest/project/project.ts';

/** What loading its file alone would read: its session is pinned to that, whoever called it. */
export function reachOf(loaded: LoadedManifest, { manifests }: Project): readonly LoadedManifest[] {
  const fileOf = new Map(manifests.map(({ id, file }) => [id, file]));
  const files = new Set([loaded.file]);
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const file of files)
    for (const each of manifests)
      if (each.file === file)
        for (const entry of each.imports)
          for (const id of entry.type === 'files' ? entry.manifests : []) {
            const found = fileOf.get(id);
            if (found !== undefined) files.add(found);
          }
  return manifests.filter(({ file }) => files.has(file));
}

import { join } from 'node:path';
import type { Memory, MemoryView } from '../../memory/memory.ts';
import type { PermittedPaths } from '../../targets/access/permitted-paths.ts';

/** The graph of a folder as an agent may see it: lines of a file that it may not read are not to come by this way. */
export function withPermissions(memory: Memory, paths: PermittedPaths): Memory {
  const view = permittedView(paths, memory.folder);
  return {
    ...memory,
    query: (query) => memory.query(query, view),
    relevant: (text, maxTokens) => memory.relevant(text, maxTokens, view),
  };
}

function permittedView(paths: PermittedPaths, folder: string): MemoryView {
  const may = (path: string) =>
    paths.resolve(path).then(
      (permitted) => permitted,
      () => undefined,
    );
  return {
    async mayRead(files) {
      // Mostly the whole folder may be read: then each of its files takes no look at the disk.
      const whole = await may(folder);
      const verdicts = await Promise.all(
        files.map(async (file) => {
          const path = join(folder, file);
          if (whole === undefined) return (await may(path)) !== undefined;
          return whole.covers(path) && !(await whole.isDenied(path));
        }),
      );
      return new Set(files.filter((_, at) => verdicts[at]));
    },
  };
}

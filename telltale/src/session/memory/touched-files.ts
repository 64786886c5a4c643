import { lstatSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { ActionState } from '../../events/action.ts';
import type { Json } from '../../kernel/json.ts';

export interface Touched {
  /** Absolute. */
  readonly read: readonly string[];
  readonly changed: readonly string[];
}

/** Files of one session that are kept account of. */
const MAX_FILES = 1_000;
/** How deep parameters are searched for paths, and how long a text may be that is taken for one. */
const MAX_DEPTH = 3;
const MAX_PATH_CHARS = 1_024;

const WRITES = new Set(['write', 'edit']);

/**
 * The files that actions read and changed, as far as their parameters name them: by script, and only such as are there.
 * A file that an action names and that is younger than the session counts as changed, whatever the tool is called.
 */
export function touchedFiles(
  actions: Iterable<ActionState>,
  where: { readonly folder: string; readonly graph: string; readonly startedAt: number },
): Touched {
  const read = new Set<string>();
  const changed = new Set<string>();
  for (const { action, status, input } of actions) {
    if (status !== 'completed' || action.kind !== 'tool' || input === undefined) continue;
    const writes = typeof input.operation === 'string' && WRITES.has(input.operation);
    for (const text of textsIn(input)) {
      if (read.size + changed.size >= MAX_FILES) break;
      const path = pathOf(text, where.folder, where.graph);
      const mtimeMs = path === undefined ? undefined : fileTime(path);
      if (path === undefined || mtimeMs === undefined) continue;
      if (writes || mtimeMs >= where.startedAt) changed.add(path);
      else read.add(path);
    }
  }
  return { read: [...read].filter((path) => !changed.has(path)), changed: [...changed] };
}

function* textsIn(value: Json, depth = 0): Iterable<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH)
    for (const part of Object.values(value)) yield* textsIn(part as Json, depth + 1);
}

/** The file inside the graph's folder that a text may name. */
function pathOf(text: string, folder: string, graph: string): string | undefined {
  if (text === '' || text.length > MAX_PATH_CHARS || /[\0\n]/.test(text)) return undefined;
  const path = resolve(folder, text);
  const within = relative(graph, path);
  const isOutside = within === '..' || within.startsWith(`..${sep}`) || isAbsolute(within);
  return within === '' || isOutside ? undefined : path;
}

/** Undefined where there is no such file; anything else that a parameter says is no path. */
function fileTime(path: string): number | undefined {
  try {
    const stats = lstatSync(path);
    return stats.isFile() ? stats.mtimeMs : undefined;
  } catch {
    return undefined;
  }
}

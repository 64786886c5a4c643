import { createHash } from 'node:crypto';
import type { Json } from '../../kernel/json.ts';
import type { Tables } from '../../store/store.ts';
import type { ResolveContext } from './resolve/resolve-context.ts';

/** How a graph was read, kept beside it. */
export interface IndexMark {
  /** Files that were read before are to be read anew: what is taken from them has changed since. */
  readonly sinceMs: number;
  /** The hash of what the folder's manifests say of imports; absent where some were resolved without them. */
  readonly context?: string;
}

type MarkTables = Pick<Tables, 'get' | 'set'>;

/** Goes up with what is taken from a file. */
const READING = 2;
const TABLE = 'memory';

export async function readMark(tables: MarkTables, graph: string): Promise<IndexMark> {
  const mark = (await tables.get(TABLE, graph)) as Readonly<Record<string, Json>> | undefined;
  if (mark?.reading === READING && typeof mark.sinceMs === 'number')
    return { sinceMs: mark.sinceMs, ...(typeof mark.context === 'string' ? { context: mark.context } : {}) };
  const first = { sinceMs: mark === undefined ? 0 : Date.now() };
  await writeMark(tables, graph, first);
  return first;
}

export const writeMark = (tables: MarkTables, graph: string, mark: IndexMark): Promise<void> =>
  tables.set(TABLE, graph, { reading: READING, ...mark });

export const hashOf = ({ packages, configs, goModules, crates }: ResolveContext): string =>
  createHash('sha256')
    .update(JSON.stringify([[...packages], configs, goModules, [...crates]]))
    .digest('hex');

import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { Memory } from '../../memory/memory.ts';
import type { GraphStats, GraphStore } from '../../store/graph.ts';
import type { CommandContext } from '../command.ts';
import { shellWord } from '../options.ts';
import type { StoreOption } from '../session/store-options.ts';
import {
  isInMemory,
  shownLocation,
  storeExists,
  storeFlag,
  storeLocation,
} from '../session/store-options.ts';
import { requireStore } from '../session/with-runtime.ts';

export interface MemoryOptions extends StoreOption {
  readonly json?: true;
}

/** Opens the memory of a folder in the store, calls `use`, and always closes both. */
export async function withMemory<T>(
  folder: string,
  { store: asked, mustExist = false }: StoreOption & { readonly mustExist?: boolean },
  { io: { cwd, env, clock }, runtimes }: Pick<CommandContext, 'io' | 'runtimes'>,
  work: (memory: Memory, graphs: GraphStore) => Promise<T>,
): Promise<T> {
  const [{ openMemory }, { createTokenizer }, { realFolder }] = await Promise.all([
    import('../../memory/open-memory.ts'),
    import('../../agent/tokenizer.ts'),
    import('../../memory/index/git-folder.ts'),
  ]);
  // A misspelled folder must not create a store.
  realFolder(resolve(cwd, folder));
  const store = await runtimes.openStore(storeLocation(asked, { env }), { cwd, clock, mustExist });
  try {
    const memory = await openMemory({ store, folder, cwd, clock, tokenizer: createTokenizer() });
    try {
      return await work(memory, await store.graphs());
    } finally {
      await memory.close();
    }
  } finally {
    await store.close();
  }
}

/** The same for commands that only read: it creates nothing, and the folder must have been indexed. */
export function withIndexed<T>(
  folder: string,
  options: StoreOption,
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  work: (memory: Memory, graphs: GraphStore, stats: GraphStats) => Promise<T>,
): Promise<T> {
  const { io } = context;
  const location = storeLocation(options.store, io);
  if (isInMemory(location)) requireStore(options, io);
  if (!storeExists(location, io)) throw noStore(location, folder, options);
  return withMemory(folder, { ...options, mustExist: true }, context, async (memory, graphs) => {
    const stats = await memory.stats();
    if (stats.files === 0 && stats.walkedAtMs === undefined && stats.facts === 0)
      throw notIndexed(memory.folder, folder, options);
    return work(memory, graphs, stats);
  });
}

const indexCommand = (asked: string, { store }: StoreOption) =>
  `telltale memory index${asked === '.' ? '' : ` ${shellWord(asked)}`}${storeFlag(store)}`;

const notIndexed = (folder: string, asked: string, options: StoreOption) =>
  new RuntimeError('not_indexed', `There is no graph of ${folder} yet.`, {
    hint: `Build it first: ${indexCommand(asked, options)}`,
  });

const noStore = (location: string, asked: string, options: StoreOption) =>
  new RuntimeError('no_store', `There is no store at ${shownLocation(location)}.`, {
    hint: `Build the graph first: ${indexCommand(asked, options)}. Or name the store that has it with --store.`,
  });

import { resolve } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { LoadTokenizer } from '../../lib/tokens.ts';
import type { Memory } from '../../memory/memory.ts';
import type { Store } from '../../store/store.ts';

/** The knowledge graphs of a runtime's sessions. There is one per folder, opened on first use. */
export interface Memories {
  open(folder: string): Promise<Memory>;
  close(): Promise<void>;
}

export interface MemoriesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly tokenizer: LoadTokenizer;
}

export function createMemories(deps: MemoriesDeps): Memories {
  const opened = new Map<string, Promise<Memory>>();
  return {
    open(given) {
      const folder = resolve(given);
      const known = opened.get(folder);
      if (known !== undefined) return known;
      const opening = import('../../memory/open-memory.ts').then(({ openMemory }) =>
        openMemory({ ...deps, folder }),
      );
      opened.set(folder, opening);
      opening.catch(() => opened.delete(folder)); // allow another attempt
      return opening;
    },
    async close() {
      const all = [...opened.values()];
      opened.clear();
      await Promise.all(
        all.map((memory) =>
          memory.then(
            (open) => open.close(),
            () => undefined, // the caller of open() got the error
          ),
        ),
      );
    },
  };
}

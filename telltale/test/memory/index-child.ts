import { createSystemClock } from '../../src/lib/clock.ts';
import { openMemory } from '../../src/memory/open-memory.ts';
import { openStore } from '../../src/store/open-store.ts';

/** Indexes FOLDER into STORE with a slow parser and says how far it is, for a test that kills it. */
const [folder = '', location = ''] = process.argv.slice(2);
const clock = createSystemClock();
const store = await openStore(location, { clock });
const memory = await openMemory({
  store,
  folder,
  clock,
  tokenizer: async () => ({ count: (text) => text.length }),
  parser: new URL('./fragile-parser.ts', import.meta.url),
});
await memory.index({ onProgress: ({ read }) => void (read > 0 && process.stdout.write(`read ${read}\n`)) });
await memory.close();
await store.close();
process.stdout.write('done\n');

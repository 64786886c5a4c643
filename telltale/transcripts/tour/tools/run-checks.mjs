import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../package/src', import.meta.url));
/** How long each check takes per file: long enough to watch it next to the model's stream. */
const STEP_MS = { types: 350, tests: 600, size: 200 };

/** Checks one file of the package after the other, and reports progress. */
export async function run({ check }, { signal, progress }) {
  const files = (await readdir(SOURCE)).sort();
  const sizes = [];
  for (const [at, file] of files.entries()) {
    await pause(STEP_MS[check], undefined, { signal });
    sizes.push((await readFile(join(SOURCE, file))).length);
    progress({ done: at + 1, of: files.length, file });
  }
  if (check === 'size') return { bytes: sizes.reduce((sum, size) => sum + size, 0) };
  return { passed: files.length, failed: 0 };
}

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const RECORD = fileURLToPath(new URL('../package/published.json', import.meta.url));

/** Stands for a registry: nothing leaves the machine. */
export async function run({ version, notes }) {
  await writeFile(RECORD, `${JSON.stringify({ version, notes }, null, 2)}\n`);
  return { published: version };
}

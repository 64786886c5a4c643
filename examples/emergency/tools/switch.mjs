import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

const site = new URL('../site/', import.meta.url);

/**
 * A switch is a file with its position in it; the journal has every move.
 * @param {{ what: string, to: string }} parameters
 */
export async function run({ what, to }) {
  const file = new URL(`${what}.txt`, site);
  const from = readFileSync(file, 'utf8').trim();
  writeFileSync(file, `${to}\n`);
  appendFileSync(new URL('journal.txt', site), `${what}: ${from} → ${to}\n`);
  return { what, from, to };
}

import { readFileSync } from 'node:fs';

const version = () => readFileSync(new URL('../site/version.txt', import.meta.url), 'utf8').trim();

/**
 * 2.0.0 is broken, and so, as nobody has noticed yet, is the standby.
 * @param {{ of: string }} parameters
 */
export async function run({ of }) {
  if (of === 'standby') throw new Error('The standby answers 503: its certificate has expired.');
  const healthy = version() !== '2.0.0';
  return { healthy, problem: healthy ? null : 'the checkout answers 500' };
}

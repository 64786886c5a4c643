/** The lowest Node that Telltale runs on; `engines` in package.json says the same, and a test compares them. */
export const MINIMUM_NODE = '22.15.0';

const numbers = (version: string): readonly number[] => version.split('.').map(Number);

function isTooOld(version: string): boolean {
  const [have, want] = [numbers(version), numbers(MINIMUM_NODE)];
  const at = want.findIndex((number, index) => have[index] !== number);
  return at !== -1 && (have[at] ?? 0) < (want[at] ?? 0);
}

// Acts on load: whoever imports Telltale on an old Node reads this instead of an error from deep inside. Bun and Deno
// state the version of Node that they are compatible with.
const { node } = process.versions;
if (isTooOld(node))
  throw new Error(`Telltale needs Node ${MINIMUM_NODE} or newer, and this is Node ${node}: install a newer one from https://nodejs.org.`);

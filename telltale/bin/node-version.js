// Plain JavaScript that Node 18 can run: it decides whether the Node at hand is new enough for the rest.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The lowest Node the package runs on; `engines` in package.json says the same, and a test holds them together. */
export const MINIMUM_NODE = '22.15.0';

const PROBE_TIMEOUT_MS = 10_000;

/**
 * Whether `version` (`v24.1.0` or `24.1.0`) is `minimum` or later. What cannot be read is not.
 * @param {string} version
 * @param {string} minimum
 */
export function isAtLeast(version, minimum) {
  const [have, want] = [parts(version), parts(minimum)];
  if (have === undefined || want === undefined) return false;
  for (const index of [0, 1, 2]) {
    const difference = (have[index] ?? 0) - (want[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/**
 * @param {string} version
 * @returns {readonly number[] | undefined}
 */
function parts(version) {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version.trim());
  return match?.slice(1).map(Number);
}

/**
 * The nearest `node_modules/.bin/node` from `folder` upwards that runs here and is new enough.
 * @param {string} folder
 * @returns {string | undefined}
 */
export function findNewerNode(folder) {
  for (let at = folder; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', '.bin', 'node');
    if (existsSync(candidate) && isAtLeast(versionOf(candidate), MINIMUM_NODE)) return candidate;
    if (dirname(at) === at) return undefined;
  }
}

/**
 * What the Node at `path` calls itself; empty if it does not run on this machine (another libc, another processor).
 * @param {string} path
 */
export function versionOf(path) {
  const probe = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: PROBE_TIMEOUT_MS });
  return probe.status === 0 ? probe.stdout : '';
}

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { versionOf } from '../../telltale/bin/node-version.js';
import { installFailed } from './install-failed.js';
import { runCaptured } from './run-captured.js';
import { SetupFailure } from './setup-failure.js';

/**
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {boolean} [dev] Only tests, benches and development need it.
 * @property {boolean} [optional]
 * @property {boolean} [devOptional]
 * @property {boolean} [link]
 */
/** @typedef {{ readonly packages?: Readonly<Record<string, LockedPackage>> }} Lockfile */

/**
 * What a command needs: `run` is what building and running Telltale takes, `develop` is everything, with what only
 * tests, benches and linting need.
 * @typedef {'run' | 'develop'} Extent
 */

/**
 * Why packages have to be installed, or undefined if what is installed is enough.
 * `stamp` was left by the last successful installation. `stamps` are those that the current lock file leaves. Without
 * a stamp, an installation made by hand counts if npm's own record of it (`installed`) fits the lock file. Both are
 * kept in node_modules; `gone` is a missing package that a workspace has in its own folder.
 * @param {{
 *   readonly extent: Extent,
 *   readonly stamps: Readonly<Record<Extent, string>>,
 *   readonly stamp: string | undefined,
 *   readonly lock: Lockfile | undefined,
 *   readonly installed: Lockfile | undefined,
 *   readonly gone: string | undefined,
 * }} facts
 * @returns {string | undefined}
 */
export function installReason({ extent, stamps, stamp, lock, installed, gone }) {
  if (stamp === undefined) {
    if (installed === undefined) return 'node_modules is missing or incomplete';
    if (lock === undefined || !fits(lock, installed, extent))
      return 'node_modules does not fit package-lock.json';
  } else if (stamp !== stamps.develop) {
    if (stamp !== stamps.run) return 'package-lock.json has changed';
    if (extent === 'develop') return 'this command needs the packages for development too';
  }
  return gone === undefined ? undefined : `${gone} is missing`;
}

/**
 * @param {Lockfile} lock
 * @param {Lockfile} installed
 * @param {Extent} extent
 */
function fits({ packages: locked = {} }, { packages: present = {} }, extent) {
  const isThere = (/** @type {[string, LockedPackage]} */ [path, entry]) =>
    path === '' ||
    !path.includes('node_modules/') ||
    (present[path] === undefined ? mayBeMissing(entry, extent) : present[path].version === entry.version);
  return (
    Object.entries(locked).every(isThere) && Object.keys(present).every((path) => locked[path] !== undefined)
  );
}

/**
 * @param {LockedPackage} entry
 * @param {Extent} extent
 */
const mayBeMissing = ({ optional, dev, devOptional }, extent) =>
  Boolean(optional || (extent === 'run' && (dev || devOptional)));

/**
 * The first package of a workspace's own folder that is not there: who keeps or copies a clone's node_modules, such as
 * a CI's cache, leaves those behind.
 * @param {string} root
 * @param {Lockfile | undefined} lock
 * @param {Extent} extent
 */
const goneFrom = (root, lock, extent) =>
  Object.entries(lock?.packages ?? {}).find(
    ([path, entry]) =>
      !mayBeMissing(entry, extent) &&
      /^(?!node_modules\/).+\/node_modules\//.test(path) &&
      !existsSync(join(root, path)),
  )?.[0];

/**
 * What an installation of this lock file on this kind of machine leaves behind.
 * @param {string} lockText
 * @param {Extent} extent
 */
export const stampOf = (lockText, extent) =>
  `${createHash('sha256').update(lockText).digest('hex')} ${process.platform}-${process.arch} ${extent}\n`;

/**
 * Looks at the clone at `root`; the record is renewed where an installation by hand turns out to be good.
 * @param {string} root
 * @param {Extent} extent
 */
export function whyInstall(root, extent) {
  const lockText = readIfThere(join(root, 'package-lock.json'));
  if (lockText === undefined) throw lockMissing();
  const stampFile = stampPath(root);
  const stamp = readIfThere(stampFile);
  const stamps = { run: stampOf(lockText, 'run'), develop: stampOf(lockText, 'develop') };
  const lock = parse(lockText);
  const installed = stamp === undefined ? parse(readIfThere(npmRecordPath(root))) : undefined;
  const reason = installReason({
    extent,
    stamps,
    stamp,
    lock,
    installed,
    gone: goneFrom(root, lock, extent),
  });
  if (reason === undefined && stamp === undefined) writeFileSync(stampFile, stamps[extent]);
  return reason;
}

/**
 * `npm ci`. Its output is kept to itself unless it fails.
 * @param {string} root
 * @param {Extent} extent
 * @param {(pid: number) => void} onStart
 */
export async function install(root, extent, onStart) {
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  // Whatever looks at the clone after an interruption must not take half an installation for a whole one.
  for (const record of [stampPath(root), npmRecordPath(root)]) rmSync(record, { force: true });
  const [command, args, shell] = npmCommand(process.env);
  const env = {
    ...process.env,
    PATH: pathWithoutBin(process.env.PATH ?? '', root),
    npm_config_update_notifier: 'false',
  };
  // npm runs scripts with the Node it finds here, so one that does not run would be the end of every `npm start`:
  // after an interruption, on a full disk, or where it was built for another libc.
  const dropBrokenNode = () => {
    const node = join(root, 'node_modules', '.bin', 'node');
    if (versionOf(node) === '') rmSync(node, { force: true });
  };
  process.on('exit', dropBrokenNode);
  const omit = extent === 'run' ? ['--omit=dev'] : ['--include=dev'];
  const { code, output } = await runCaptured(command, [...args, 'ci', ...omit, '--no-audit', '--no-fund'], {
    cwd: root,
    env,
    shell,
    onStart,
  });
  process.off('exit', dropBrokenNode);
  dropBrokenNode();
  if (code !== 0) throw installFailed(code, output);
  writeFileSync(stampPath(root), stampOf(lockText, extent));
}

const npmRecordPath = (/** @type {string} */ root) => join(root, 'node_modules', '.package-lock.json');
const stampPath = (/** @type {string} */ root) => join(root, 'node_modules', '.telltale-install');

/**
 * The npm that started this script, on the Node it came with; else the one in PATH. Never the Node in node_modules,
 * which `npm ci` deletes.
 * @param {NodeJS.ProcessEnv} env
 * @returns {[command: string, args: string[], shell: boolean]}
 */
export function npmCommand(env) {
  const { npm_execpath: npm, npm_node_execpath: node } = env;
  const isNpm = npm !== undefined && /npm-cli\.[cm]?js$/.test(npm);
  if (isNpm && node !== undefined && !dirname(node).includes('node_modules') && existsSync(node))
    return [node, [npm], false];
  return ['npm', [], process.platform === 'win32'];
}

/**
 * @param {string} path
 * @param {string} root
 */
export function pathWithoutBin(path, root) {
  const separator = process.platform === 'win32' ? ';' : ':';
  return path
    .split(separator)
    .filter(
      (folder) =>
        !folder.startsWith(join(root, 'node_modules')) && !folder.endsWith(join('node_modules', '.bin')),
    )
    .join(separator);
}

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/**
 * @param {string | undefined} text
 * @returns {Lockfile | undefined}
 */
function parse(text) {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    // A broken lock file is npm's to report: it says where.
    return undefined;
  }
}

const lockMissing = () =>
  new SetupFailure({ what: 'package-lock.json is missing.', mend: 'git checkout package-lock.json' });

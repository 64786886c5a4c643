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
 * @property {boolean} [optional]
 * @property {boolean} [devOptional]
 * @property {boolean} [link]
 */
/** @typedef {{ readonly packages?: Readonly<Record<string, LockedPackage>> }} Lockfile */

/**
 * Why packages have to be installed, or undefined if what is installed is what the lock file asks for.
 * `stamp` was left by the last installation that succeeded, `wanted` is the stamp one would leave now; without one,
 * an installation made by hand counts if npm's own record of it (`installed`) fits the lock file. Both are kept in
 * node_modules; `gone` is a package that a workspace has in a folder of its own, and that is not there.
 * @param {{
 *   readonly wanted: string,
 *   readonly stamp: string | undefined,
 *   readonly lock: Lockfile | undefined,
 *   readonly installed: Lockfile | undefined,
 *   readonly gone: string | undefined,
 * }} facts
 * @returns {string | undefined}
 */
export function installReason({ wanted, stamp, lock, installed, gone }) {
  if (stamp === wanted) return gone === undefined ? undefined : `${gone} is missing`;
  if (stamp !== undefined) return 'package-lock.json has changed';
  if (installed === undefined) return 'node_modules is missing or incomplete';
  if (lock === undefined || !fits(lock, installed)) return 'node_modules does not fit package-lock.json';
  return gone === undefined ? undefined : `${gone} is missing`;
}

/**
 * @param {Lockfile} lock
 * @param {Lockfile} installed
 */
function fits({ packages: locked = {} }, { packages: present = {} }) {
  const isThere = (/** @type {[string, LockedPackage]} */ [path, entry]) =>
    path === '' ||
    !path.includes('node_modules/') ||
    (present[path] === undefined ? Boolean(entry.optional) : present[path].version === entry.version);
  return (
    Object.entries(locked).every(isThere) && Object.keys(present).every((path) => locked[path] !== undefined)
  );
}

/**
 * The first package of a workspace's own folder that is not there: who keeps or copies a clone's node_modules, such as
 * a CI's cache, leaves those behind.
 * @param {string} root
 * @param {Lockfile | undefined} lock
 */
const goneFrom = (root, lock) =>
  Object.entries(lock?.packages ?? {}).find(
    ([path, { optional }]) =>
      !optional && /^(?!node_modules\/).+\/node_modules\//.test(path) && !existsSync(join(root, path)),
  )?.[0];

/**
 * What an installation of this lock file on this kind of machine leaves behind.
 * @param {string} lockText
 */
export const stampOf = (lockText) =>
  `${createHash('sha256').update(lockText).digest('hex')} ${process.platform}-${process.arch}\n`;

/**
 * Looks at the clone at `root`; the record is renewed where an installation by hand turns out to be good.
 * @param {string} root
 */
export function whyInstall(root) {
  const lockText = readIfThere(join(root, 'package-lock.json'));
  if (lockText === undefined) throw lockMissing();
  const stampFile = stampPath(root);
  const stamp = readIfThere(stampFile);
  const wanted = stampOf(lockText);
  const lock = parse(lockText);
  const installed = stamp === undefined ? parse(readIfThere(npmRecordPath(root))) : undefined;
  const reason = installReason({ wanted, stamp, lock, installed, gone: goneFrom(root, lock) });
  if (reason === undefined && stamp === undefined) writeFileSync(stampFile, wanted);
  return reason;
}

/**
 * `npm ci`. Its output is kept to itself unless it fails.
 * @param {string} root
 * @param {(pid: number) => void} onStart
 */
export async function install(root, onStart) {
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
  const { code, output } = await runCaptured(command, [...args, 'ci', '--no-audit', '--no-fund'], {
    cwd: root,
    env,
    shell,
    onStart,
  });
  process.off('exit', dropBrokenNode);
  dropBrokenNode();
  if (code !== 0) throw installFailed(code, output);
  writeFileSync(stampPath(root), stampOf(lockText));
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

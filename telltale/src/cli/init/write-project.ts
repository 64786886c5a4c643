import { existsSync, readFileSync } from 'node:fs';
import { open, readdir, readFile, rmdir, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { makeFolder } from '../../manifest/files.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';
import type { ProjectFile } from './project-files.ts';

const MAX_NAMED = 8;
/**
 * What a new repository, a file manager or a package manager leaves in an otherwise empty folder. Many people run `npm
 * install telltale` first.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  '.git',
  '.DS_Store',
  'Thumbs.db',
  'node_modules',
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
]);

/** Refuses a folder that contains anything else, so that nothing is overwritten. Returns its absolute path. */
export async function emptyFolder(dir: string, { cwd }: Pick<Io, 'cwd'>): Promise<string> {
  const folder = resolve(cwd, dir);
  let entries: readonly string[];
  try {
    entries = await readdir(folder);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return folder;
    if (code === 'ENOTDIR')
      throw usage(`'${dir}' is a file.`, 'Name a folder that is empty or does not exist yet.');
    throw cannotWrite(folder, thrown as NodeJS.ErrnoException);
  }
  const inTheWay = entries.filter((entry) => !HARMLESS.has(entry)).toSorted();
  if (inTheWay.length > 0) throw notEmpty(dir, inTheWay);
  return folder;
}

/**
 * Writes all files or none: after an error or an abort it removes everything it wrote. It never overwrites a file. An
 * existing package.json only gains what it lacks.
 */
export async function writeProject(
  folder: string,
  files: readonly ProjectFile[],
  signal?: AbortSignal,
): Promise<void> {
  const found = await foundPackage(folder);
  const undo: (() => Promise<void>)[] = [];
  try {
    for (const { path, text, secret } of files) {
      signal?.throwIfAborted();
      const file = join(folder, ...path.split('/'));
      if (path === 'package.json' && found !== undefined) {
        undo.push(() => writeFile(file, found.text));
        await writeFile(file, filledPackage(found.value, JSON.parse(text)));
        continue;
      }
      undo.push(...missingFolders(dirname(file)).map((missing) => () => rmdir(missing)));
      await makeFolder(dirname(file));
      const handle = await open(file, 'wx', secret === true ? 0o600 : 0o666);
      undo.push(() => unlink(file));
      await handle.writeFile(text).finally(() => handle.close());
    }
    signal?.throwIfAborted();
  } catch (thrown) {
    // Report the first error, even if a file cannot be removed.
    for (const step of undo.toReversed()) await step().catch(() => undefined);
    if (signal?.aborted) throw thrown;
    throw cannotWrite(folder, thrown as NodeJS.ErrnoException);
  }
}

/** The missing folders on the way to this one, outermost first. */
function missingFolders(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [...missingFolders(dirname(folder)), folder];
}

/** The package.json of the folder, if there is one. */
async function foundPackage(
  folder: string,
): Promise<{ readonly text: string; readonly value: JsonObject } | undefined> {
  const file = join(folder, 'package.json');
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (thrown) {
    const cause = thrown as NodeJS.ErrnoException;
    if (cause.code === 'ENOENT') return undefined;
    throw cannotWrite(folder, cause);
  }
  const value = parsed(text.replace(/^\uFEFF/, ''));
  if (isJsonObject(value)) return { text, value };
  throw usage(
    `${file} is not a JSON object.`,
    'Fix it, or name a folder that is empty or does not exist yet.',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The caller reports the invalid file.
  }
}

function notEmpty(dir: string, entries: readonly string[]): RuntimeError {
  const named = entries.slice(0, MAX_NAMED).join(', ');
  const more = entries.length > MAX_NAMED ? ` and ${entries.length - MAX_NAMED} more` : '';
  return usage(
    `'${dir}' is not empty: it contains ${named}${more}.`,
    'Name a folder that is empty or does not exist yet: telltale init my-agent',
  );
}

const cannotWrite = (folder: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError(
    'cannot_write',
    `The project could not be created in ${folder} (${cause.code ?? cause.message}).`,
    {
      hint:
        cause.code === 'ENOSPC'
          ? 'The disk is full: free some space.'
          : 'Name a folder that you may write to.',
      cause,
    },
  );

/** What `npm init` writes as the test script. */
const NO_TEST = /no test specified/;

/**
 * An existing package.json plus what the project needs: the scripts and dependencies that it lacks, and `"type":
 * "module"`, because the folder contains no code yet.
 */
function filledPackage(found: JsonObject, ours: JsonObject): string {
  const { test, ...kept } = mapOf(found.scripts);
  const scripts =
    test === undefined || (typeof test === 'string' && NO_TEST.test(test)) ? kept : { ...kept, test };
  const { dependencies: _, devDependencies: __, ...plain } = ours;
  const filled = {
    ...plain,
    ...found,
    type: 'module',
    scripts: { ...mapOf(ours.scripts), ...scripts },
    ...merged('dependencies', ours, found),
    ...merged('devDependencies', ours, found),
  };
  return `${JSON.stringify(filled, null, 2)}\n`;
}

/** Skips a package that the other list of dependencies already has. */
function merged(list: string, ours: JsonObject, found: JsonObject): JsonObject {
  const known = { ...mapOf(found.dependencies), ...mapOf(found.devDependencies) };
  const missing = Object.entries(mapOf(ours[list])).filter(([name]) => !Object.hasOwn(known, name));
  const all = { ...Object.fromEntries(missing), ...mapOf(found[list]) };
  return Object.keys(all).length === 0 ? {} : { [list]: all };
}

const mapOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/**
 * What package.json of a new project names to get the Telltale that created it. `home` is the folder of that package:
 *
 * - a checkout: that folder (`file:`);
 * - installed from a tarball or a git repository: the same source, which npm's lock file in node_modules names;
 * - installed from a registry, or unknown: `^version`.
 */
export function ownDependency(home: string, version: string): string {
  const installedIn =
    /^(.+?)[\\/]node_modules[\\/]\.pnpm[\\/]/.exec(home)?.[1] ??
    /^(.+)[\\/]node_modules[\\/]telltale$/.exec(home)?.[1];
  if (installedIn === undefined) return fileSpec(home);
  const source = lockedSource(installedIn) ?? declaredSource(installedIn);
  if (source === undefined) return `^${version}`;
  if (source.startsWith('file:')) {
    const path = resolve(installedIn, source.slice('file:'.length));
    return existsSync(path) ? fileSpec(path) : `^${version}`;
  }
  const isFromRegistry = source.endsWith(`/-/telltale-${version}.tgz`);
  return /^(?:git|https?:)/.test(source) && !isFromRegistry ? source : `^${version}`;
}

const fileSpec = (path: string) => `file:${path.replaceAll('\\', '/')}`;

/** The source that npm's lock file names. */
function lockedSource(root: string): string | undefined {
  const packages = readJson(join(root, 'node_modules', '.package-lock.json'), 'packages');
  return textAt(packages, 'node_modules/telltale', 'resolved');
}

/** The source that the project's package.json names. Other package managers write no such lock file. */
function declaredSource(root: string): string | undefined {
  const file = join(root, 'package.json');
  for (const list of ['dependencies', 'devDependencies']) {
    const source = textAt(readJson(file, list), 'telltale');
    if (source !== undefined) return source;
  }
  return undefined;
}

function readJson(file: string, key: string): Json | undefined {
  if (!existsSync(file)) return undefined;
  const value: Json = JSON.parse(readFileSync(file, 'utf8'));
  return isJsonObject(value) ? value[key] : undefined;
}

function textAt(value: Json | undefined, ...path: readonly string[]): string | undefined {
  for (const key of path) value = isJsonObject(value) ? value[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/**
 * Windows has devices with these names in every folder. npm refuses `node_modules`, and `telltale` would be the package
 * itself.
 */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d|node_modules|telltale)$/i;

export const isProjectName = (name: string): boolean => NAME.test(name) && !RESERVED.test(name);

/** Makes a name from the folder's: `My Agent (2)` becomes `my_agent_2`. */
export function nameOfFolder(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+|_+$/g, '');
  return isProjectName(name) ? name : 'my_agent';
}

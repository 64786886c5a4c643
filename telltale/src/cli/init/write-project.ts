import { existsSync } from 'node:fs';
import { open, readdir, readFile, rmdir, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { makeFolder } from '../../manifest/files/make-folder.ts';
import type { Io } from '../io.ts';
import { usage } from '../usage.ts';
import { filledPackage } from './filled-package.ts';
import type { ProjectFile } from './project-files.ts';

const MAX_NAMED = 8;
/**
 * What a fresh repository, a file manager or a package manager leaves in an empty folder: `npm install telltale` is what
 * many do first.
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

/** Refuses a folder that holds anything else, so that nothing can be overwritten. Gives its absolute path. */
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
 * Writes all files or none: after an error or an abort, everything that was written is removed. A file that exists is
 * never overwritten. Only a package.json is filled up: it keeps everything that it says.
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
    // What cannot be removed stays: the error that is reported is the first one.
    for (const step of undo.toReversed()) await step().catch(() => undefined);
    if (signal?.aborted) throw thrown;
    throw cannotWrite(folder, thrown as NodeJS.ErrnoException);
  }
}

/** The folders on the way to this one that do not exist yet, the outermost first. */
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
    return undefined; // the caller reports it
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

import { readdir, readFile, writeFile } from 'node:fs/promises';
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

/** Refuses a folder with anything of a person's in it, so that nothing can be overwritten. Gives its absolute path. */
export async function emptyFolder(dir: string, { cwd }: Pick<Io, 'cwd'>): Promise<string> {
  const folder = resolve(cwd, dir);
  let entries: readonly string[];
  try {
    entries = await readdir(folder);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return folder;
    if (code === 'ENOTDIR') throw usage(`'${dir}' is no folder.`, 'Name one that is empty or not there yet.');
    throw cannotWrite(folder, thrown as NodeJS.ErrnoException);
  }
  const inTheWay = entries.filter((entry) => !HARMLESS.has(entry)).toSorted();
  if (inTheWay.length > 0) throw notEmpty(dir, inTheWay);
  return folder;
}

/**
 * Each file only if there is none of its name: somebody else may have been quicker. Only a package.json that is there is
 * filled up: it keeps all it says.
 */
export async function writeProject(folder: string, files: readonly ProjectFile[]): Promise<void> {
  const found = await foundPackage(folder);
  try {
    for (const { path, text } of files) {
      const file = join(folder, ...path.split('/'));
      if (path === 'package.json' && found !== undefined) {
        await writeFile(file, filledPackage(found, JSON.parse(text)));
        continue;
      }
      await makeFolder(dirname(file));
      await writeFile(file, text, { flag: 'wx' });
    }
  } catch (thrown) {
    throw cannotWrite(folder, thrown as NodeJS.ErrnoException);
  }
}

/** The package.json of the folder, if there is one. */
async function foundPackage(folder: string): Promise<JsonObject | undefined> {
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
  if (isJsonObject(value)) return value;
  throw usage(`${file} is no JSON object.`, 'Mend it, or name a folder that is empty or not there yet.');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Whoever asked says that it is no JSON.
  }
}

function notEmpty(dir: string, entries: readonly string[]): RuntimeError {
  const named = entries.slice(0, MAX_NAMED).join(', ');
  const more = entries.length > MAX_NAMED ? ` and ${entries.length - MAX_NAMED} more` : '';
  return usage(
    `'${dir}' is not empty: it holds ${named}${more}.`,
    'Name a folder that is empty or not there yet; nothing is ever overwritten.',
  );
}

const cannotWrite = (folder: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError(
    'cannot_write',
    `The project cannot be made in ${folder} (${cause.code ?? cause.message}).`,
    {
      hint:
        cause.code === 'ENOSPC'
          ? 'The disk is full: free some space.'
          : 'Name a folder that you may write to.',
      cause,
    },
  );

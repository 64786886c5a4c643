import { mkdir, mkdtemp, readdir, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../manifest/files/make-folder.ts';
import type { Io } from '../io.ts';
import { cannotLayOut, notAFolder, notEmpty } from './demo-errors.ts';
import type { TemplateFile } from './template.ts';

export interface Workspace {
  readonly folder: string;
  readonly manifest: string;
  /** The file of its log. */
  readonly store: string;
}

/**
 * Lays the template out in `dir`, or in a temporary folder. The files are written, not copied: where a package is
 * installed read-only, its modes would come along and the agent could not edit them.
 */
export async function makeWorkspace(
  files: readonly TemplateFile[],
  dir: string | undefined,
  { cwd }: Pick<Io, 'cwd'>,
): Promise<Workspace> {
  const asked = dir === undefined ? join(tmpdir(), 'telltale-demo-') : resolve(cwd, dir);
  try {
    const folder = await realpath(dir === undefined ? await mkdtemp(asked) : await emptyFolder(asked, dir));
    for (const { path, text } of files) {
      const file = join(folder, path);
      await makeFolder(dirname(file));
      await writeFile(file, text);
    }
    return {
      folder,
      manifest: join(folder, 'agent.yml'),
      store: join(folder, 'demo.db'),
    };
  } catch (thrown) {
    if (thrown instanceof Error && 'syscall' in thrown)
      throw cannotLayOut(dir === undefined ? tmpdir() : asked, thrown as NodeJS.ErrnoException);
    throw thrown;
  }
}

async function emptyFolder(folder: string, asked: string): Promise<string> {
  const found = await readdir(folder).catch((thrown: NodeJS.ErrnoException) => thrown);
  if (Array.isArray(found) && found.length > 0) throw notEmpty(asked);
  if (found instanceof Error && found.code === 'ENOTDIR') throw notAFolder(asked);
  // Not with its parents: what is mistyped should not be made, and in /proc Node would try for ever.
  if (!Array.isArray(found)) await mkdir(folder);
  return folder;
}

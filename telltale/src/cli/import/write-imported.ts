import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { MadeFile } from '../../importers/importer.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { usage } from '../options.ts';

/** Writes all files into a folder, or none of them if one exists and `force` is not set. */
export async function writeImported(
  folder: string,
  files: readonly MadeFile[],
  force: boolean,
): Promise<void> {
  const inTheWay: string[] = [];
  for (const { path } of files)
    if (!force && (await stat(resolve(folder, path)).catch(() => undefined)) !== undefined)
      inTheWay.push(path);
  if (inTheWay.length > 0) throw wouldOverwrite(folder, inTheWay);
  for (const { path, text } of files) {
    const file = resolve(folder, path);
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: force ? 'w' : 'wx' });
    } catch (thrown) {
      throw cannotWrite(file, thrown as NodeJS.ErrnoException);
    }
  }
}

const MAX_NAMED = 8;

function wouldOverwrite(folder: string, paths: readonly string[]): RuntimeError {
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  return usage(
    `${folder} has ${paths.slice(0, MAX_NAMED).join(', ')}${more} already; nothing was written.`,
    'Name another folder with --out, or overwrite with --force.',
  );
}

const cannotWrite = (file: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError('cannot_write', `${file} cannot be written (${cause.code ?? cause.message}).`, {
    hint: 'Name a folder that you may write to.',
    cause,
  });

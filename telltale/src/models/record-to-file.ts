import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { makeFolder } from '../manifest/files/make-folder.ts';
import type { Model } from './model.ts';
import { recordModel } from './record.ts';
import type { Script } from './scripted/script.ts';

/**
 * The same model, recorded as a `scripted:` file at `path` (absolute). The file is whole at any instant. A session
 * that begins writes it anew; one that goes on keeps what the file has of the turns before.
 */
export function recordToFile(model: Model, path: string, clock: Clock): Model {
  const temporary = `${path}.part`;
  return recordModel(model, {
    clock,
    before: async (turn) => {
      await makeFolder(dirname(path));
      // Before a model is paid for what cannot be kept.
      await writeFile(temporary, '');
      await rm(temporary);
      const found = await kindOf(path);
      // What is whole is put in its place by its name: a device would be gone.
      if (found !== 'nothing' && found !== 'file') throw new Error(`${path} is ${found}`);
      return turn === 1 ? undefined : readBefore(path);
    },
    write: async (script) => {
      try {
        await writeFile(temporary, script);
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    },
  });
}

async function kindOf(path: string): Promise<'nothing' | 'file' | 'a folder' | 'not a file'> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return 'nothing';
  return found.isFile() ? 'file' : found.isDirectory() ? 'a folder' : 'not a file';
}

/** A file that is there and is no script is not written over. */
async function readBefore(path: string): Promise<Script | undefined> {
  const { loadScript } = await import('./scripted/load-script.ts');
  try {
    return await loadScript(path, dirname(path));
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'file_missing') return undefined;
    throw error;
  }
}

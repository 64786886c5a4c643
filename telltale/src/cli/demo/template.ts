import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesMissing } from './demo-errors.ts';

/** Where the package keeps the agent of the demo, its script, its tools and the project that it works on. */
const TEMPLATE = fileURLToPath(new URL('../../../transcripts/coding', import.meta.url));

export interface TemplateFile {
  /** Relative to the template, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** The files of the template, by path. */
export async function readTemplate(folder: string = TEMPLATE): Promise<readonly TemplateFile[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    return await Promise.all(
      paths.sort().map(async (path) => ({
        path: relative(folder, path).split(sep).join('/'),
        text: await readFile(path, 'utf8'),
      })),
    );
  } catch (thrown) {
    throw filesMissing(folder, thrown as NodeJS.ErrnoException);
  }
}

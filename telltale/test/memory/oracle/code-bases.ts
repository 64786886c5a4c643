import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Public packages that ship their TypeScript sources, of two schools: classes and overloads, types and generics. */
export const PACKAGES = ['rxjs@7.8.2', 'zod@4.1.12'] as const;

export const OWN_SOURCES = fileURLToPath(new URL('../../../src', import.meta.url));

const PATIENCE_MS = 60_000;
const run = promisify(execFile);

export interface Unpacked {
  /** The folder `src` of each package, by the name it was asked for with. */
  readonly sources: ReadonlyMap<string, string>;
  remove(): Promise<void>;
}

/** Fetches packages from the registry that npm is set up for, and unpacks their sources into a temporary folder. */
export async function unpackPackages(packages: readonly string[]): Promise<Unpacked> {
  const folder = await mkdtemp(join(tmpdir(), 'telltale-sources-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', ...packages], {
      cwd: folder,
      timeout: PATIENCE_MS,
      maxBuffer: 64 * 1024 * 1024,
      shell: process.platform === 'win32',
    });
    const packed = JSON.parse(stdout) as readonly { readonly name: string; readonly filename: string }[];
    const sources = new Map<string, string>();
    for (const asked of packages) {
      const name = asked.slice(0, asked.lastIndexOf('@'));
      const { filename } = packed.find((each) => each.name === name)!;
      await run('tar', ['-xzf', filename, 'package/src'], { cwd: folder, timeout: PATIENCE_MS });
      const home = join(folder, name.replace(/\W+/g, '-'));
      await rename(join(folder, 'package'), home);
      sources.set(asked, join(home, 'src'));
    }
    return { sources, remove };
  } catch (error) {
    await remove();
    const said = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new Error(
      `The sources of ${packages.join(' and ')} could not be fetched with "npm pack": is the registry within reach? It said:\n${said}`,
      { cause: error },
    );
  }
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const GIT_MS = 10_000;

/** Makes a git repository of a folder, its files staged. false where git is not there, or does not want to. */
export async function makeRepository(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  // In a hook of git, its variables name the repository that the hook belongs to.
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_')));
  const git = (...args: readonly string[]) =>
    promisify(execFile)('git', [...args], { cwd: folder, env: own, timeout: GIT_MS });
  try {
    await git('init', '--quiet', '--template=');
    await git('add', '--all');
    return true;
  } catch {
    return false; // the demo shows one action less
  }
}

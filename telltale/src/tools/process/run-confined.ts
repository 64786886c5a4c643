import { mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { TargetCall } from '../target.ts';
import type {
  EndedProcess,
  PinnedFile,
  ProcessDeps,
  ProcessRequest,
  WritablePaths,
} from './command-request.ts';
import { sandboxFailed } from './command-request.ts';
import type { Confinement } from './confinement.ts';
import { runProcess } from './run-process.ts';

/** Runs a process like `runProcess`, confined to the agent's permissions. */
export async function runConfined(
  request: ProcessRequest,
  call: Pick<TargetCall, 'granted' | 'note'>,
  deps: ProcessDeps & { readonly confinement: Confinement },
): Promise<EndedProcess> {
  const copies = createCopies();
  let confined: Awaited<ReturnType<Confinement['confine']>> | undefined;
  try {
    confined = await deps.confinement.confine(request, call, copies.add);
    const ended = await runProcess(confined, deps);
    const said = confined.sandboxed === true && ended.exitCode === 1 ? ended.stderr.text() : '';
    // A message of the sandbox itself means that the program never ran.
    if (said.startsWith('bwrap: ')) throw sandboxFailed(request.what, said);
    const { writable } = confined;
    const refused = ended.exitCode === 0 ? undefined : refusedPath(ended, request.cwd);
    if (writable !== undefined && refused !== undefined)
      ended.stderr.push(new TextEncoder().encode(await writeHint(writable, refused)));
    return ended;
  } finally {
    await confined?.release?.();
    await copies.remove();
  }
}

/** Private copies of approved files, in a folder that only this user can read. */
function createCopies() {
  let folder: string | undefined;
  let count = 0;
  return {
    async add({ content, mode }: PinnedFile): Promise<string> {
      folder ??= await mkdtemp(join(tmpdir(), 'telltale-approved-'));
      const copy = join(folder, String(count++));
      await writeFile(copy, content, { mode: mode & 0o555 });
      return copy;
    },
    async remove(): Promise<void> {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Error messages about a read-only folder, or a file in it that cannot be replaced. */
const REFUSED = /Read-only file system|Device or resource busy|Invalid cross-device link|EROFS|EBUSY/i;
/** The path that a program could not write, if its message names one. Otherwise a file in its own folder. */
function refusedPath({ stderr, stdout }: EndedProcess, cwd: string): string | undefined {
  const lines = `${stderr.text()}\n${stdout.text()}`.split('\n');
  const line = lines.find((each) => REFUSED.test(each));
  if (line === undefined) return undefined;
  // A line starts with the program: `/bin/sh: 1: cannot create x`.
  return /(?<=[\s'"`(])\/[^\s'"`:,)]+/.exec(line)?.[0] ?? join(cwd, 'file');
}

const MAX_NAMED = 5;

/**
 * Explains what the program cannot know: why a write failed, and where it can write. In short lines, for a terminal.
 */
async function writeHint({ roots, lockedFolders }: WritablePaths, refused: string): Promise<string> {
  const folder = await realpath(dirname(refused)).catch(() => dirname(refused));
  const near = lockedFolders.find(({ path }) => path === folder)?.path;
  const open = await foldersAmong(lockedFolders.flatMap(({ open }) => open));
  const places = [...roots.filter((root) => !lockedFolders.some(({ path }) => path === root)), ...open];
  return `\n${[
    ...(near === undefined
      ? ['The sandbox refused this. A command can write only what "permissions: { paths }" allows.']
      : [
          `The sandbox refused this. Telltale loads configuration from "${near}",`,
          'so a command cannot create, rename or delete files directly there, or change that configuration.',
        ]),
    places.length === 0 ? 'It can write to no other folder.' : `It can write in ${nameSome(places)}.`,
    ...(near === undefined
      ? []
      : ['To give the agent a folder of its own, set this in the manifest: permissions: { paths: [work] }']),
  ].join('\n')}\n`;
}

async function foldersAmong(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  // A hidden folder belongs to some program.
  return paths.filter((path, at) => found[at]?.isDirectory() === true && !basename(path).startsWith('.'));
}

function nameSome(paths: readonly string[]): string {
  const named = paths.slice(0, MAX_NAMED).map((path) => `"${path}"`);
  const left = paths.length - named.length;
  return left === 0 ? named.join(', ') : `${named.join(', ')} and ${left} more`;
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TargetCall } from '../target.ts';
import type { Confinement } from './confinement.ts';
import { sandboxFailed } from './process-errors.ts';
import type { EndedProcess, PinnedFile, ProcessEdges, ProcessRequest } from './process-request.ts';
import { runProcess } from './run-process.ts';

/** As `runProcess`, kept to what the agent's permissions name. */
export async function runConfined(
  request: ProcessRequest,
  call: Pick<TargetCall, 'granted' | 'note'>,
  edges: ProcessEdges & { readonly confinement: Confinement },
): Promise<EndedProcess> {
  const copies = createCopies();
  let confined: Awaited<ReturnType<Confinement['confine']>> | undefined;
  try {
    confined = await edges.confinement.confine(request, call, copies.add);
    const ended = await runProcess(confined, edges);
    const said = confined.sandboxed === true && ended.exitCode === 1 ? ended.stderr.text() : '';
    // What the sandbox says of itself: the program never ran.
    if (said.startsWith('bwrap: ')) throw sandboxFailed(request.what, said);
    const { steady = [] } = confined;
    if (ended.exitCode !== 0 && steady.length > 0 && REFUSED.test(ended.stderr.text()))
      ended.stderr.push(new TextEncoder().encode(remedy(steady)));
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

/** What programs say where a folder is for reading only, or a file in it cannot be replaced. */
const REFUSED = /Read-only file system|Device or resource busy|Invalid cross-device link|EROFS|EBUSY/;

const remedy = (steady: readonly string[]): string =>
  `\nThe sandbox lets commands create, rename and delete nothing directly in ${steady.map((path) => `"${path}"`).join(', ')}, because configuration is loaded from there. Use a folder below it, or give the agent a folder of its own in its manifest: "permissions: { paths: [work] }".\n`;

import type { TargetCall } from '../target.ts';
import type { Confinement } from './confinement.ts';
import { sandboxFailed } from './process-errors.ts';
import type { EndedProcess, ProcessEdges, ProcessRequest } from './process-request.ts';
import { runProcess } from './run-process.ts';

/** As `runProcess`, kept to what the agent's permissions name. */
export async function runConfined(
  request: ProcessRequest,
  call: Pick<TargetCall, 'granted' | 'note'>,
  edges: ProcessEdges & { readonly confinement: Confinement },
): Promise<EndedProcess> {
  const confined = await edges.confinement.confine(request, call);
  let ended: EndedProcess;
  try {
    ended = await runProcess(confined, edges);
  } finally {
    await confined.release?.();
  }
  const said = confined.sandboxed === true && ended.exitCode === 1 ? ended.stderr.text() : '';
  // What the sandbox says of itself: the program never ran.
  if (said.startsWith('bwrap: ')) throw sandboxFailed(request.what, said);
  return ended;
}

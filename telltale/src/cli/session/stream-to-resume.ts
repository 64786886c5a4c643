import { readRun } from '../../engine/read-run.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import { readSession } from '../../session/read-session.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { Io } from '../io.ts';

/**
 * The command that resumes a session or a run; one that another called is resumed with that one. Where its manifest has
 * changed, the command accepts that.
 */
export async function streamToResume(
  store: Pick<Store, 'info'>,
  info: Pick<StreamInfo, 'stream' | 'kind' | 'parent'>,
  io: Pick<Io, 'env' | 'cwd' | 'program'>,
): Promise<string> {
  const parent = info.parent === undefined ? undefined : await store.info(info.parent);
  // A run that a trigger set off has a session for a parent, and goes on without it; one that leads it does not.
  if (
    parent !== undefined &&
    (info.kind === 'session' || parent.kind === 'run' || info.stream === leadRun(parent.stream))
  )
    return streamToResume(store, parent, io);
  const command = `${io.program} ${info.kind === 'run' ? 'workflow resume' : 'resume'} ${info.stream}`;
  return (await hasOtherManifest(store as Store, info, io)) ? `${command} --accept-changes` : command;
}

/** False also where nobody can tell: whoever resumes it hears what is wrong. */
async function hasOtherManifest(
  store: Store,
  { stream, kind }: Pick<StreamInfo, 'stream' | 'kind'>,
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
): Promise<boolean> {
  try {
    const { manifest, name } =
      kind === 'run'
        ? await readRun(store, stream).then(({ manifest: of }) => ({ manifest: of, name: of.agent }))
        : await readSession(store, stream).then((of) => ({ manifest: of.manifest, name: of.agent }));
    if (manifest.code === true) return false;
    const { loadAgent } = await import('../../session/load-agent.ts');
    return (await loadAgent(manifest.path, { env, cwd, name })).hash !== manifest.hash;
  } catch {
    return false;
  }
}

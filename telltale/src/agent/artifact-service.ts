import type { SessionState } from '../log/state.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Invoke, InvokeDeps } from '../tools/artifacts/create-invoke.ts';
import type { OpenArtifactStore } from './open-artifact-store.ts';
import type { SessionDeps } from './session-edges.ts';

export interface SessionInvokeDeps {
  readonly artifactStore: OpenArtifactStore;
  readonly manifest: AgentManifest;
  readonly state: SessionState;
}

/** Asks artifacts on behalf of one session. Nothing is loaded before the first question. */
export const createSessionInvoke = ({ artifactStore, manifest, state }: SessionInvokeDeps): Invoke =>
  createLateInvoke(artifactStore, () => settingsOf(manifest, state));

/** The invoker of an active session. There is one per session, since it numbers the questions. */
export function invokeOf(deps: SessionDeps): Invoke {
  const { prepared, log } = deps;
  deps.invoke ??= createSessionInvoke({
    artifactStore: prepared.artifactStore,
    manifest: prepared.agent.manifest,
    state: log.state,
  });
  return deps.invoke;
}

const settingsOf = (manifest: AgentManifest, state: SessionState) => ({
  cost: manifest.budget?.costs.artifact ?? 0,
  balance: () => state.balance,
  id: state.id,
  calls: state.seq, // question numbers stay unique when another process resumes the session
});

/** Asks artifacts on behalf of a session or a run. Nothing is loaded before the first question. */
export function createLateInvoke(
  artifactStore: OpenArtifactStore,
  settings: () => Omit<InvokeDeps, 'call' | 'artifacts'>,
): Invoke {
  let making: Promise<Invoke> | undefined;
  const make = async () => {
    const { createInvoke } = await import('../tools/artifacts/create-invoke.ts');
    return createInvoke({ ...(await artifactStore()), ...settings() });
  };
  return async (question) => {
    making ??= make();
    return (await making)(question);
  };
}

import type { SessionState } from '../log/state.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Invoke, InvokeDeps } from '../tools/artifacts/create-invoke.ts';
import type { OpenDesk } from './artifact-desk.ts';
import type { SessionDeps } from './session-edges.ts';

export interface SessionInvokeDeps {
  readonly desk: OpenDesk;
  readonly manifest: AgentManifest;
  readonly state: SessionState;
}

/** Asks artifacts for one session. Nothing is loaded before the first question. */
export function createSessionInvoke({ desk, manifest, state }: SessionInvokeDeps): Invoke {
  let making: Promise<Invoke> | undefined;
  return async (question) => {
    making ??= makeInvoke(desk, () => settingsOf(manifest, state));
    return (await making)(question);
  };
}

/** The one of a session that is worked on: it numbers its questions. */
export function invokeOf(deps: SessionDeps): Invoke {
  const { prepared, log } = deps;
  deps.invoke ??= createSessionInvoke({
    desk: prepared.desk,
    manifest: prepared.agent.manifest,
    state: log.state,
  });
  return deps.invoke;
}

const settingsOf = (manifest: AgentManifest, state: SessionState) => ({
  cost: manifest.budget?.costs.artifact ?? 0,
  balance: () => state.balance,
  id: state.id,
  calls: state.seq, // no two questions of a session have the same number, whoever works on it
});

/** Asks artifacts for a run. Nothing is loaded before the first question. */
export function createLateInvoke(
  desk: OpenDesk,
  settings: () => Omit<InvokeDeps, 'call' | 'artifacts'>,
): Invoke {
  let making: Promise<Invoke> | undefined;
  return async (question) => {
    making ??= makeInvoke(desk, settings);
    return (await making)(question);
  };
}

async function makeInvoke(
  desk: OpenDesk,
  settings: () => Omit<InvokeDeps, 'call' | 'artifacts'>,
): Promise<Invoke> {
  const { createInvoke } = await import('../tools/artifacts/create-invoke.ts');
  return createInvoke({ ...(await desk()), ...settings() });
}

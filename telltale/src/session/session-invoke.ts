import type { SessionState } from '../events/state.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Invoke } from '../targets/artifacts/invoker.ts';
import type { OpenDesk } from './artifact-desk.ts';

export interface SessionInvokeEdges {
  readonly desk: OpenDesk;
  readonly manifest: AgentManifest;
  readonly state: SessionState;
}

/** Asks artifacts for one session. Nothing is loaded before the first question. */
export function createSessionInvoke({ desk, manifest, state }: SessionInvokeEdges): Invoke {
  const make = async (): Promise<Invoke> => {
    const { createInvoke } = await import('../targets/artifacts/create-invoke.ts');
    return createInvoke({
      ...(await desk()),
      cost: manifest.budget?.costs.artifact ?? 0,
      balance: () => state.balance,
      id: state.id,
      calls: state.seq, // no two questions of a session have the same number, whoever works on it
    });
  };
  let making: Promise<Invoke> | undefined;
  return async (question) => {
    making ??= make();
    return (await making)(question);
  };
}

import type { beginSession } from './begin-session.ts';
import type { prepareAgent } from './prepare-agent.ts';
import type { endSession, takeUp, workOn } from './run-session.ts';
import type { wireSession } from './wire-session.ts';

/** What sessions are run with: half of all modules, which whoever only looks or listens has no use for. */
export interface SessionParts {
  readonly beginSession: typeof beginSession;
  readonly wireSession: typeof wireSession;
  readonly takeUp: typeof takeUp;
  readonly workOn: typeof workOn;
  readonly endSession: typeof endSession;
  readonly prepareAgent: typeof prepareAgent;
}

/** Loads them at the first call. */
export function createSessionParts(): () => Promise<SessionParts> {
  let loading: Promise<SessionParts> | undefined;
  const load = async (): Promise<SessionParts> => {
    const [begin, wire, run, prepare] = await Promise.all([
      import('./begin-session.ts'),
      import('./wire-session.ts'),
      import('./run-session.ts'),
      import('./prepare-agent.ts'),
    ]);
    return { ...begin, ...wire, ...run, ...prepare };
  };
  return () => {
    loading ??= load();
    return loading;
  };
}

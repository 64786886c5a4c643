import type { Cause } from '../../events/event.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { SessionMemory } from '../memory/session-memory.ts';
import type { SessionLog } from '../session-log.ts';
import { createBuiltinParts } from './builtin-parts.ts';
import type { SessionFeeds } from './session-feeds.ts';

export interface FreshContextDeps {
  readonly manifest: AgentManifest;
  readonly log: SessionLog;
  readonly testContext: () => Readonly<Record<string, unknown>>;
  readonly feeds: SessionFeeds | undefined;
  readonly memory: SessionMemory | undefined;
  readonly origin: () => Cause;
}

/** Brings what stays fresh in front of a turn, all of it side by side. */
export function freshContext(deps: FreshContextDeps): () => Promise<void> | undefined {
  const { manifest, log, testContext, feeds, memory, origin } = deps;
  const parts = createBuiltinParts(manifest, {
    state: log.state,
    append: (body) => log.append(body, origin()),
    context: testContext as never,
  });
  return () => {
    parts?.();
    const loading = feeds?.keeper.beforeTurn();
    const remembering = memory?.beforeTurn();
    if (loading === undefined || remembering === undefined) return loading ?? remembering;
    return Promise.all([loading, remembering]).then(() => undefined);
  };
}

import type { Cause } from '../../events/event.ts';
import { isOwnFeed } from '../../feeds/feed.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { SessionMemory } from '../memory/session-memory.ts';
import type { SessionLog } from '../session-log.ts';
import { createBuiltinParts } from './builtin-parts.ts';
import type { SessionFeeds } from './session-feeds.ts';

export interface FreshContextEdges {
  readonly manifest: AgentManifest;
  readonly log: SessionLog;
  readonly testContext: () => Readonly<Record<string, unknown>>;
  readonly feeds: SessionFeeds | undefined;
  readonly memory: SessionMemory | undefined;
  readonly origin: () => Cause;
}

/** Whether an agent has feeds of its own, or may have. */
export const usesFeeds = ({ context_feeds: feeds, internal_actions: internal }: AgentManifest): boolean =>
  feeds.some(isOwnFeed) ||
  (internal.enabled && internal.allowed_actions?.some((name) => name.includes('_context_feed')) === true);

/** Brings what stays fresh in front of a turn, all of it side by side; undefined for an agent that has none of it. */
export function freshContext(edges: FreshContextEdges): (() => Promise<void> | undefined) | undefined {
  const { manifest, log, testContext, feeds, memory, origin } = edges;
  const parts = createBuiltinParts(manifest, {
    state: log.state,
    append: (body) => log.append(body, origin()),
    context: testContext as never,
  });
  if (parts === undefined && feeds === undefined && memory === undefined) return undefined;
  return () => {
    parts?.();
    const loading = feeds?.keeper.beforeTurn();
    const remembering = memory?.beforeTurn();
    if (loading === undefined || remembering === undefined) return loading ?? remembering;
    return Promise.all([loading, remembering]).then(() => undefined);
  };
}

export function noFeeds(): never {
  throw new RuntimeError('not_permitted', 'The agent has no feeds, and may add none.', {
    hint: 'The manifest has them under "context_feeds", or names add_context_feed in "internal_actions: { allowed_actions }".',
  });
}

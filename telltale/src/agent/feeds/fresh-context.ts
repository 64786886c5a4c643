import type { ExpressionContext } from '../../expressions/cel/evaluate.ts';
import { isOwnFeed } from '../../feeds/feed.ts';
import { decideEnabled, readEnabled } from '../../feeds/feed-table.ts';
import type { Cause, EventBody } from '../../log/event.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { SessionMemory } from '../memory/session-memory.ts';
import type { SessionLog } from '../session-log.ts';
import type { SessionFeeds } from './session-feeds.ts';

export interface FreshContextDeps {
  readonly manifest: AgentManifest;
  readonly log: SessionLog;
  readonly testContext: () => Readonly<Record<string, unknown>>;
  readonly feeds: SessionFeeds | undefined;
  readonly memory: SessionMemory | undefined;
  readonly origin: () => Cause;
}

/** Updates feeds, memory and parts of the prompt before a turn, in parallel. */
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

export interface BuiltinPartsDeps {
  readonly state: Pick<SessionState, 'off' | 'metadataUpdates' | 'variableUpdates'>;
  readonly append: (body: EventBody) => unknown;
  readonly context: () => ExpressionContext;
}

/**
 * Switches the built-in parts of the prompt on and off as the manifest says. Changes are recorded on the log,
 * so that a rebuilt prompt is the same. Undefined if the manifest does not mention them.
 */
function createBuiltinParts(
  { context_feeds: feeds }: AgentManifest,
  { state, append, context }: BuiltinPartsDeps,
): (() => void) | undefined {
  const parts = feeds.flatMap((feed) => (isOwnFeed(feed) ? [] : [{ id: feed.id, ...readEnabled(feed) }]));
  if (parts.length === 0) return undefined;
  let decidedAt = -1;
  return () => {
    const moved = state.metadataUpdates + state.variableUpdates;
    if (moved === decidedAt) return;
    decidedAt = moved;
    for (const { id, enabled, test } of parts) {
      const isOn = test === undefined ? enabled : decideEnabled(test, context()).enabled;
      if (isOn !== state.off.includes(id)) continue;
      append(
        isOn ? { type: 'feed.added', id, by: 'manifest' } : { type: 'feed.removed', id, by: 'manifest' },
      );
    }
  };
}

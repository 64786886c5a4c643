import type { ExpressionContext } from '../../conditions/cel/evaluate.ts';
import type { EventBody } from '../../events/event.ts';
import type { SessionState } from '../../events/state.ts';
import { decideEnabled, readEnabled } from '../../feeds/enabled.ts';
import { isOwnFeed } from '../../feeds/feed.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

export interface BuiltinPartsDeps {
  readonly state: Pick<SessionState, 'off' | 'metadataUpdates' | 'variableUpdates'>;
  readonly append: (body: EventBody) => unknown;
  readonly context: () => ExpressionContext;
}

/**
 * Switches the parts of the prompt that the runtime makes itself off and on, as the manifest says. That one is off is on
 * the log, so that a prompt made anew is the same. Undefined where the manifest says nothing of them.
 */
export function createBuiltinParts(
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

import type { EventBody } from '../../events/event.ts';
import { LLM_USAGE } from '../../events/reduce.ts';
import type { SessionState } from '../../events/state.ts';
import { createFeedKeeper } from '../../feeds/create-keeper.ts';
import { isOwnFeed } from '../../feeds/feed.ts';
import type { FeedKeeper } from '../../feeds/keeper.ts';
import { createLoadSource } from '../../feeds/sources/load-source.ts';
import { mayAdd } from '../../feeds/sources/may-add.ts';
import { prepareValue } from '../../feeds/values/prepare-value.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentView } from '../agent-view.ts';
import { costWith } from '../cost.ts';
import { hasHooks } from '../hooks/hook-types.ts';
import type { SessionEdges } from '../session-edges.ts';
import { agentMetadata } from './agent-metadata.ts';
import { createFeedDesk, type FeedDesk } from './feed-desk.ts';
import { readDefinition, writtenFeed } from './read-definition.ts';
import { createSharedCache } from './shared-cache.ts';

/** The feeds of one session, wired. */
export interface SessionFeeds {
  readonly keeper: FeedKeeper;
  readonly desk: FeedDesk;
}

export interface SessionFeedsEdges
  extends Pick<SessionEdges, 'prepared' | 'store' | 'clock' | 'random' | 'env' | 'tokenizer'> {
  readonly state: SessionState;
  /** Folds into the state before it returns. */
  readonly append: (body: EventBody) => unknown;
  readonly view: AgentView;
  readonly testContext: () => Readonly<Record<string, unknown>>;
  /** What a `$name` that is no feed stands for. */
  readonly lookup: (name: string) => Json | undefined;
  /** Runs a workflow for a feed, and gives its output. */
  readonly runWorkflow: (feed: string, name: string, input: JsonObject, signal: AbortSignal) => Promise<Json>;
}

export function createSessionFeeds(edges: SessionFeedsEdges): SessionFeeds {
  const { prepared, state, append, store, clock, random, env, tokenizer, testContext } = edges;
  const { agent, targets } = prepared;
  const { manifest } = agent;
  const context = () => testContext() as JsonObject;
  const sources = {
    agent: manifest,
    targets,
    state,
    clock,
    random,
    env,
    view: edges.view,
    tokenizer,
    runWorkflow: edges.runWorkflow,
    agentMetadata: (name: string, signal: AbortSignal) => agentMetadata(store, state, name, signal),
    charge(
      feed: string,
      usage: Parameters<typeof costWith>[1],
      model: Parameters<typeof costWith>[0] & { readonly id: string },
    ) {
      const data = { feed, model: model.id, ...usage, cost_usd: costWith(model, usage) };
      append({ type: 'custom', name: LLM_USAGE, data });
    },
  };
  const keeper = createFeedKeeper({
    feeds: manifest.context_feeds.filter(isOwnFeed),
    written: writtenFeed,
    read: readDefinition,
    state,
    append,
    load: createLoadSource(sources),
    prepare: (feed, raw) => prepareValue(feed, raw, { tokenizer, context }),
    clock,
    random,
    context,
    lookup: edges.lookup,
    cache: createSharedCache(store, manifest.name),
    deadlineMs: manifest.limits.feed_deadline.ms,
    loadTimeoutMs: manifest.limits.action_timeout.ms,
  });
  const desk = createFeedDesk({
    keeper,
    mayAdd: (feed) => mayAdd(feed, { ...sources, guarded: hasHooks(manifest.hooks) }),
    isTaken: (name) =>
      state.variables.has(name)
        ? 'a variable'
        : Object.hasOwn(manifest.metadata.fields, name)
          ? 'a field of the metadata'
          : undefined,
  });
  return { keeper, desk };
}

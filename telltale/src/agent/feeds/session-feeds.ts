import { takeSlotFor } from '../../engine/slots.ts';
import { createFeedKeeper } from '../../feeds/create-keeper.ts';
import type { FeedKeeper, SharedCache, SharedValue } from '../../feeds/feed.ts';
import { type Feed, isOwnFeed, shownTokens } from '../../feeds/feed.ts';
import { comesFrom } from '../../feeds/feed-table.ts';
import { createLoadSource } from '../../feeds/sources/load-source.ts';
import { mayAdd } from '../../feeds/sources/may-add.ts';
import type { SourceDeps } from '../../feeds/sources/source.ts';
import { prepareValue } from '../../feeds/values/prepare-value.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { EventBody } from '../../log/event.ts';
import { LLM_USAGE } from '../../log/reduce.ts';
import type { SessionState } from '../../log/state.ts';
import type { Store } from '../../store/store.ts';
import type { AgentView } from '../agent-view.ts';
import { childId } from '../children/child-id.ts';
import { contextWindowOf } from '../compact.ts';
import { costWith } from '../cost.ts';
import { hasFeeds } from '../internal/definition.ts';
import { spentLimit } from '../limits.ts';
import { readSession } from '../read-session.ts';
import type { RuntimeDeps } from '../runtime-deps.ts';
import type { SessionDeps } from '../session-edges.ts';
import { createFeedService, type FeedService, MODEL, readDefinition, writtenFeed } from './feed-service.ts';

/** The feeds of one session. */
export interface SessionFeeds {
  readonly keeper: FeedKeeper;
  readonly service: FeedService;
}

export interface SessionFeedsDeps
  extends Pick<SessionDeps, 'prepared' | 'group'>,
    Pick<RuntimeDeps, 'store' | 'clock' | 'random' | 'tokenizer' | 'slots'> {
  readonly state: SessionState;
  /** Folds into the state before it returns. */
  readonly append: (body: EventBody) => unknown;
  readonly view: AgentView;
  readonly testContext: () => Readonly<Record<string, unknown>>;
  /** The value of a `$name` that is not a feed. */
  readonly lookup: (name: string) => Json | undefined;
  /** Runs a workflow for a feed and resolves with its output. */
  readonly runWorkflow: SourceDeps['runWorkflow'];
  /** Whether hooks run for each action, of the agent or of a workflow that guides it. */
  readonly isGuarded: () => boolean;
  /** What the session spent in each of its states. */
  readonly metrics: NonNullable<SourceDeps['stateMetrics']>;
}

export function createSessionFeeds(deps: SessionFeedsDeps): SessionFeeds {
  const { prepared, state, append, store, clock, random, tokenizer, testContext } = deps;
  const { agent, targets } = prepared;
  const { manifest } = agent;
  const context = () => testContext() as JsonObject;
  const declared = manifest.context_feeds.filter(isOwnFeed);
  const byId = new Map(declared.map((feed) => [feed.id, feed]));
  const read = (written: JsonObject) => readDefinition(written, byId.get(String(written.id)));
  const sources: SourceDeps = {
    agent: manifest,
    targets,
    state,
    tokenizer,
    agentView: deps.view,
    runWorkflow: deps.runWorkflow,
    takeSlot: takeSlotFor(deps.slots, deps.group),
    agentMetadata: (name, onlyCalled) => agentMetadata(store, state, name, onlyCalled),
    stateMetrics: deps.metrics,
    isModels: (feed) => modelHasPart(feed, state, byId),
    charge(feed, usage, model) {
      const data = { feed, model: model.id, ...usage, cost_usd: costWith(model, usage) };
      append({ type: 'custom', name: LLM_USAGE, data });
    },
    note: (what) => append({ type: 'audit', who: 'runtime', what }),
  };
  const load = createLoadSource(sources);
  const keeper = createFeedKeeper({
    feeds: declared,
    written: writtenFeed,
    read,
    state,
    append,
    async load(call) {
      // A turn may last for hours, and the budget is otherwise checked only before the next one.
      const spent = MAY_SPEND.has(call.feed.source.type) ? spentLimit(state, manifest.limits) : undefined;
      if (spent !== undefined) throw spent;
      return load(call);
    },
    prepare: (feed, raw) => prepareValue(feed, raw, { tokenizer, context }),
    clock,
    random,
    context,
    lookup: deps.lookup,
    cache: createSharedCache(store, manifest.name),
    deadlineMs: manifest.limits.feed_deadline.ms,
    shownTokens: shownTokens(contextWindowOf({ model: prepared.model, state })),
    loadTimeoutMs: manifest.limits.action_timeout.ms,
  });
  const service = createFeedService({
    keeper,
    read,
    mayAdd: async (feed) =>
      pastHooks(feed, deps.isGuarded()) ?? pastTools(feed, prepared) ?? (await mayAdd(feed, sources)),
    isTaken: (name) =>
      state.variables.has(name)
        ? 'a variable'
        : Object.hasOwn(manifest.metadata.fields, name)
          ? 'a field of the metadata'
          : undefined,
  });
  return { keeper, service };
}

/** Whether the model added the feed, or a feed that it is made of. Then the model decides what is called. */
function modelHasPart(id: string, { feeds }: SessionState, declared: ReadonlyMap<string, Feed>): boolean {
  const models = new Set<string>();
  for (const feed of feeds.values()) if (feed.by === MODEL) models.add(feed.id);
  return models.size > 0 && comesFrom(id, models, declared);
}

/** Sources that may use a model. */
const MAY_SPEND: ReadonlySet<Feed['source']['type']> = new Set(['llm', 'workflow']);

/** Sources that only read the session itself. */
const OWN: ReadonlySet<Feed['source']['type']> = new Set(['internal', 'metadata', 'agent']);

/** Refuses feeds that would bypass hooks on actions. */
function pastHooks({ source }: Feed, isGuarded: boolean): RuntimeError | undefined {
  if (!isGuarded || OWN.has(source.type)) return undefined;
  return new RuntimeError(
    'not_permitted',
    `A feed of type ${source.type} cannot be added: hooks look at each action, and would not see what it does.`,
    { hint: 'Call it by an action, or let the manifest have the feed.' },
  );
}

/**
 * Refuses feeds that read files for an agent without a tool that can. Any agent may add feeds, and folders
 * are readable by default.
 */
function pastTools(
  { source: { type } }: Feed,
  { agent: { manifest }, targets }: SessionFeedsDeps['prepared'],
): RuntimeError | undefined {
  if (type !== 'file' && type !== 'repo') return undefined;
  if (hasFeeds(manifest) || manifest.internal_actions.allowed_actions !== undefined) return undefined;
  if (targets.find('tool', 'filesystem') !== undefined) return undefined;
  return new RuntimeError(
    'not_permitted',
    `This agent can add no feed of type ${type}: it has no tool for files.`,
    {
      hint: 'The manifest imports builtin:filesystem, has feeds under "context_feeds", or names add_context_feed in "internal_actions: { allowed_actions }".',
    },
  );
}

/** Values that sessions of an agent share, in a table of the store with expiring entries. */
function createSharedCache({ tables }: Pick<Store, 'tables'>, agent: string): SharedCache {
  const table = `feeds:${agent}`;
  return {
    // The table only has values written by `set`.
    get: async (key) => (await tables.get(table, key)) as SharedValue | undefined,
    set: (key, value, ttlMs) => tables.set(table, key, { ...value } as Json, { ttlMs }),
  };
}

/** Sessions that are searched for the newest one of an agent. */
const MAX_SESSIONS = 500;

/**
 * The metadata of another agent: of the open session that this one has called, or else of the agent's newest
 * session in the store, which the manifest may ask for. With `onlyCalled`, of the session that this one
 * called last. Undefined if there is none.
 */
async function agentMetadata(
  store: Store,
  state: SessionState,
  agent: string,
  onlyCalled: boolean,
): Promise<JsonObject | undefined> {
  const session = onlyCalled
    ? calledLast(state, agent, [...state.actions.keys()])
    : (calledLast(state, agent, [...state.open]) ?? (await newestOf(store, agent, state.id)));
  if (session === undefined || (await store.info(session)) === undefined) return undefined;
  const { metadata } = await readSession(store, session);
  return { ...metadata };
}

function calledLast(state: SessionState, agent: string, actions: readonly string[]): string | undefined {
  const id = actions.findLast((action) => {
    const called = state.actions.get(action)?.action;
    return called?.kind === 'agent' && called.name === agent;
  });
  return id === undefined ? undefined : childId(state, id);
}

async function newestOf(store: Store, agent: string, own: string): Promise<string | undefined> {
  const sessions = await store.list({ kind: 'session', limit: MAX_SESSIONS });
  return sessions.find(({ name, stream }) => name === agent && stream !== own)?.stream;
}

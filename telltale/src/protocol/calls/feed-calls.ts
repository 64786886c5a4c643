import type { JsonObject } from '../../kernel/json.ts';

/**
 * What a model calls to work with its feeds. An `operation` says which internal action it means: one schema costs less
 * than five. The log, permissions and hooks know the actions by their own names, and a model may call these as well.
 */
export const CONTEXT_FEED = 'context_feed';

const ACTIONS = {
  add: 'add_context_feed',
  update: 'update_context_feed',
  remove: 'remove_context_feed',
  list: 'list_context_feeds',
  read: 'read_context_feed',
} as const;
export type FeedOperation = keyof typeof ACTIONS;

const OPERATIONS: ReadonlyMap<string, FeedOperation> = new Map(
  Object.entries(ACTIONS).map(([operation, action]) => [action, operation as FeedOperation]),
);

interface NamedCall {
  readonly name: string;
  readonly parameters: JsonObject;
}

/** The operation that an internal action is; undefined for one that has nothing to do with feeds. */
export const feedOperationOf = (action: string): FeedOperation | undefined => OPERATIONS.get(action);

/** The internal action that a call of `context_feed` means; undefined if it has no valid operation. */
export function feedActionOf(parameters: JsonObject): NamedCall | undefined {
  const { operation, ...rest } = parameters;
  if (typeof operation !== 'string' || !Object.hasOwn(ACTIONS, operation)) return undefined;
  return { name: ACTIONS[operation as FeedOperation], parameters: rest };
}

/** An internal action as the call of `context_feed` that means it; any other as it is. */
export function asFeedCall(call: NamedCall): NamedCall {
  const operation = feedOperationOf(call.name);
  return operation === undefined
    ? call
    : { name: CONTEXT_FEED, parameters: { operation, ...call.parameters } };
}

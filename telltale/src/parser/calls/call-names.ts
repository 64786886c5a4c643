import type { ActionKind } from '../../lib/calls.ts';
import type { JsonObject } from '../../lib/json.ts';

/** Something an action can call. */
export interface CallTarget {
  readonly kind: ActionKind;
  readonly name: string;
}

/** A name that no tool has, and that targets of several kinds have. */
export interface Ambiguous {
  readonly name: string;
  readonly kinds: readonly ActionKind[];
}

const PREFIX = 'functions.';

/** The name without the namespace that models were trained to put before it. */
const withoutPrefix = (name: string): string => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name);

const OTHER_KINDS = ['agent', 'relic', 'workflow', 'llm', 'artifact', 'internal'] as const;

/**
 * The target that a model means: the one that it names; without `functions.` where that is no part of a name; and, since
 * `tool` is the kind of what names none, the only other one of that name. As it was asked for where there is none.
 */
export function meantTarget(
  asked: CallTarget,
  has: (kind: ActionKind, name: string) => boolean,
): CallTarget | Ambiguous {
  const { kind } = asked;
  const plain = withoutPrefix(asked.name);
  const names = plain === asked.name ? [plain] : [asked.name, plain];
  for (const name of names) if (has(kind, name)) return { kind, name };
  if (kind !== 'tool') return asked;
  for (const name of names) {
    const kinds = OTHER_KINDS.filter((other) => has(other, name));
    const [only] = kinds;
    if (only !== undefined) return kinds.length === 1 ? { kind: only, name } : { name, kinds };
  }
  return asked;
}

/** What the targets of an agent are called in native tool calls: one name each, over all kinds. */
export interface CallNames {
  /** In the order of the targets. */
  readonly natives: readonly string[];
  /** The target with this native name. */
  find(native: string): CallTarget | undefined;
  /** The native name that a model means which puts `functions.` before it. */
  plain(name: string): string;
  /**
   * The target that a model means by a name: by a native one, or by the one that the target has in the manifest, of
   * whatever kind it is. A list of native names where several have that one, a tool's where none has.
   */
  meant(name: string): CallTarget | readonly string[];
}

/** What a model calls to speak, to declare its state and, in the dialect `step`, for everything. */
export const RESPOND = 'respond';
export const SET_METADATA = 'set_metadata';
export const STEP = 'step';

/** What every provider takes as the name of a tool. */
const MAX_NAME = 64;
const STRANGE = /[^a-zA-Z0-9_-]/g;

/**
 * Gives each target its native name. Tools and internal actions keep their own, all others are `agent_NAME`,
 * `relic_NAME` and so on; a character that may not stand there becomes `_`; where two would be the same, the one that
 * needs no change has it, else the first, and the other is told apart by its kind, then by a number. The same targets
 * in the same order always give the same names.
 */
export function createCallNames(targets: readonly CallTarget[]): CallNames {
  const byName = new Map<string, CallTarget | undefined>([
    [RESPOND, undefined],
    [SET_METADATA, undefined],
    [STEP, undefined],
  ]);
  const natives: string[] = Array.from({ length: targets.length }, () => '');
  const give = (index: number, target: CallTarget, native: string): boolean => {
    if (natives[index] !== '' || byName.has(native)) return false;
    byName.set(native, target);
    natives[index] = native;
    return true;
  };
  const keepsName = ({ kind }: CallTarget) => kind === 'tool' || kind === 'internal';
  for (const [index, target] of targets.entries())
    if (keepsName(target) && fit(target.name) === target.name) give(index, target, target.name);
  for (const [index, target] of targets.entries()) {
    const plain = keepsName(target) ? fit(target.name) : fit(`${target.kind}_${target.name}`);
    if (natives[index] !== '' || give(index, target, plain)) continue;
    const told = fit(`${target.kind}_${target.name}`);
    if (give(index, target, told)) continue;
    for (let n = 2; !give(index, target, numbered(told, n)); n++);
  }
  const plain = (name: string): string => (byName.has(withoutPrefix(name)) ? withoutPrefix(name) : name);
  const nativesOf = (name: string) =>
    natives.filter((_, index) => targets[index]?.name === name && targets[index]?.kind !== 'tool');
  return {
    natives,
    find: (native) => byName.get(native),
    plain: (name) => (byName.has(name) ? name : plain(name)),
    meant(name) {
      const known = byName.get(name) ?? byName.get(plain(name));
      if (known !== undefined) return known;
      const target = meantTarget({ kind: 'tool', name }, (kind, asked) =>
        targets.some((each) => each.kind === kind && each.name === asked),
      );
      return 'kinds' in target ? nativesOf(target.name) : target;
    },
  };
}

/** No targets that are known: each name is taken for a tool's. */
export const NO_CALL_NAMES: CallNames = createCallNames([]);

/** Google takes no name that begins with a digit or a hyphen. */
const fit = (name: string) =>
  name
    .replaceAll(STRANGE, '_')
    .replace(/^(?=[\d-])/, '_')
    .slice(0, MAX_NAME);

const numbered = (name: string, n: number) => `${name.slice(0, MAX_NAME - 1 - String(n).length)}_${n}`;

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

import type { ActionKind } from '../../kernel/action-envelope.ts';

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
export const withoutPrefix = (name: string): string =>
  name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;

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

import { EVERYTHING, type Rules } from '../schema/permissions.ts';

export type Decision = 'allow' | 'ask' | 'deny';

/** The entries of `allow`, `ask` and `deny`, read. */
export interface ReadRules<Entry> {
  readonly entries: Readonly<Record<Decision, readonly Entry[]>>;
  /** What counts for all that no entry names. */
  readonly rest: Decision;
}

const STRICTEST_FIRST: readonly Decision[] = ['deny', 'ask', 'allow'];

/** `*` stands for what no other entry names; without it that is denied. */
export const restOf = (rules: Rules): Decision =>
  STRICTEST_FIRST.find((decision) => rules[decision].includes(EVERYTHING)) ?? 'deny';

/** The entries that name something of their own. */
export const named = (entries: readonly string[]): readonly string[] =>
  entries.filter((text) => text !== EVERYTHING);

export const readRules = <Entry>(rules: Rules, read: (text: string) => Entry): ReadRules<Entry> => ({
  entries: {
    allow: named(rules.allow).map(read),
    ask: named(rules.ask).map(read),
    deny: named(rules.deny).map(read),
  },
  rest: restOf(rules),
});

/** `deny` beats `ask`, `ask` beats `allow`; also says which entry it was, if one was. */
export function decide<Entry>(
  { entries, rest }: ReadRules<Entry>,
  names: (entry: Entry, decision: Decision) => boolean,
): { readonly decision: Decision; readonly by?: Entry } {
  for (const decision of STRICTEST_FIRST) {
    const by = entries[decision].find((entry) => names(entry, decision));
    if (by !== undefined) return { decision, by };
  }
  return { decision: rest };
}

/** Whether all is denied, whatever it is. */
export const isShut = (rules: Rules): boolean =>
  restOf(rules) === 'deny' && named(rules.allow).length === 0 && named(rules.ask).length === 0;

/** Whether any call can come to `ask`. */
export const mayAsk = ({ ask }: Rules): boolean => ask.length > 0;

/** What is allowed, for messages. */
export const listed = (entries: readonly string[]): string =>
  entries.length === 0 ? 'none' : entries.join(', ');

import { NOBODY, NONE } from '../../kernel/grow.ts';
import type { IdBook } from '../../protocol/envelope/id-book.ts';
import type { OpenElement } from '../../protocol/tags/open-elements.ts';

/** An `<if>` and which of its branches hold, or a `<parallel>` and the group that its actions are of: '' where none counts. */
export type InsideElement =
  | (Extract<OpenElement, { name: 'if' }> & { readonly live: boolean; readonly other: boolean })
  | (Extract<OpenElement, { name: 'parallel' }> & { readonly live: true; readonly group: string });

/** What a turn goes on inside of, where it goes on with one that was cut short. */
export interface Inside {
  /** What was open there, innermost last. */
  readonly elements: readonly InsideElement[];
  /** Whether the rest of that turn may be quotation. */
  readonly doubt: boolean;
  /** Its `<parallel>`s in which nothing was asked for: nobody waits for them. */
  readonly emptyGroups: ReadonlySet<string>;
  /** How many `<parallel>`s it had: those without an id are told apart by it. */
  readonly parallels: number;
  /** The ids that it gave out: also those of which nothing came, as in a branch that does not hold. */
  readonly book: IdBook | undefined;
  /** Those that its last part closed: its stream waited for them, and not for one that it left without an end tag. */
  readonly closed: readonly string[];
}

/** Of a turn that goes on with no other: it is known by being this one. */
export const OUTSIDE: Inside = {
  elements: NONE,
  doubt: false,
  emptyGroups: NOBODY,
  parallels: 0,
  book: undefined,
  closed: NONE,
};

export const ifsOf = ({ elements }: Inside) =>
  elements.flatMap((element) => (element.name === 'if' ? [element] : []));

export const groupsOf = ({ elements }: Inside): readonly string[] =>
  elements.flatMap((element) => (element.name === 'parallel' && element.group !== '' ? [element.group] : []));

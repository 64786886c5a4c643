import { NONE } from '../../kernel/grow.ts';
import type { InsideIf } from '../../protocol/tags/open-ifs.ts';

/** What a turn goes on inside of, where it goes on with one that was cut short. */
export interface Inside {
  /** The `<if>`s that were open there, and which of their branches hold. */
  readonly ifs: readonly (InsideIf & { readonly other: boolean })[];
  /** Whether the rest of that turn may be quotation. */
  readonly doubt: boolean;
  /** Its `<parallel>`s in which nothing was asked for: nobody waits for them. */
  readonly emptyGroups: readonly string[];
}

/** Of a turn that goes on with no other: it is known by being this one. */
export const OUTSIDE: Inside = { ifs: NONE, doubt: false, emptyGroups: NONE };

import type { Store } from '../store.ts';
import { sameValue } from './same-value.ts';
import { allRows } from './table-pages.ts';
import type { TableRow } from './upkeep.ts';

/** A row of two stores: where it is, and whether it is the same in both. */
export type ComparedRow =
  | { readonly kind: 'same' | 'other' | 'missing'; readonly row: TableRow }
  /** Only the second has it. */
  | { readonly kind: 'extra'; readonly row: TableRow };

/** All rows of both, by table and key. Both are read page by page; the order of both is that of UTF-8. */
export async function* compareRows(
  from: Store,
  to: Store,
  signal?: AbortSignal,
): AsyncGenerator<ComparedRow, void> {
  const [ours, theirs] = [allRows(from, signal), allRows(to, signal)];
  let [a, b] = await Promise.all([ours.next(), theirs.next()]);
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : byPlace(a.value, b.value);
    if (order <= 0 && a.done !== true) {
      const row = a.value;
      const isSame = order === 0 && b.done !== true && isAlike(row, b.value);
      yield { kind: order < 0 ? 'missing' : isSame ? 'same' : 'other', row };
      a = await ours.next();
    } else if (b.done !== true) yield { kind: 'extra', row: b.value };
    if (order >= 0) b = await theirs.next();
  }
}

/** To the millisecond two stores cannot agree on when a row is over, since each counts from its own now. */
const isAlike = (a: TableRow, b: TableRow): boolean =>
  sameValue(a.value, b.value) && (a.expiresAt === undefined) === (b.expiresAt === undefined);

function byPlace(a: TableRow, b: TableRow): number {
  return (
    Buffer.compare(Buffer.from(a.table), Buffer.from(b.table)) ||
    Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))
  );
}

import type { Store } from '../store.ts';
import { COPY_TABLE } from './table-pages.ts';

/** Says in a store that it is the copy of another, and not whole yet. */
export interface CopyMarker {
  readonly from: string;
  /** Whether there was something in it before. */
  readonly merge: boolean;
}

const KEY = 'under way';

export async function readCopyMarker(to: Store): Promise<CopyMarker | undefined> {
  const found = (await to.tables.get(COPY_TABLE, KEY)) as unknown as CopyMarker | undefined;
  return typeof found?.from === 'string' ? { from: found.from, merge: found.merge === true } : undefined;
}

export const setCopyMarker = (to: Store, { from, merge }: CopyMarker): Promise<void> =>
  to.tables.set(COPY_TABLE, KEY, { from, merge });

export const clearCopyMarker = async (to: Store): Promise<void> => {
  await to.tables.delete(COPY_TABLE, KEY);
};

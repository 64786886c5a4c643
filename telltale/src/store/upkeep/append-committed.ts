import type { Append, StreamWriter } from '../store.ts';

/** Resolves when the append is committed; rejects where it is refused, or fails. */
export const appendCommitted = (writer: StreamWriter, append: Append): Promise<void> =>
  new Promise((resolve, reject) =>
    writer.append(append, (error) => (error === undefined ? resolve() : reject(error))),
  );

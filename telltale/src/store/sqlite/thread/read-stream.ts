import type { DatabaseSync } from 'node:sqlite';
import type { ReadChunk } from '../../grouped/messages.ts';
import { storeDamaged } from '../sqlite-errors.ts';

/** Of so many rows of a stream one is noted in `marks`. */
export const MARK_EVERY = 64;
/** A longer answer comes in several, so that a long log holds up nobody's commit and no message grows without bound. */
const CHUNK_CHARS = 1024 * 1024;
const SHORT_BYTES = 16 * 1024;

interface LogRow {
  readonly id: number;
  readonly first: number;
  readonly count: number;
  readonly prev: number;
  /** Null where it is long. */
  readonly body: string | null;
}

/** `limit` events at most from `from` on; whole rows, so there may be others before and behind. */
export type ReadStream = (stream: string, from: number, limit: number) => ReadChunk | undefined;

export function createReadStream(db: DatabaseSync, path: string): ReadStream {
  const headOf = db.prepare(
    'SELECT s.id, h.head, h.last FROM streams s JOIN heads h ON h.id = s.id WHERE s.stream = ?',
  );
  const markAfter = db.prepare(
    'SELECT prev FROM marks WHERE stream = ? AND first > ? ORDER BY first LIMIT 1',
  );
  // Long bodies are read one by one, as far as they fit into the answer: a block of them may be a gigabyte.
  const rowById = db.prepare(
    `SELECT id, first, count, prev, CASE WHEN octet_length(body) <= ${SHORT_BYTES} THEN body END AS body
      FROM log WHERE id = ? AND stream = ?`,
  );
  const bodyById = db.prepare('SELECT body FROM log WHERE id = ? AND stream = ?');

  /**
   * The rows from the one that holds `seq` to the next mark or the end, backwards along the chain, then turned. The id
   * of one that is missing or out of place, where one is.
   */
  const readBlock = (stream: number, seq: number, last: number): readonly LogRow[] | number => {
    const rows: LogRow[] = [];
    let id = Number(markAfter.get(stream, seq)?.prev ?? last);
    for (;;) {
      const row = rowById.get(id, stream) as unknown as LogRow | undefined;
      if (row === undefined || rows.length > MARK_EVERY) return id;
      rows.push(row);
      if (row.first <= seq) return seq < row.first + row.count ? rows.reverse() : id;
      id = row.prev;
    }
  };

  return (stream, from, limit) => {
    const found = headOf.get(stream);
    if (found === undefined) return undefined;
    const [id, head, last] = [Number(found.id), Number(found.head), Number(found.last)];
    const end = Math.min(head, from + limit - 1);
    const bodies: string[] = [];
    let [first, next, chars] = [from, from, 0];
    while (next <= end && chars < CHUNK_CHARS) {
      const block = readBlock(id, next, last);
      if (typeof block === 'number') {
        // Another process may have taken the stream out meanwhile.
        if (Number(headOf.get(stream)?.id) !== id) return undefined;
        throw storeDamaged(path, `row ${block} of the log of stream ${stream} is missing or out of place`);
      }
      for (const row of block) {
        const body = row.body ?? bodyById.get(row.id, id)?.body;
        if (body === undefined) return undefined; // taken out between the two looks
        if (bodies.length === 0) first = row.first;
        bodies.push(String(body));
        chars += String(body).length;
        next = row.first + row.count;
        if (next > end || chars >= CHUNK_CHARS) break;
      }
    }
    return { first, bodies, next: next <= end ? next : null };
  };
}

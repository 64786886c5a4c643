import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { RuntimeError } from '../../../lib/errors.ts';
import type { AppendOp, ReadChunk } from '../../grouped/messages.ts';
import { streamLost, streamMoved } from '../../store-errors.ts';
import type { ChecksumReport } from '../../upkeep/upkeep.ts';
import { storeDamaged } from '../sqlite-errors.ts';
import type { TableRows } from './rows.ts';

/** Where the chain of a stream's rows ends. */
interface Tail {
  last: number;
  rows: number;
}

/** The hot path: an update that is the fence, and an insert. */
export interface AppendRows {
  /** Once in each transaction, before the first append. */
  begin(): void;
  /** Returns why it is refused; then nothing of it was written. */
  append(op: AppendOp, now: number): RuntimeError | undefined;
  /** The stream is there since this transaction, and empty. */
  made(stream: number): void;
  /** What was remembered of tails may not have been written. */
  rolledBack(): void;
  forget(stream: number): void;
}

export function createAppendRows(db: DatabaseSync, tables: TableRows): AppendRows {
  const lastRow = db.prepare('SELECT max(id) AS id FROM log');
  const advance = db.prepare(
    'UPDATE heads SET head = ?, last = ?, rows = ?, updated_at = ? WHERE id = ? AND epoch = ? AND head = ?',
  );
  // Apart, so that the index by status is touched only where a status is given.
  const advanceAs = db.prepare(
    'UPDATE heads SET head = ?, last = ?, rows = ?, updated_at = ?, status = ?, due_at = ? WHERE id = ? AND epoch = ? AND head = ?',
  );
  const insert = db.prepare(
    'INSERT INTO log (id, stream, first, count, prev, body, sums) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const mark = db.prepare('INSERT INTO marks (stream, first, prev) VALUES (?, ?, ?)');
  const consume = db.prepare('DELETE FROM inbox WHERE id = ? AND stream = ?');
  const headOf = db.prepare(
    'SELECT h.epoch, h.head, h.last, h.rows, s.stream FROM heads h JOIN streams s ON s.id = h.id WHERE h.id = ?',
  );
  /** Valid as long as the fence holds: with the same epoch and head nobody else can have written. */
  const tails = new Map<number, Tail>();
  let row = 0;

  const tailOf = (stream: number): Tail => {
    const known = tails.get(stream);
    if (known !== undefined) return known;
    const found = headOf.get(stream);
    const tail = { last: Number(found?.last ?? 0), rows: Number(found?.rows ?? 0) };
    tails.set(stream, tail);
    return tail;
  };

  const refusal = (stream: number, epoch: number, expectedSeq: number): RuntimeError => {
    tails.delete(stream);
    const found = headOf.get(stream);
    if (found === undefined) return streamLost(`#${stream}`, epoch);
    const name = String(found.stream);
    if (found.epoch !== epoch) return streamLost(name, epoch);
    return streamMoved(name, expectedSeq, Number(found.head));
  };

  return {
    begin() {
      row = Number(lastRow.get()?.id ?? 0);
    },
    append([stream, epoch, expectedSeq, count, body, status, consumed, writes, due], now) {
      const tail = tailOf(stream);
      const id = count === 0 ? tail.last : row + 1;
      const rows = count === 0 ? tail.rows : tail.rows + 1;
      const head = expectedSeq + count;
      const { changes } =
        status === null
          ? advance.run(head, id, rows, now, stream, epoch, expectedSeq)
          : advanceAs.run(head, id, rows, now, status, due, stream, epoch, expectedSeq);
      if (changes !== 1) return refusal(stream, epoch, expectedSeq);
      if (count > 0) {
        row = id;
        insert.run(id, stream, expectedSeq + 1, count, tail.last, body, checksumsOf(body, count));
        if (tail.rows > 0 && tail.rows % MARK_EVERY === 0) mark.run(stream, expectedSeq + 1, tail.last);
        tail.last = id;
        tail.rows = rows;
      }
      if (consumed !== null) for (const message of consumed) consume.run(message, stream);
      if (writes !== null) {
        for (const [table, key, value] of writes) {
          if (value === null) tables.delete(table, key, now);
          else tables.set(table, key, value, null, now);
        }
      }
      return undefined;
    },
    made: (stream) => void tails.set(stream, { last: 0, rows: 0 }),
    rolledBack: () => tails.clear(),
    forget: (stream) => tails.delete(stream),
  };
}

/** Of so many rows of a stream one is noted in `marks`. */
const MARK_EVERY = 64;
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

/** Changed events that are named; whoever has more has to begin with these. */
const MOST = 1_000;
/** Hexadecimal digits of one event's checksum. */
const DIGITS = 8;

/**
 * The checksums of a row's events, one behind the other. They show that a stored byte has changed. They are no signature:
 * whoever can write the file can also write a checksum that fits.
 */
function checksumsOf(body: string, count: number): string {
  if (count === 1) return checksum(body);
  let sums = '';
  for (const line of body.split('\n')) sums += checksum(line);
  return sums;
}

/** Compares the whole log with its checksums. */
export function compareChecksums(db: DatabaseSync): ChecksumReport {
  const uncovered = db.prepare('SELECT coalesce(sum(count), 0) AS n FROM log WHERE sums IS NULL').get()?.n;
  const rows = db.prepare(
    `SELECT s.stream, l.first, l.body, l.sums FROM log l JOIN streams s ON s.id = l.stream
      WHERE l.sums IS NOT NULL ORDER BY l.id`,
  );
  const changed: { stream: string; seq: number }[] = [];
  for (const { stream, first, body, sums } of rows.iterate()) {
    for (const place of changedEvents(String(body), String(sums)))
      changed.push({ stream: String(stream), seq: Number(first) + place });
    if (changed.length >= MOST) break;
  }
  return { changed, uncovered: Number(uncovered) };
}

/** The places, from 0 on, of a row's events that no longer fit their checksums. */
function changedEvents(body: string, sums: string): readonly number[] {
  const changed: number[] = [];
  for (const [place, line] of body.split('\n').entries())
    if (checksum(line) !== sums.slice(place * DIGITS, (place + 1) * DIGITS)) changed.push(place);
  return changed;
}

const checksum = (line: string): string => crc32(line).toString(16).padStart(DIGITS, '0');

import type { DatabaseSync } from 'node:sqlite';
import type { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { AppendOp } from '../../grouped/messages.ts';
import { streamLost, streamMoved } from '../../store-errors.ts';
import { checksumsOf } from './checksums.ts';
import { MARK_EVERY } from './read-stream.ts';
import type { TableRows } from './table-rows.ts';

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

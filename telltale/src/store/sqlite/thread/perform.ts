import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { AppendOp, Outcome, ReadRequest, Results, WriteRequest } from '../../grouped/messages.ts';
import { streamUnknown } from '../../store-errors.ts';
import type { AppendRows } from './append-rows.ts';
import type { ListStreams } from './list-streams.ts';
import type { ReadStream } from './read-stream.ts';
import type { StreamRows } from './stream-rows.ts';
import type { TableRows } from './table-rows.ts';
import type { UpkeepRows } from './upkeep-rows.ts';

export interface Rows {
  readonly appends: AppendRows;
  readonly streams: StreamRows;
  readonly tables: TableRows;
  readonly lists: ListStreams;
  readonly readStream: ReadStream;
  readonly upkeep: UpkeepRows;
  readonly examine: () => Results['examine'];
  readonly checksums: () => Results['checksums'];
  /** The owner of a stream that got a message; he is woken after the commit. */
  readonly messaged: (owner: number) => void;
}

/** The append, to the stream that was just made for it. */
export const toStream = ([, ...rest]: AppendOp, id: number): AppendOp => [id, ...rest];

/** A write other than an append. */
export function performWrite(rows: Rows, request: WriteRequest, now: number): Outcome {
  const { appends, streams, tables, upkeep, messaged } = rows;
  switch (request.op) {
    case 'create': {
      const taken = streams.create(request.stream, request.head, now);
      appends.made(taken.id);
      if (request.first !== null) appends.append(toStream(request.first, taken.id), now);
      return { value: taken };
    }
    case 'acquire': {
      const taken = streams.acquire(request.stream, request.dead, request.restoring);
      // Others may have written since this store had the stream last.
      if ('id' in taken) appends.forget(taken.id);
      return { value: taken };
    }
    case 'dissolve':
      streams.dissolve(request.owner);
      return { value: null };
    case 'release':
      appends.forget(request.stream);
      streams.release(request.stream, request.epoch);
      return { value: null };
    case 'snapshot':
      streams.snapshot(request.stream, request.epoch, request.seq, request.body);
      return { value: null };
    case 'send': {
      const { id, owner } = streams.send(request.stream, request.message, now);
      if (owner !== null) messaged(owner);
      return { value: id };
    }
    case 'set':
      tables.set(request.table, request.key, request.value, request.expiresAt, now);
      return { value: null };
    case 'delete':
      return { value: tables.delete(request.table, request.key, now) };
    case 'increment':
      return { value: tables.increment(request.table, request.key, request.by, now) };
    case 'exchange': {
      const isAsExpected = request.expected.every(
        ([table, key, value]) => tables.get(table, key, now) === value,
      );
      if (!isAsExpected) return { value: false };
      for (const [table, key, value, expiresAt] of request.writes)
        if (value === null) tables.delete(table, key, now);
        else tables.set(table, key, value, expiresAt, now);
      return { value: true };
    }
    case 'push':
      return { value: tables.push(request.list, request.value, now) };
    case 'settle':
      appends.forget(upkeep.settle(request));
      return { value: null };
    case 'remove':
      appends.forget(upkeep.remove(request.stream, request.epoch));
      return { value: null };
    case 'enter':
      upkeep.enter(request);
      return { value: null };
  }
}

export function performRead(
  rows: Rows,
  request: ReadRequest,
  now: number,
  describe: (thrown: unknown) => RuntimeError,
  /** Throws where what was just read is not to be trusted. */
  check?: () => void,
): Outcome {
  try {
    const value = read(rows, request, now);
    check?.();
    return { value };
  } catch (error) {
    return { error: (error instanceof RuntimeError ? error : describe(error)).toJSON() };
  }
}

function read(rows: Rows, request: ReadRequest, now: number): Results[ReadRequest['op']] {
  const { streams, tables, lists, readStream, upkeep } = rows;
  switch (request.op) {
    case 'read': {
      const chunk = readStream(request.stream, request.from, request.limit);
      if (chunk === undefined) throw streamUnknown(request.stream);
      return chunk;
    }
    case 'snapshots':
      return streams.snapshots(request.stream);
    case 'info':
      return lists.info(request.stream);
    case 'list':
      return lists.list(request);
    case 'owners':
      return streams.owners();
    case 'inbox':
      return streams.inbox(request.stream);
    case 'get':
      return tables.get(request.table, request.key, now);
    case 'keys':
      return tables.keys(request.table, request.prefix, request.after, request.limit, now);
    case 'entries':
      return tables.entries(request.list, request.after, request.last, request.limit);
    case 'describe':
      return upkeep.describe();
    case 'weigh':
      return upkeep.weigh(request.stream);
    case 'rows':
      return upkeep.rows(request.after, request.limit, now);
    case 'lists':
      return upkeep.lists(request.after, request.limit);
    case 'examine':
      return rows.examine();
    case 'checksums':
      return rows.checksums();
    case 'compact':
      return upkeep.compact();
  }
}

import type { DatabaseSync } from 'node:sqlite';
import { RuntimeError } from '../../../lib/errors.ts';
import type { AppendOp, Outcome, ReadRequest, Results, Taken, WriteRequest } from '../../grouped/messages.ts';
import { streamUnknown } from '../../store-errors.ts';
import { isOfOneStatement } from '../sqlite-errors.ts';
import type { AppendRows, ReadStream } from './append-rows.ts';
import type { ThreadOwnership } from './ownership.ts';
import type { ListStreams, StreamRows, TableRows } from './rows.ts';
import type { UpkeepRows } from './upkeep-rows.ts';

/** What became of the writes of a group, by their place in it; an append that went through is left out. */
export type ThreadGroupOutcomes = ReadonlyMap<number, Outcome>;

export interface ThreadGroupDeps {
  readonly db: DatabaseSync;
  readonly appends: AppendRows;
  readonly ownership: ThreadOwnership;
  readonly describe: (thrown: unknown) => RuntimeError;
  /** Throws a RuntimeError only before it has written anything. */
  readonly perform: (request: WriteRequest, now: number) => Outcome;
}

type GroupWrite = AppendOp | WriteRequest;

/**
 * One transaction for all writes of a group. A write that is refused has changed nothing and the others go on. One
 * that breaks half-way takes the transaction with it: it is left out and the rest is done anew. Throws a RuntimeError
 * where nothing could be written at all.
 */
export function createRunGroup(
  deps: ThreadGroupDeps,
): (writes: readonly GroupWrite[], now: number) => ThreadGroupOutcomes {
  const { db, appends, ownership, describe, perform } = deps;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');

  const rollBack = () => {
    appends.rolledBack();
    ownership.rolledBack();
    try {
      db.exec('ROLLBACK');
    } catch (error) {
      // After a full disk SQLite has rolled back by itself; any other reason shows at the next BEGIN.
      if (!(error instanceof Error)) throw error;
    }
  };

  const append = (op: AppendOp, now: number): Outcome | undefined => {
    const refused = appends.append(op, now);
    return refused === undefined ? undefined : { error: refused.toJSON() };
  };

  /** To a stream that an earlier write of the group makes: `made` is what became of that. */
  const appendToNew = (op: AppendOp, made: Outcome | undefined, now: number) =>
    made === undefined || 'error' in made ? made : append(toStream(op, (made.value as Taken).id), now);

  /** Returns the place of the write that broke the transaction, if one did. */
  const attempt = (
    writes: readonly GroupWrite[],
    now: number,
    broken: ThreadGroupOutcomes,
    outcomes: Map<number, Outcome>,
  ) => {
    begin.run();
    appends.begin();
    for (let place = 0; place < writes.length; place++) {
      const item = writes[place] as GroupWrite;
      if (broken.has(place)) continue;
      try {
        const outcome = !isAppend(item)
          ? perform(item, now)
          : item[0] > 0
            ? append(item, now)
            : appendToNew(item, broken.get(-1 - item[0]) ?? outcomes.get(-1 - item[0]), now);
        if (outcome !== undefined) outcomes.set(place, outcome);
      } catch (error) {
        if (error instanceof RuntimeError) outcomes.set(place, { error: error.toJSON() });
        else if (isOfOneStatement(error)) return { place, error: describe(error) };
        else throw error;
      }
    }
    commit.run();
    ownership.committed();
    return undefined;
  };

  return (writes, now) => {
    const broken = new Map<number, Outcome>();
    for (;;) {
      const outcomes = new Map<number, Outcome>();
      try {
        const culprit = attempt(writes, now, broken, outcomes);
        if (culprit === undefined) return broken.size === 0 ? outcomes : new Map([...broken, ...outcomes]);
        broken.set(culprit.place, { error: culprit.error.toJSON() });
      } catch (error) {
        rollBack();
        throw describe(error);
      }
      rollBack();
    }
  };
}

export function isAppend(item: GroupWrite): item is AppendOp {
  return Array.isArray(item);
}

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
const toStream = ([, ...rest]: AppendOp, id: number): AppendOp => [id, ...rest];

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

import type { DatabaseSync } from 'node:sqlite';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { AppendOp, Outcome, Taken, WriteRequest } from '../../grouped/messages.ts';
import type { AppendRows } from './append-rows.ts';
import { isOfOneStatement } from './describe-failure.ts';
import type { Ownership } from './ownership.ts';
import { toStream } from './perform.ts';

/** What became of the writes of a group, by their place in it; an append that went through is left out. */
export type GroupOutcomes = ReadonlyMap<number, Outcome>;

export interface GroupDeps {
  readonly db: DatabaseSync;
  readonly appends: AppendRows;
  readonly ownership: Ownership;
  readonly describe: (thrown: unknown) => RuntimeError;
  /** Throws a RuntimeError only before it has written anything. */
  readonly perform: (request: WriteRequest, now: number) => Outcome;
}

type Write = AppendOp | WriteRequest;

/**
 * One transaction for all writes of a group. A write that is refused has changed nothing and the others go on. One
 * that breaks half-way takes the transaction with it: it is left out and the rest is done anew. Throws a RuntimeError
 * where nothing could be written at all.
 */
export function createRunGroup(deps: GroupDeps): (writes: readonly Write[], now: number) => GroupOutcomes {
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
    writes: readonly Write[],
    now: number,
    broken: GroupOutcomes,
    outcomes: Map<number, Outcome>,
  ) => {
    begin.run();
    appends.begin();
    for (let place = 0; place < writes.length; place++) {
      const item = writes[place] as Write;
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

export function isAppend(item: Write): item is AppendOp {
  return Array.isArray(item);
}

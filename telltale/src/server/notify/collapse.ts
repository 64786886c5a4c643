import { clip } from './channels.ts';
import type { Outbox } from './outbox.ts';
import { type OutboxRow, outboxId } from './outbox.ts';

/** Makes one message of those that are too many. */
export interface Collapse {
  /** Counts one more into the message that goes out at `until`; false where it goes out this moment, or has. */
  add(row: OutboxRow, window: { readonly since: number; readonly until: number }): Promise<boolean>;
}

/** What a message of this kind is about. */
const MORE = 'more';

const MAX_MESSAGE = 500;
/** Those that are written down as counted at a time. */
const MAX_AT_A_TIME = 500;

interface CollapseCounted {
  /** Ids of those that are not written down yet. */
  readonly open: Set<string>;
  last: OutboxRow;
  /** Whether the message goes out, or has: no more is counted in it. */
  isOver: boolean;
  /** Whether it is known here that it waits. */
  isHeard: boolean;
  writing?: Promise<void>;
}

/**
 * While one is written more are counted: a flood costs as many writes as the store can make, and no more. The count is the
 * store's, and who is counted in it is known there with the same write: who comes after a restart counts on.
 */
export function createCollapse(outbox: Outbox, onAdded: (row: OutboxRow) => void): Collapse {
  const windows = new Map<string, CollapseCounted>();

  /** Whoever has counted in it sees to it that it is sent: the process that made it may be gone by then. */
  const hear = (counted: CollapseCounted, row: OutboxRow) => {
    if (counted.isHeard) return;
    counted.isHeard = true;
    onAdded(row);
  };

  const write = async (id: string, counted: CollapseCounted, until: number): Promise<void> => {
    while (counted.open.size > 0) {
      const batch = [...counted.open].slice(0, MAX_AT_A_TIME);
      const before = await outbox.get(id, 'waiting');
      counted.isOver = before?.lease !== undefined;
      if (counted.isOver) return;
      const row =
        before === undefined
          ? { ...counted.last, ...said(counted, 0, batch), id, about: MORE, nextAt: until }
          : { ...before, ...said(counted, countOf(before), batch) };
      const isWritten =
        before === undefined
          ? await outbox.add(row, 'waiting', batch)
          : await outbox.replace(before, row, batch);
      if (isWritten) {
        for (const each of batch) counted.open.delete(each);
        hear(counted, row);
      } else if (before === undefined && (await outbox.get(id, 'waiting')) === undefined) {
        counted.isOver = true;
        return;
      }
    }
  };

  return {
    async add(row, { since, until }) {
      const id = outboxId(since, MORE, row.agent, row.channel, since);
      let counted = windows.get(id);
      if (counted === undefined) {
        for (const [other, { last }] of windows) if (last.at < since) windows.delete(other);
        counted = { open: new Set(), last: row, isOver: false, isHeard: false };
        windows.set(id, counted);
      }
      const mine = counted;
      if (mine.isOver) return false;
      mine.open.add(row.id);
      mine.last = row;
      while (mine.open.has(row.id) && !mine.isOver) {
        mine.writing ??= write(id, mine, until).finally(() => {
          delete mine.writing;
        });
        await mine.writing;
      }
      return !mine.open.delete(row.id);
    },
  };
}

const countOf = ({ data }: OutboxRow): number => (typeof data.count === 'number' ? data.count : 0);

function said(
  { last }: CollapseCounted,
  before: number,
  batch: readonly string[],
): Pick<OutboxRow, 'message' | 'data'> {
  const count = before + batch.length;
  return {
    message: `…and ${count} more. The last: ${clip(last.message, MAX_MESSAGE)}`,
    data: { count, last: { type: last.about, [last.of]: last.stream, seq: last.seq } },
  };
}

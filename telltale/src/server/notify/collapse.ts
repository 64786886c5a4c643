import { clip } from './clip.ts';
import type { Outbox } from './outbox.ts';
import { type OutboxRow, outboxId } from './outbox-row.ts';

/** Makes one message of those that are too many. */
export interface Collapse {
  /** Counts one more into the message that goes out at `until`. */
  add(row: OutboxRow, window: { readonly since: number; readonly until: number }): Promise<void>;
}

/** What a message of this kind is about. */
const MORE = 'more';

const MAX_MESSAGE = 500;
/** Those that are written down as counted at a time. */
const MAX_AT_A_TIME = 500;

interface Counted {
  /** Ids of those that are not written down yet. */
  open: string[];
  last: OutboxRow;
  writing?: Promise<void>;
}

/**
 * While one is written more are counted: a flood costs as many writes as the store can make, and no more. The count is the
 * store's, and who is counted in it is known there with the same write: who comes after a restart counts on.
 */
export function createCollapse(outbox: Outbox, onAdded: (row: OutboxRow) => void): Collapse {
  const windows = new Map<string, Counted>();

  const write = async (id: string, counted: Counted, until: number): Promise<void> => {
    while (counted.open.length > 0) {
      const batch = counted.open.slice(0, MAX_AT_A_TIME);
      const before = await outbox.get(id, 'waiting');
      if (before === undefined) {
        const row = { ...counted.last, ...said(counted, 0, batch), ...{ id, about: MORE, nextAt: until } };
        if (await outbox.add(row, 'waiting', batch)) onAdded(row);
        else if ((await outbox.get(id, 'waiting')) === undefined) return late(counted);
        else continue;
      } else {
        if (before.lease !== undefined) return late(counted);
        const row = { ...before, ...said(counted, countOf(before), batch) };
        if (!(await outbox.replace(before, row, batch))) continue;
      }
      counted.open.splice(0, batch.length);
    }
  };

  return {
    async add(row, { since, until }) {
      const id = outboxId(since, MORE, row.agent, row.channel, since);
      let counted = windows.get(id);
      if (counted === undefined) {
        for (const [other, { last }] of windows) if (last.at < since) windows.delete(other);
        counted = { open: [], last: row };
        windows.set(id, counted);
      }
      counted.open.push(row.id);
      counted.last = row;
      const mine = counted;
      mine.writing ??= write(id, mine, until).finally(() => {
        delete mine.writing;
      });
      await mine.writing;
    },
  };
}

/** It goes out this moment, or has: what comes so late is not counted any more. */
function late(counted: Counted): void {
  counted.open = [];
}

const countOf = ({ data }: OutboxRow): number => (typeof data.count === 'number' ? data.count : 0);

function said(
  { last }: Counted,
  before: number,
  batch: readonly string[],
): Pick<OutboxRow, 'message' | 'data'> {
  const count = before + batch.length;
  return {
    message: `…and ${count} more. The last: ${clip(last.message, MAX_MESSAGE)}`,
    data: { count, last: { type: last.about, [last.of]: last.stream, seq: last.seq } },
  };
}

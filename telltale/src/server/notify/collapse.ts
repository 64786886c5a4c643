import { clip } from './clip.ts';
import type { Outbox } from './outbox.ts';
import { type OutboxRow, outboxId } from './outbox-row.ts';

/** Makes one message of those that are too many. */
export interface Collapse {
  /** Counts one more into the message that goes out at `until`. */
  add(row: OutboxRow, window: { readonly since: number; readonly until: number }): Promise<void>;
}

const MAX_MESSAGE = 500;

interface Counted {
  count: number;
  last: OutboxRow;
  writing?: Promise<void>;
}

/** While one is written more are counted: a flood costs as many writes as the store can make, and no more. */
export function createCollapse(outbox: Outbox, onAdded: (row: OutboxRow) => void): Collapse {
  const open = new Map<string, Counted>();

  const write = async (id: string, counted: Counted, until: number): Promise<void> => {
    let written = 0;
    while (written < counted.count) {
      written = counted.count;
      const before = await outbox.get(id, 'waiting');
      const row = collapsed(id, counted, until);
      // It goes out this moment, or has: what comes so late is not counted any more.
      if (before?.lease !== undefined) return;
      if (before === undefined) {
        if (!(await outbox.add(row))) return;
        onAdded(row);
      } else if (!(await outbox.replace(before, { ...before, ...said(counted) }))) written = 0;
    }
  };

  return {
    async add(row, { since, until }) {
      const id = outboxId(since, 'more', row.agent, row.channel, since);
      let counted = open.get(id);
      if (counted === undefined) {
        for (const [other, { last }] of open) if (last.at < since) open.delete(other);
        counted = { count: 0, last: row };
        open.set(id, counted);
      }
      counted.count++;
      counted.last = row;
      const mine = counted;
      mine.writing ??= write(id, mine, until).finally(() => {
        delete mine.writing;
      });
      await mine.writing;
    },
  };
}

const said = ({ count, last }: Counted): Pick<OutboxRow, 'message' | 'data'> => ({
  message: `…and ${count} more. The last: ${clip(last.message, MAX_MESSAGE)}`,
  data: { count, last: { type: last.about, [last.of]: last.stream, seq: last.seq } },
});

const collapsed = (id: string, counted: Counted, until: number): OutboxRow => ({
  ...counted.last,
  ...said(counted),
  ...{ id, about: 'more', nextAt: until },
});

import { clip } from './channels.ts';
import type { Outbox } from './outbox.ts';
import { type OutboxRow, outboxId } from './outbox.ts';

/** Combines excess notifications into one message. */
export interface Collapse {
  /**
   * Counts a notification into the message that is sent at `until`. False if that message is being sent or has been.
   */
  add(row: OutboxRow, window: { readonly since: number; readonly until: number }): Promise<boolean>;
}

/** The type of such a message. */
const MORE = 'more';

const MAX_MESSAGE = 500;
/** The most notifications recorded as counted in one write. */
const MAX_AT_A_TIME = 500;

interface CollapseCounted {
  /** The ids that are not recorded yet. */
  readonly open: Set<string>;
  last: OutboxRow;
  /** Whether the message is being sent or has been, so nothing more can be counted. */
  isOver: boolean;
  /** Whether this process knows that the message is waiting. */
  isHeard: boolean;
  writing?: Promise<void>;
}

/**
 * Creates a `Collapse`. Notifications that arrive during a write are counted in the next one, so a flood costs only as
 * many writes as the store can make. The count and the ids counted in it are stored in the same write, so counting
 * continues after a restart.
 */
export function createCollapse(outbox: Outbox, onAdded: (row: OutboxRow) => void): Collapse {
  const windows = new Map<string, CollapseCounted>();

  /** Makes this process send the message, too, because the process that created it may be gone. */
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

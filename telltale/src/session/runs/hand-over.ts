import type { HeldRun } from './open-run.ts';
import type { BoardEntry, RunBoard } from './run-board.ts';

/** There is no room for it here, and another process may take it once nobody holds it. */
export async function leaveToOthers(board: RunBoard, entry: BoardEntry): Promise<void> {
  const { fresh, run } = entry;
  entry.fresh = undefined;
  if (entry.listeners.size === 0) board.forget(run);
  if (fresh !== undefined) await handOver(fresh);
}

/** One that is let go of while it is to be worked on is found by whoever looks for such. */
export async function handOver({ journal, writer }: HeldRun): Promise<void> {
  try {
    await journal.flushed();
  } finally {
    await writer.release();
  }
}

import { decodeRunEvent } from '../../events/run-codec.ts';
import type { RunEvent } from '../../events/run-event.ts';
import type { Store } from '../../store/store.ts';

/** Events that are read at a time. */
const PAGE = 1_000;

/** Every event of a run from the first on, after its commit; ends once `over` resolves and all has been read. */
export async function* followRun(
  store: Store,
  run: string,
  begun: Promise<unknown>,
  over: Promise<unknown>,
): AsyncGenerator<RunEvent, void> {
  await begun;
  let isOver = false;
  let wake: () => void = () => undefined;
  const end = () => {
    isOver = true;
    wake();
  };
  over.then(end, end);
  let moved = true;
  const forget = store.watch(run, () => {
    moved = true;
    wake();
  });
  try {
    for (let next = 1; ; ) {
      // Looked at before the log is: what is committed meanwhile is read in the next round.
      const last = isOver;
      moved = false;
      const lines = await store.read(run, { from: next, limit: PAGE });
      for (const line of lines) yield decodeRunEvent(line, run);
      next += lines.length;
      if (lines.length === PAGE) continue;
      if (last) return;
      if (!moved && !isOver)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    forget();
  }
}

import { isMadeBefore } from '../http/idempotency.ts';

/** What both a session and a run are, from outside. */
interface Starting<Event, Result> {
  readonly result: Promise<Result>;
  subscribe(listener: (event: Event) => void): () => void;
}

/** Resolves once something of it is on its log behind `after`, or it has come to an end; rejects where it cannot begin. */
export function begun<Event extends object, Result>(
  starting: Starting<Event, Result>,
  after = 0,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (then: () => void) => {
      isOver = true;
      unsubscribe?.();
      then();
    };
    let unsubscribe: (() => void) | undefined;
    unsubscribe = starting.subscribe((event) => {
      if (!isOver && 'seq' in event && typeof event.seq === 'number' && event.seq > after) end(resolve);
    });
    starting.result.then(
      () => end(resolve),
      (thrown) => end(() => reject(thrown)),
    );
  });
}

/** As `begun`. False where it was begun before, under an id that stands for one request. */
export async function begunOnce<Event extends object, Result>(
  starting: Starting<Event, Result>,
  id: string | undefined,
): Promise<boolean> {
  try {
    await begun(starting);
    return true;
  } catch (thrown) {
    if (id === undefined || !isMadeBefore(thrown)) throw thrown;
    return false;
  }
}

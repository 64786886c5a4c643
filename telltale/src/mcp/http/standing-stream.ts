import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import { newPlace, type StreamPlace } from './message-stream.ts';

/** The stream on which a server sends what nobody has asked for, such as that its tools are others now. */
export interface StandingStream {
  /** Opens it, also where it had been given up. Call it whenever the server was heard of. */
  wake(): void;
}

export interface StandingDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Listens until the stream ends. `none`: the server has no such stream. */
  readonly listen: (place: StreamPlace) => Promise<'ended' | 'failed' | 'none'>;
}

const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;
/** Streams in a row that brought nothing; then it is left until the server is heard of again. */
const MAX_IN_VAIN = 5;
/** One that was open for so long was a good one, though nothing came. */
const GOOD_MS = 10_000;

export function createStandingStream({ clock, signal, listen }: StandingDeps): StandingStream {
  let isOpen = false;
  let isOffered = true;
  const place = newPlace();

  const run = async () => {
    for (let inVain = 0; inVain < MAX_IN_VAIN && !signal.aborted; ) {
      const { events } = place;
      const began = clock.monotonic();
      const outcome = await listen(place);
      if (outcome === 'none') {
        isOffered = false;
        return;
      }
      const isGood = place.events > events || clock.monotonic() - began > GOOD_MS;
      inVain = outcome === 'ended' && isGood ? 0 : inVain + 1;
      const backOff = FIRST_WAIT_MS * 2 ** Math.max(0, inVain - 1);
      // Of no clock: the process must not stay for it.
      await wait(Math.min(Math.max(place.retryMs ?? 0, backOff), MAX_WAIT_MS), undefined, {
        ref: false,
        signal,
      });
    }
  };
  return {
    wake() {
      if (isOpen || !isOffered || signal.aborted) return;
      isOpen = true;
      run().then(
        () => {
          isOpen = false;
        },
        () => {
          isOpen = false; // the wait was broken off: the channel has ended
        },
      );
    },
  };
}

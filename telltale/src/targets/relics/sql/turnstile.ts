import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { orStopped } from '../../access/stopped.ts';

/** Lets so many in at once; the others wait in the order in which they came. */
export interface Turnstile {
  /** Resolves with what lets the next one in; to be called once. */
  enter(signal: AbortSignal): Promise<() => void>;
}

const MAX_WAITING = 1_000;

export function createTurnstile(what: string, places: number): Turnstile {
  const waiting: (() => void)[] = [];
  let inside = 0;
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) inside--;
    else next();
  };
  return {
    async enter(signal) {
      if (inside < places) {
        inside++;
        return leave;
      }
      if (waiting.length >= MAX_WAITING) throw tooMany(what);
      let admit = () => {};
      const turn = new Promise<void>((resolve) => {
        admit = resolve;
      });
      waiting.push(admit);
      try {
        await orStopped(turn, what, signal);
      } catch (error) {
        const place = waiting.indexOf(admit);
        if (place === -1)
          leave(); // the turn had come in the same moment
        else waiting.splice(place, 1);
        throw error;
      }
      return leave;
    },
  };
}

const tooMany = (what: string) =>
  new RuntimeError('relic_unavailable', `${MAX_WAITING} calls of ${what} wait already.`, {
    hint: 'Make fewer at once.',
    retryable: true,
  });

import type { RunView } from './run-view.ts';

/** Whoever asks a person something has the terminal to itself, and the others wait for it. */
export interface Asides extends Pick<RunView, 'aside'> {
  /** Whether somebody asks. */
  isAsking(): boolean;
  /** Resolves when nobody asks. */
  idle(): Promise<void>;
}

export function oneAtATime(aside: RunView['aside']): Asides {
  let last: Promise<unknown> = Promise.resolve();
  let asking = 0;
  return {
    aside(ask, kind) {
      asking++;
      const done = last.then(() => aside(ask, kind)).finally(() => asking--);
      last = done.catch(() => undefined);
      return done;
    },
    isAsking: () => asking > 0,
    async idle() {
      while (asking > 0) await last;
    },
  };
}

import type { Io } from '../io.ts';
import { startProgress } from '../progress.ts';
import { STOPPING } from './tell-slow-stop.ts';

/** What a terminal sees of something that prints nothing until it has ended. */
export interface SilentProgress {
  leave(): Promise<void>;
  /** Leaves the terminal to `ask` while it lasts. */
  aside<T>(ask: (draft: string) => Promise<T>): Promise<T>;
}

export function startSilentProgress(io: Io, doing: () => string): SilentProgress {
  const start = () => startProgress(io, () => (io.signal.aborted ? STOPPING : doing()));
  let leave = start();
  return {
    leave: () => leave(),
    async aside(ask) {
      await leave();
      try {
        return await ask('');
      } finally {
        leave = start();
      }
    },
  };
}

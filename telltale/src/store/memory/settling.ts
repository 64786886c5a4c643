import type { RuntimeError } from '../../kernel/runtime-error.ts';

/** Tells callers of appends what became of them: in order, after they have returned, and without a turn of the loop. */
export interface Settling {
  /** `moved` is the stream that has new events. */
  settle(
    call: (error?: RuntimeError) => void,
    error: RuntimeError | undefined,
    moved: string | undefined,
  ): void;
  /** Resolves when all up to now have been told. */
  settled(): Promise<void>;
}

export function createSettling(moved: (stream: string) => void): Settling {
  let calls: (() => void)[] = [];

  const run = () => {
    const due = calls;
    calls = [];
    for (const call of due) {
      try {
        call();
      } catch (error) {
        // A caller's bug is his own, not his neighbours': it surfaces as an uncaught exception.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  };
  const queue = (call: () => void) => {
    if (calls.push(call) === 1) queueMicrotask(run);
  };

  return {
    settle(call, error, stream) {
      queue(() => {
        call(error);
        if (stream !== undefined) moved(stream);
      });
    },
    settled: () => new Promise((resolve) => queue(resolve)),
  };
}

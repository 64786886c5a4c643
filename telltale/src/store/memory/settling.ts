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

interface Settled {
  readonly call: (error?: RuntimeError) => void;
  readonly error: RuntimeError | undefined;
  readonly stream: string | undefined;
}

export function createSettling(moved: (stream: string) => void): Settling {
  let calls: Settled[] = [];

  const run = () => {
    const due = calls;
    calls = [];
    for (const { call, error, stream } of due) {
      try {
        call(error);
        if (stream !== undefined) moved(stream);
      } catch (thrown) {
        // A caller's bug is his own, not his neighbours': it surfaces as an uncaught exception.
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  };
  const settle: Settling['settle'] = (call, error, stream) => {
    if (calls.push({ call, error, stream }) === 1) queueMicrotask(run);
  };

  return {
    settle,
    settled: () => new Promise((resolve) => settle(() => resolve(), undefined, undefined)),
  };
}

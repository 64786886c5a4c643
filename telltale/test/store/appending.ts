import type { RuntimeError } from '../../src/lib/errors.ts';
import type { Append, StreamWriter } from '../../src/store/store.ts';

/** Resolves with what the append was settled with. */
export function outcome(writer: StreamWriter, append: Append): Promise<RuntimeError | undefined> {
  return new Promise((resolve) => writer.append(append, resolve));
}

/** Resolves when the append is committed, rejects if it was refused. `told` is called in the instant of settling. */
export function append(writer: StreamWriter, append: Append, told?: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    writer.append(append, (error) => {
      told?.();
      if (error === undefined) resolve();
      else reject(error);
    });
  });
}

/** Encoded events that differ. */
export const lines = (count: number, from: number): string[] =>
  Array.from({ length: count }, (_, n) => `{"seq":${from + n + 1}}`);

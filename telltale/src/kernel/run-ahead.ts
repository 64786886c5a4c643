/**
 * Executions of one log that may have begun while their start is not committed yet. A batch commits within a few
 * milliseconds, so 32 is more than any run reaches that waits for anything at all; a tool that never yields reaches it at once.
 */
export const MAX_AHEAD = 32;

/**
 * Bounds how far execution runs ahead of the log. Work that may be repeated need not wait for the commit of its start,
 * but a tool that never yields to the event loop would otherwise keep the log from being written at all.
 */
export class RunAhead {
  /** The places on the log of starts that were not committed when they were admitted, oldest first. */
  readonly #starts: number[] = [];

  /** Whether the execution that `seq` starts may begin now. Otherwise it has to wait until `seq` is committed. */
  admits(seq: number, committedSeq: number): boolean {
    const starts = this.#starts;
    while (starts.length > 0 && (starts[0] as number) <= committedSeq) starts.shift();
    if (starts.length >= MAX_AHEAD) return false;
    starts.push(seq);
    return true;
  }
}

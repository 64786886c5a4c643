import type { Io, Output } from '../../src/cli/io.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';

export interface RecordedIo extends Io {
  readonly clock: SimulatedClock;
  readonly out: () => string;
  readonly err: () => string;
  readonly interrupt: () => void;
}

export interface RecordedIoOptions {
  readonly env?: Io['env'];
  /** How the command was typed: `telltale`. */
  readonly program?: string;
  readonly cwd?: string;
  readonly stdin?: string | Uint8Array;
  readonly terminal?: boolean;
  /** Of the terminal: 100. */
  readonly columns?: number;
  /** Of the terminal: 40. */
  readonly rows?: number;
  /** What a person types, line by line; standard input is then a terminal. */
  readonly lines?: readonly string[];
  readonly color?: boolean;
}

/** An Io that keeps what is written, for tests. */
export function recordedIo(options: RecordedIoOptions = {}): RecordedIo {
  const controller = new AbortController();
  const output = (): Output & { readonly text: () => string } => {
    const written: string[] = [];
    return {
      write: async (text) => {
        written.push(text);
      },
      closed: false,
      failure: undefined,
      isTerminal: options.terminal ?? false,
      columns: options.terminal ? (options.columns ?? 100) : undefined,
      rows: options.terminal ? (options.rows ?? 40) : undefined,
      color: options.color ?? false,
      text: () => written.join(''),
    };
  };
  const stdout = output();
  const stderr = output();
  const { stdin = '' } = options;
  const lines = [...(options.lines ?? [])];
  const takers = new Set<() => boolean>();
  return {
    stdout,
    stderr,
    stdin: {
      isTerminal: options.lines !== undefined,
      readLine: async (signal) => (signal.aborted ? undefined : lines.shift()),
      readMessage: async (_prompt, signal) => (signal.aborted ? undefined : lines.shift()),
      async *[Symbol.asyncIterator]() {
        if (stdin.length > 0) yield typeof stdin === 'string' ? new TextEncoder().encode(stdin) : stdin;
      },
    },
    env: options.env ?? {},
    program: options.program ?? 'telltale',
    cwd: options.cwd ?? '/',
    signal: controller.signal,
    takeInterrupts(take) {
      takers.add(take);
      return () => takers.delete(take);
    },
    clock: createSimulatedClock(),
    out: stdout.text,
    err: stderr.text,
    interrupt: () => {
      if (![...takers].some((take) => take())) controller.abort();
    },
  };
}

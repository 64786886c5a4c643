import process from 'node:process';
import { createInterface } from 'node:readline';
import { addAbortSignal } from 'node:stream';
import { createSystemClock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { ProcessGuard } from './guard-process.ts';
import { type Input, type Io, type Output, wantsColor } from './io.ts';

/** The Io of this process. `guard.signal` is aborted when the command must stop. */
export function processIo(
  { cwd, program }: Pick<Io, 'cwd' | 'program'>,
  { signal, takeInterrupts }: Omit<ProcessGuard, 'finished'>,
): Io {
  return {
    stdout: streamOutput(process.stdout, process.env),
    stderr: streamOutput(process.stderr, process.env, { mayFail: true }),
    stdin: standardInput(signal),
    env: process.env,
    program,
    cwd,
    signal,
    takeInterrupts,
    clock: createSystemClock(),
  };
}

type Stream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/**
 * Errors of the stream reach the writer, except when the reader has gone, which is not our failure. With `mayFail`,
 * errors are not reported: a progress line that cannot be written must not stop the work.
 */
export function streamOutput(
  stream: Stream,
  env: Io['env'],
  { mayFail = false }: { readonly mayFail?: boolean } = {},
): Output {
  let closed = false;
  let failure: RuntimeError | undefined;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (isGone(error)) closed = true;
  });
  const isTerminal = stream.isTTY === true;
  return {
    write(text) {
      if (closed || text === '') return Promise.resolve();
      // Earlier text is missing, so later text would only hide that.
      if (failure !== undefined && !mayFail) return Promise.reject(failure);
      return new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          if (error === null || error === undefined) resolve();
          else if (isGone(error)) {
            closed = true;
            resolve();
          } else {
            failure = cannotPrint(error);
            if (mayFail) resolve();
            else reject(failure);
          }
        });
      });
    },
    get closed() {
      return closed;
    },
    get failure() {
      return failure;
    },
    isTerminal,
    get columns() {
      // A terminal that does not know its size reports 0.
      return stream.columns || undefined;
    },
    get rows() {
      return stream.rows || undefined;
    },
    color: wantsColor(env, isTerminal),
  };
}

const cannotPrint = (cause: NodeJS.ErrnoException) =>
  new RuntimeError('cannot_write', `The output cannot be written (${cause.code ?? cause.message}).`, {
    hint:
      cause.code === 'ENOSPC'
        ? 'The disk is full: free some space, or send the output elsewhere.'
        : 'Check where the output goes.',
    cause,
  });

const GONE: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ECONNRESET']);
const isGone = (error: NodeJS.ErrnoException) => GONE.has(error.code);

/** Opens stdin only when it is read, because an open stdin keeps a process alive. Ctrl-C ends a pending read. */
function standardInput(signal: AbortSignal): Input {
  const history: string[] = [];
  return {
    get isTerminal() {
      return process.stdin.isTTY === true;
    },
    async *[Symbol.asyncIterator]() {
      for await (const chunk of addAbortSignal(signal, process.stdin))
        yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    },
    async readLine(until, ignoreMs = 0) {
      return readLine(process.stdin, AbortSignal.any([signal, until]), ignoreMs);
    },
    async readMessage(prompt, until, draft = '') {
      const { readMessage } = await import('./chat/read-message.ts');
      return readMessage({
        input: process.stdin,
        output: process.stderr,
        prompt,
        draft,
        history,
        signal: AbortSignal.any([signal, until]),
        // In raw mode a terminal sends no signal itself.
        onInterrupt: () => void process.emit('SIGINT'),
      });
    },
    async readTyping(until, typing) {
      const { readTyping } = await import('./chat/read-typing.ts');
      const onInterrupt = () => void process.emit('SIGINT');
      const options = {
        input: process.stdin,
        history,
        signal: AbortSignal.any([signal, until]),
        onInterrupt,
      };
      return readTyping(options, typing);
    },
  };
}

/**
 * Reads without raw mode, so Ctrl-C remains a signal. Afterwards it releases the input, so that the process can end.
 */
export function readLine(
  input: NodeJS.ReadableStream,
  signal: AbortSignal,
  ignoreMs: number,
): Promise<string | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const asked = performance.now();
    const lines = createInterface({ input, terminal: false });
    const stop = () => lines.close();
    let line: string | undefined;
    lines.on('line', (text) => {
      if (line !== undefined || performance.now() - asked < ignoreMs) return;
      line = text;
      lines.close();
    });
    lines.once('close', () => {
      signal.removeEventListener('abort', stop);
      input.pause();
      resolve(line);
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}

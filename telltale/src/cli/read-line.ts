import { createInterface } from 'node:readline';

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

import type { Io } from './io.ts';

const QUIET_MS = 1000;
/** Between two lines in a pipe. */
const LINE_MS = 5_000;
const FRAME_MS = 100;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const CLEAR_LINE = '\r\u001b[K';

/**
 * Shows a line on the terminal while something takes longer than a second. Shows nothing in a pipe, and nothing while
 * `text` returns nothing. The returned function removes the line.
 */
export function startProgress(
  { stderr, clock }: Pick<Io, 'stderr' | 'clock'>,
  text: () => string | undefined,
): () => Promise<void> {
  if (!stderr.isTerminal) return async () => {};
  let frame = 0;
  let drawn = Promise.resolve();
  const draw = () => {
    const said = text();
    if (said !== undefined) {
      const line = `${FRAMES[frame++ % FRAMES.length]} ${said}`;
      drawn = drawn.then(() => stderr.write(CLEAR_LINE + line.slice(0, (stderr.columns ?? 80) - 1)));
    }
    cancel = clock.after(FRAME_MS, draw);
  };
  let cancel = clock.after(QUIET_MS, draw);
  return async () => {
    cancel();
    await drawn;
    if (frame > 0) await stderr.write(CLEAR_LINE);
  };
}

/** In a pipe, writes a line every few seconds for whoever reads the log. On a terminal it writes nothing. */
export function startProgressLines(
  { stderr, clock }: Pick<Io, 'stderr' | 'clock'>,
  text: () => string,
): () => void {
  if (stderr.isTerminal) return () => {};
  const say = () => {
    void stderr.write(`${text()}\n`);
    cancel = clock.after(LINE_MS, say);
  };
  let cancel = clock.after(LINE_MS, say);
  return () => cancel();
}

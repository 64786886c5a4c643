const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
/** Without a terminal a line at least this often, so that nobody has to wonder whether it still runs. */
const STILL_RUNNING_MS = 4_000;

/**
 * @typedef {object} Progress
 * @property {(text: string) => void} start  Something that may take a while has begun.
 * @property {(line?: string) => void} end   It is over; `line` is what stays on the screen.
 */

/**
 * Progress of one thing at a time: a spinner on a terminal, now and then a line elsewhere.
 * @param {{ write(text: string): unknown, readonly isTTY?: boolean, readonly columns?: number }} stream
 * @returns {Progress}
 */
export function createProgress(stream) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const clear = stream.isTTY ? '\r\x1b[2K' : '';

  return {
    start(text) {
      clearInterval(timer);
      const started = Date.now();
      const seconds = () => Math.round((Date.now() - started) / 1000);
      if (!stream.isTTY) {
        timer = setInterval(() => stream.write(`… ${text} (${seconds()} s)\n`), STILL_RUNNING_MS);
        return;
      }
      let frame = 0;
      const draw = () => {
        const line = `${FRAMES[frame++ % FRAMES.length]} ${text} ${seconds()} s`;
        stream.write(clear + line.slice(0, (stream.columns ?? 80) - 1));
      };
      draw();
      timer = setInterval(draw, FRAME_MS);
    },
    end(line) {
      clearInterval(timer);
      stream.write(line === undefined ? clear : `${clear}${line}\n`);
    },
  };
}

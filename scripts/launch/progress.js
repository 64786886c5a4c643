const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
/** What is over before does not flicker. */
const UNSEEN_MS = 250;
/** Without a terminal a line at least this often, so that nobody has to wonder whether it still runs. */
const STILL_RUNNING_MS = 4_000;
const CLEAR = '\r\x1b[2K';

/**
 * @typedef {object} Progress
 * @property {(text: string) => void} start  Something that may take a while has begun.
 * @property {(line?: string) => void} end   It is over, if it had begun; `line` is what stays on the screen.
 */

/**
 * Progress of one thing at a time: a spinner on a terminal, now and then a line elsewhere.
 * @param {{ write(text: string): unknown, readonly isTTY?: boolean, readonly columns?: number }} stream
 * @returns {Progress}
 */
export function createProgress(stream) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let isDrawn = false;

  /** @param {string} text */
  const spin = (text) => {
    const started = Date.now();
    let frame = 0;
    return setInterval(() => {
      const tookMs = Date.now() - started;
      if (tookMs < UNSEEN_MS) return;
      const line = `${FRAMES[frame++ % FRAMES.length]} ${text} ${Math.round(tookMs / 1000)} s`;
      stream.write(CLEAR + line.slice(0, (stream.columns || 80) - 1));
      isDrawn = true;
    }, FRAME_MS);
  };

  /** @param {string} text */
  const repeat = (text) => {
    const started = Date.now();
    const say = () => stream.write(`… ${text} (${Math.round((Date.now() - started) / 1000)} s)\n`);
    return setInterval(say, STILL_RUNNING_MS);
  };

  return {
    start(text) {
      clearInterval(timer);
      timer = stream.isTTY ? spin(text) : repeat(text);
    },
    end(line) {
      clearInterval(timer);
      if (isDrawn) stream.write(CLEAR);
      isDrawn = false;
      if (line !== undefined) stream.write(`${line}\n`);
    },
  };
}

/** How a line of a stack trace ends. Node's own files (`node:fs:1:2`) are nobody's mistake, and are passed over. */
const FRAME = /(?:file:\/\/|\(|at )((?:\/|[A-Za-z]:[\\/])[^\n()]*?:\d+:\d+)\)?$/m;
/** The frames stand at the end, behind a message of any length. */
const MAX_READ = 8_192;

/** Where somebody's code threw, as far as its stack trace knows: `/bot/search.js:3:7`. */
export function thrownPlace(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error ? FRAME.exec(String(thrown.stack).slice(-MAX_READ))?.[1] : undefined;
  } catch {
    return undefined; // an error that throws when it is looked at
  }
}

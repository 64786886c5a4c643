/** Set-up could not go on: what happened, what was printed meanwhile, and the command that mends it. */
export class SetupFailure extends Error {
  /** @param {{ readonly what: string, readonly mend: string, readonly output?: string, readonly cause?: unknown }} facts */
  constructor({ what, mend, output = '', cause }) {
    super(what, { cause });
    this.mend = mend;
    this.output = output;
  }

  /** The text for a person, the whole output first. */
  describe() {
    const output = this.output.trimEnd();
    return `${output === '' ? '' : `${output}\n\n`}✗ ${this.message}\n  ${this.mend.replaceAll('\n', '\n  ')}\n`;
  }
}

/**
 * An error of the file system in words; anything else is a bug and is thrown on.
 * @param {unknown} error
 * @returns {SetupFailure}
 */
export function diskFailure(error) {
  const { code, path } = /** @type {NodeJS.ErrnoException} */ (error);
  const file = path === undefined ? 'the repository' : path;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new SetupFailure({
      what: `The disk is full: ${file} cannot be written.`,
      mend: 'Free about 1 GB (df -h shows where), then run the command again.',
      cause: error,
    });
  }
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
    return new SetupFailure({
      what: `${file} cannot be written: ${code === 'EROFS' ? 'the file system is read-only' : 'permission denied'}.`,
      mend: 'Run it from a clone of your own in a folder you may write to.',
      cause: error,
    });
  }
  throw error;
}

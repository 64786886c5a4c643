import { BROWSERS } from './browsers.ts';
import { findProgram } from './find-program.ts';
import { needsProgram } from './needs-program.ts';

/** Where Chrome or Chromium is; undefined where there is none. */
export const browserPath: string | undefined = BROWSERS.map((name) => findProgram(name)).find(
  (path) => path !== undefined,
);

export const needsBrowser = (): void =>
  needsProgram(browserPath !== undefined, {
    what: 'Chromium is not installed',
    mend: 'apt-get install chromium (or install Chrome)',
  });

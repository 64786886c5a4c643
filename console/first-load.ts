import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** What a first visit may fetch of JavaScript, packed. */
const BUDGET_KB = 250;

/** Prints what the first page fetches of JavaScript before it shows anything; more than the budget fails the build. */
export const firstLoad = (): Plugin => ({
  name: 'first-load',
  generateBundle(_options, bundle) {
    const wanted = Object.values(bundle).flatMap((part) =>
      part.type === 'chunk' && part.isEntry ? [part.fileName] : [],
    );
    let bytes = 0;
    for (const name of new Set(wanted)) bytes += packed(name);
    const seen = new Set(wanted);
    for (const name of seen) {
      const part = bundle[name];
      for (const next of part?.type === 'chunk' ? part.imports : [])
        if (!seen.has(next)) {
          seen.add(next);
          bytes += packed(next);
        }
    }
    const kb = bytes / 1000;
    if (kb > BUDGET_KB)
      this.error(`The first load is ${kb.toFixed(1)} kB of JavaScript, ${BUDGET_KB} are allowed.`);
    this.info(`first load: ${kb.toFixed(1)} kB of JavaScript, packed, of ${BUDGET_KB} kB`);

    function packed(name: string): number {
      const part = bundle[name];
      return part?.type === 'chunk' ? gzipSync(part.code).length : 0;
    }
  },
});

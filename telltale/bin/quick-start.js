// Plain JavaScript that Node 18 can run.
import { statSync } from 'node:fs';
import module from 'node:module';

/** Dependencies of many small modules, all of one format, that import one another by their files' names. */
const PLAIN = new Set(['zod', 'yaml', '@marcbachmann/cel-js']);

/**
 * Makes loading the package quicker, where this Node can, and returns the folder to start from.
 *
 * - Compiled code is kept between runs in Node's own place for it; where that cannot be written, nothing is kept.
 * - `bundle/` holds the modules of `dist/` in a few files. What imports the package by its name gets it from where the
 *   process was started, so that no module is loaded twice.
 * - Files that are imported by their names, in the package itself and in some of its dependencies, are not looked for.
 *
 * docs/decisions/bundle.md has what they save.
 * @param {URL} home the package's folder
 */
export function quickStart(home) {
  module.enableCompileCache?.();
  const dist = new URL('dist/', home);
  const bundle = new URL('bundle/', home);
  const folder = isFresh(bundle, dist) ? bundle : dist;
  if (module.registerHooks === undefined) return folder;
  const inside = folder.href;
  /** @type {Map<string, string | null | undefined>} Folders, and the format of what is in them. */
  const plain = new Map([[inside, 'module']]);
  module.registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context;
      if (specifier.startsWith('.')) {
        if (specifier.endsWith('.js'))
          for (const [within, format] of plain)
            if (parentURL.startsWith(within))
              return { url: new URL(specifier, parentURL).href, format, shortCircuit: true };
        return next(specifier, context);
      }
      // What was compiled, where the bundle is older or not there: without its condition the package exports that.
      if (isOwnName(specifier) && folder === dist)
        return next(specifier, {
          ...context,
          conditions: context.conditions.filter((name) => name !== 'node'),
        });
      const found = next(specifier, context);
      // Only those that this package itself gets: another copy may be of another version.
      if (PLAIN.has(specifier) && parentURL.startsWith(inside)) {
        const end = found.url.lastIndexOf(`/node_modules/${specifier}/`);
        if (end >= 0) plain.set(found.url.slice(0, end + `/node_modules/${specifier}/`.length), found.format);
      }
      return found;
    },
  });
  return folder;
}

/** @param {string} specifier */
const isOwnName = (specifier) => specifier === 'telltale' || specifier.startsWith('telltale/');

/**
 * Where the compiler has been since (`tsc -b`, while the package is worked on), the bundle is of other sources. What is
 * published does not have the compiler's notes.
 * @param {URL} bundle
 * @param {URL} dist
 */
function isFresh(bundle, dist) {
  const made = changedAt(new URL('cli/start.js', bundle));
  return made !== undefined && made >= (changedAt(new URL('.tsbuildinfo', dist)) ?? 0);
}

/** @param {URL} file */
const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs;

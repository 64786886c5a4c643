// Plain JavaScript that Node 18 can run.
import module from 'node:module';

/**
 * Packages of many modules that name each other exactly, ending included. Each file of theirs would
 * otherwise take a `stat`, a `realpath` and a walk for a package.json: half of the time that loading them takes (zod
 * 80 ms, 34 without; measured).
 */
const EXACT = /\/node_modules\/(?:zod|commander|@marcbachmann\/cel-js)\//;

/**
 * Makes loading several hundred modules quicker, where this Node can. Compiled code is kept between runs in Node's own
 * place for it; where that cannot be written, nothing is kept.
 * @param {URL} folder what the package's own modules are in: they name each other exactly, too
 */
export function quickStart(folder) {
  module.enableCompileCache?.();
  const inside = folder.href;
  module.registerHooks?.({
    resolve(specifier, context, next) {
      if (!isNamedExactly(specifier, context, inside)) return next(specifier, context);
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
    },
  });
}

/**
 * Whether a relative import names a file as it is, and that file is a module.
 * @param {string} specifier
 * @param {{ readonly parentURL: string | undefined, readonly conditions: readonly string[] }} context
 * @param {string} inside
 */
function isNamedExactly(specifier, { parentURL, conditions }, inside) {
  if (!specifier.startsWith('.') || !specifier.endsWith('.js') || parentURL === undefined) return false;
  const isExact = parentURL.startsWith(inside) || (parentURL.endsWith('.js') && EXACT.test(parentURL));
  return isExact && conditions.includes('import');
}

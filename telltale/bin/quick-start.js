// Plain JavaScript that Node 18 can run.
import module from 'node:module';

/**
 * Makes loading the package's several hundred modules quicker, where this Node can. Compiled code is kept between runs
 * in Node's own place for it; where that cannot be written, nothing is kept. The package's own imports are file names
 * as they are, so no file is looked for. Of the CPU time of a one-turn run the first saves a tenth and the second a
 * seventh (22 rounds in turns, medians, on a busy machine).
 * @param {URL} folder what the package's compiled modules are in
 */
export function quickStart(folder) {
  module.enableCompileCache?.();
  const inside = folder.href;
  module.registerHooks?.({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      if (specifier.startsWith('.') && specifier.endsWith('.js') && parentURL?.startsWith(inside))
        return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
      return next(specifier, context);
    },
  });
}

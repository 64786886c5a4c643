// node --experimental-vm-modules browser-environment.mjs ENTRY SCRIPT
// Evaluates ENTRY in an environment that has what browsers have and nothing of Node, then SCRIPT (a module that imports
// `entry`), and prints as JSON the modules that were loaded and what SCRIPT exports as `result`.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import vm from 'node:vm';

const MAX_MODULES = 10_000;
const [entryPath = '', script = ''] = process.argv.slice(2);
const entryUrl = pathToFileURL(entryPath).href;

const environment = vm.createContext({
  AbortController,
  AbortSignal,
  TextDecoder,
  TextEncoder,
  URL,
  clearTimeout,
  crypto,
  performance,
  queueMicrotask,
  setTimeout,
  structuredClone,
});

/** @type {Map<string, import('node:vm').Module>} */
const modules = new Map();

/**
 * @param {string} url
 * @param {string} source
 */
function load(url, source) {
  const loaded = new vm.SourceTextModule(source, {
    identifier: url,
    context: environment,
    importModuleDynamically: async (specifier, from) => {
      const module = resolve(specifier, /** @type {import('node:vm').Module} */ (from));
      if (module.status === 'unlinked') await module.link(resolve);
      if (module.status === 'linked') await module.evaluate();
      return module;
    },
  });
  modules.set(url, loaded);
  if (modules.size > MAX_MODULES) throw new Error(`More than ${MAX_MODULES} modules are imported.`);
  return loaded;
}

/**
 * @param {string} specifier
 * @param {import('node:vm').Module} from
 */
function resolve(specifier, from) {
  if (specifier === 'entry') return modules.get(entryUrl) ?? load(entryUrl, readFileSync(entryPath, 'utf8'));
  if (!/^\.{0,2}\//.test(specifier)) {
    throw new Error(`${from.identifier} imports "${specifier}": a browser has no such module.`);
  }
  const url = new URL(specifier, from.identifier);
  return modules.get(url.href) ?? load(url.href, readFileSync(url, 'utf8'));
}

const probe = load('probe:', script);
await probe.link(resolve);
await probe.evaluate();
const loaded = [...modules.keys()].filter((url) => url.startsWith('file:'));
process.stdout.write(
  JSON.stringify({
    modules: loaded.map((url) => relative(process.cwd(), fileURLToPath(url))),
    result: /** @type {{ result: unknown }} */ (probe.namespace).result,
  }),
);

// Makes `telltale/bundle` of `telltale/dist`: see docs/decisions/bundle.md. `scripts/launch/build.js` runs it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { placedUrls } from './placed-urls.ts';
import { layerNames } from './start-layers.ts';

const telltale = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'telltale');
const compiled = join(telltale, 'dist');

/** What the package exports: a tool's module may import it in a process that was started from the bundle. */
function exportedModules(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(telltale, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  return Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target.default.replace(/^\.\/dist\/(.+)\.js$/, '$1')],
  );
}

/** What threads and processes are started from: files that are named, not imported. */
function startedModules(): readonly string[] {
  const files = readdirSync(compiled, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const named = readFileSync(join(compiled, file), 'utf8').matchAll(/builtFile\(new URL\('(.+)\.ts'/g);
      return [...named].map(([, path = '']) => join(dirname(file), path));
    });
}

const started = startedModules();
const entries = ['cli/start', ...exportedModules(), ...started];

await build({
  configFile: false,
  root: telltale,
  logLevel: 'warn',
  plugins: [placedUrls(compiled)],
  build: {
    ssr: true,
    target: 'esnext', // as it was compiled
    outDir: 'bundle',
    emptyOutDir: true,
    copyPublicDir: false,
    rolldownOptions: {
      input: Object.fromEntries(entries.map((entry) => [entry, join(compiled, `${entry}.js`)])),
      external: (id) => !id.startsWith('.') && relative(compiled, id).startsWith('..'),
      checks: { ineffectiveDynamicImport: false },
      platform: 'neutral', // else every file gets a require of Node's, of which none has use
      treeshake: false,
      output: {
        minify: false,
        entryFileNames: '[name].js',
        chunkFileNames: 'chunks/[name]-[hash].js',
        comments: { annotation: false, jsdoc: false, legal: false },
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [{ name: layerNames(compiled, started), debugName: 'layers' }],
        },
      },
    },
  },
});

import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runCaptured } from './run-captured.js';
import { SetupFailure } from './setup-failure.js';

/**
 * Builds what is older than its sources, and deletes what was built from sources that are gone. Resolves to whether
 * there was anything to build.
 * @param {string} root
 * @param {string} node
 */
export async function build(root, node) {
  /** @type {readonly ((root: string, node: string) => Promise<{ code: number | null, output: string, isNew?: boolean }>)[]} */
  const steps = [compileChanged, bundlePackage, bundleConsole];
  let isBuilt = false;
  for (const step of steps) {
    const { code, output, isNew } = await step(root, node);
    if (code !== 0) throw buildFailed(output);
    isBuilt ||= isNew !== false;
  }
  return isBuilt;
}

/** There was nothing to do. */
const UNCHANGED = { code: 0, output: '', isNew: false };

/** What the package is compiled from. */
const PACKAGE_SOURCES = ['telltale/src', 'telltale/tsconfig.json', 'tsconfig.base.json', 'package-lock.json'];

/**
 * Compiles the package where its sources are newer than the compiler's notes. The compiler would find out by itself, but
 * it takes most of a second for that.
 * @param {string} root
 * @param {string} node
 */
async function compileChanged(root, node) {
  const notes = join(root, 'telltale', 'dist', '.tsbuildinfo');
  const built = changedAt(notes);
  if (PACKAGE_SOURCES.every((source) => changedAt(join(root, source)) <= built)) return UNCHANGED;
  const compiled = await compile(root, node, ['telltale']);
  // Sources that were only touched leave the notes as they are.
  if (compiled.code === 0) utimesSync(notes, new Date(), new Date());
  return compiled;
}

/**
 * Compiles the package, and bundles it.
 * @param {string} root
 * @param {string} node
 */
export async function compilePackage(root, node) {
  const compiled = await compile(root, node, ['telltale']);
  return compiled.code === 0 ? bundlePackage(root, node) : compiled;
}

/**
 * Copies the pages of the docs into `telltale/docs`, where projects and their coding assistants find them.
 * @param {string} root
 */
function copyDocs(root) {
  const [from, to] = [join(root, 'docs'), join(root, 'telltale', 'docs')];
  if (changedAt(from) <= changedAt(to)) return;
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  for (const name of readdirSync(from))
    if (name.endsWith('.md')) copyFileSync(join(from, name), join(to, name));
}

/**
 * Copies the docs, and bundles what was compiled into `telltale/bundle`, each where it is newer than what is there.
 * @param {string} root
 * @param {string} node
 */
export async function bundlePackage(root, node) {
  copyDocs(root);
  const built = changedAt(join(root, 'telltale', 'bundle', 'cli', 'start.js'));
  const sources = [join('telltale', 'dist', '.tsbuildinfo'), join('scripts', 'bundle'), 'package-lock.json'];
  if (sources.every((source) => changedAt(join(root, source)) <= built)) return UNCHANGED;
  return runCaptured(node, [join(root, 'scripts', 'bundle', 'bundle-package.ts')], { cwd: root });
}

/** What the console is made of. */
const CONSOLE_SOURCES = [
  'console',
  'telltale/src/client',
  'telltale/src/log',
  'telltale/src/lib',
  'package-lock.json',
];

/**
 * Bundles the console into `telltale/web` where its sources are newer than what is there.
 * @param {string} root
 * @param {string} node
 */
export async function bundleConsole(root, node) {
  const built = changedAt(join(root, 'telltale', 'web', 'index.html'));
  if (CONSOLE_SOURCES.every((source) => changedAt(join(root, source)) <= built)) return UNCHANGED;
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  return runCaptured(node, [vite, 'build', 'console', '--logLevel', 'warn'], { cwd: root });
}

/**
 * When a file was last changed, or the newest of a folder and all in it; 0 where there is none.
 * @param {string} path
 * @returns {number}
 */
function changedAt(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  const inside = readdirSync(path).filter((name) => name !== 'node_modules');
  return Math.max(found.mtimeMs, ...inside.map((name) => changedAt(join(path, name))));
}

/**
 * `tsc -b`; with no projects named, everything: tests, scripts and benches too.
 * @param {string} root
 * @param {string} node
 * @param {readonly string[]} projects
 */
export async function compile(root, node, projects) {
  const tsc = join(root, 'node_modules', '@typescript', 'native', 'bin', 'tsc');
  const captured = await runCaptured(node, [tsc, '-b', ...projects], { cwd: root });
  removeOrphans(join(root, 'telltale', 'src'), join(root, 'telltale', 'dist'));
  return captured;
}

/**
 * @param {string} source
 * @param {string} built
 */
function removeOrphans(source, built) {
  if (!existsSync(built)) return;
  for (const name of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
    const file = join(built, name);
    const origin = join(source, originOf(relative(built, file)));
    if (/\.(d\.ts|js)$/.test(name) && statSync(file).isFile() && !existsSync(origin)) rmSync(file);
  }
}

/** @param {string} built */
const originOf = (built) => built.replace(/\.(d\.ts|js)$/, '.ts');

/** @param {string} output */
const buildFailed = (output) =>
  new SetupFailure({
    what: 'The sources do not compile.',
    mend: 'Fix what is listed above, then run the command again.',
    output,
  });

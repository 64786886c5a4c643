import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runCaptured } from './run-captured.js';
import { SetupFailure } from './setup-failure.js';

/**
 * Builds the package where sources have changed, and takes away what was built from sources that are gone.
 * @param {string} root
 * @param {string} node
 */
export async function build(root, node) {
  const { code, output } = await compile(root, node, ['telltale']);
  if (code !== 0) throw buildFailed(output);
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
    mend: 'Mend what is listed above, then run the command again.',
    output,
  });

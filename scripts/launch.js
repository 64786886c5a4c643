// What every npm script of the repository (`npm start`, `npm test` …) runs first: plain JavaScript that Node 18 can
// run. It installs and builds where needed, then starts the program on the Node 24 that the repository brings along.
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNewerNode, isAtLeast, MINIMUM_NODE } from '../telltale/bin/node-version.js';
import { passThrough } from '../telltale/bin/pass-through.js';
import { build } from './launch/build.js';
import { install, whyInstall } from './launch/install.js';
import { endWithParent } from './launch/parent-watch.js';
import { createProgress } from './launch/progress.js';
import { diskFailure, SetupFailure } from './launch/setup-failure.js';
import { withSetupLock } from './launch/setup-lock.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const progress = createProgress(process.stderr);
const [command = '', ...args] = process.argv.slice(2);

/**
 * What each command starts once all is set up, as arguments of Node; `build` starts nothing. `extent` is what it needs
 * installed. The check builds as one of its own stages, so that sources that do not compile are one failure in its
 * list and not the end of it.
 * @type {ReadonlyMap<string, { extent: import('./launch/install.js').Extent, builds: boolean, program: string[] }>}
 */
const COMMANDS = new Map([
  [
    'start',
    {
      extent: 'run',
      builds: true,
      program: ['telltale/bin/telltale.js', ...(args.length === 0 ? ['demo'] : args)],
    },
  ],
  ['test', { extent: 'develop', builds: false, program: ['scripts/check.ts', ...args] }],
  ['bench', { extent: 'develop', builds: true, program: ['scripts/bench.ts', ...args] }],
  ['lab', { extent: 'develop', builds: false, program: ['scripts/lab.ts', ...args] }],
  [
    'fix',
    {
      extent: 'develop',
      builds: false,
      program: ['node_modules/@biomejs/biome/bin/biome', 'check', '--write', '.'],
    },
  ],
  ['build', { extent: 'run', builds: true, program: [] }],
]);

/** @param {{ extent: import('./launch/install.js').Extent, builds: boolean }} command */
async function setUp({ extent, builds }) {
  const waiting = () => progress.start('waiting for another launch to set up this clone');
  return withSetupLock(join(root, '.cache', 'setup.lock'), waiting, async (nameWorker) => {
    progress.end();
    const reason = whyInstall(root, extent);
    if (reason !== undefined) {
      await step(`installing packages: ${reason}`, 'packages installed', () =>
        install(root, extent, nameWorker),
      );
    }
    const node = findNode();
    if (builds) await step('building', 'built', () => build(root, node), 1_000);
    return node;
  });
}

/**
 * @param {string} what
 * @param {string} done What is said once it is over.
 * @param {() => Promise<unknown>} work Resolves to false where there was nothing to do.
 * @param {number} [quietMs] A step that took less is not worth a line.
 */
async function step(what, done, work, quietMs = 0) {
  const started = Date.now();
  progress.start(what);
  if (!process.stderr.isTTY && quietMs === 0) process.stderr.write(`… ${what}\n`);
  /** @type {unknown} */
  let did;
  try {
    did = await work();
  } catch (error) {
    progress.end();
    throw error;
  }
  const tookMs = Date.now() - started;
  progress.end(did === false || tookMs < quietMs ? undefined : `✓ ${done}, ${(tookMs / 1000).toFixed(1)} s`);
}

/** The repository's own Node; where it brings none (macOS, Windows, Alpine), the running one if it is new enough. */
function findNode() {
  const bundled = findNewerNode(root);
  if (bundled !== undefined) return bundled;
  if (isAtLeast(process.versions.node, MINIMUM_NODE)) return process.execPath;
  throw new SetupFailure({
    what: `Node ${MINIMUM_NODE} or later is needed; this is ${process.versions.node}, and none comes with the packages for ${process.platform}-${process.arch}.`,
    mend: 'Install Node 24 from https://nodejs.org (or: nvm install 24), then run the command again.',
  });
}

/**
 * Node runs TypeScript by itself from 22.18 on; before that it has to be told.
 * @param {string} node
 */
function flagsFor(node) {
  const isTold = node !== process.execPath || Reflect.get(process.features, 'typescript') !== false;
  return isTold ? [] : ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
}

/**
 * How `npm start -- ARGS` was typed, for the hints of the command line. npm finds this clone from a folder in it only.
 * @param {string} [folder] The one it was typed in.
 */
function typed(folder = root) {
  return relative(root, folder).startsWith('..') ? `npm --prefix ${root} start --` : 'npm start --';
}

async function launch() {
  const chosen = COMMANDS.get(command);
  if (chosen === undefined) {
    process.stderr.write(
      `✗ There is no command "${command}".\n  Commands: ${[...COMMANDS.keys()].join(', ')}.\n`,
    );
    return 2;
  }
  try {
    const node = await setUp(chosen);
    const [script, ...rest] = chosen.program;
    if (script === undefined) return 0;
    // npm changes into the root first; the paths in a command line belong to the folder it was typed in.
    const cwd = command === 'start' && args.length > 0 ? process.env.INIT_CWD : undefined;
    return await passThrough(node, [...flagsFor(node), join(root, script), ...rest], {
      cwd: cwd ?? process.cwd(),
      env: command === 'start' ? { ...process.env, TELLTALE_PROGRAM: typed(cwd) } : process.env,
    });
  } catch (error) {
    progress.end();
    const failure = error instanceof SetupFailure ? error : diskFailure(error);
    process.stderr.write(failure.describe());
    if (command === 'test') process.stdout.write('0 passed, 1 failed\n');
    return 1;
  }
}

process.on('exit', () => progress.end());
endWithParent();
process.exitCode = await launch();

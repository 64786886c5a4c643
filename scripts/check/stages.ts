import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { bundleConsole, bundlePackage, compile } from '../launch/build.js';
import { runCaptured } from '../launch/run-captured.js';
import { findExamples, unpairedExamples } from './examples.ts';
import { checkHouse } from './house.ts';
import { oneCheck, type StageResult, together } from './stage-result.ts';
import { vitestArguments } from './vitest-arguments.ts';
import { readVitestReport, type VitestJson } from './vitest-report.ts';

export interface CheckContext {
  readonly root: string;
  /** The temporary folder of every stage; deleted at the end, however the check ends. */
  readonly scratch: string;
  readonly update: boolean;
  /** Of random tests. */
  readonly seed: number;
  readonly filters: readonly string[];
}

/** Linux keeps files in here in memory. */
const MEMORY_FOLDER = '/dev/shm';
const SCRATCH_BYTES = 4 * 2 ** 30;

/** A temporary folder that is deleted when this process ends. */
export function createScratch(): string {
  const scratch = realpathSync(mkdtempSync(join(scratchParent(), 'telltale-check-')));
  chmodSync(scratch, 0o711); // PostgreSQL does not run as root: as another user it has to get to its data
  process.on('exit', () => rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return scratch;
}

/**
 * Stores sync every commit, and tests commit many thousand times: in memory that costs nothing, on a disk it is a large part of
 * the time. `TMPDIR` decides where it is set.
 */
function scratchParent(): string {
  if (process.platform !== 'linux' || process.env.TMPDIR !== undefined) return tmpdir();
  return isRoomy(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir();
}

/** Whether a folder in memory has the space that tests need, and programs may run from it. */
function isRoomy(folder: string): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, path]) => path === folder);
    const isMemory = mount?.[2] === 'tmpfs' && !mount[3]?.split(',').includes('noexec');
    const { bavail, bsize } = statfsSync(folder);
    return isMemory && bavail * bsize >= SCRATCH_BYTES;
  } catch {
    // There is no such folder, or it can't be read: the usual one will do.
    return false;
  }
}

export interface Stage {
  readonly name: string;
  readonly what: string;
  /** Whether it reads `telltale/dist`, or runs tests that may. */
  readonly needsBuild: boolean;
  readonly takesFilters: boolean;
  /** Whether it has tests that want a server to be installed. */
  readonly needsServers?: boolean;
  run(context: CheckContext): Promise<StageResult>;
}

const tool = { needsBuild: false, takesFilters: false };
const tests = { needsBuild: true, takesFilters: true };

export const STAGES: readonly Stage[] = [
  {
    ...tool,
    name: 'format',
    what: 'formatting and lint (biome)',
    run: async (context) =>
      oneCheck(
        'biome; "npm run fix" mends most of it',
        await runTool(context, '@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'),
      ),
  },
  {
    ...tool,
    name: 'unused',
    what: 'unused files, exports and dependencies (knip)',
    run: async (context) =>
      oneCheck(
        'knip',
        await runTool(context, 'knip/bin/knip.js', '--no-progress', '--treat-config-hints-as-errors'),
      ),
  },
  {
    ...tool,
    name: 'house',
    what: 'the codebase in figures, against its ratchet',
    run: ({ root, update }) => checkHouse(root, update),
  },
  {
    ...tool,
    name: 'types',
    what: 'types of everything, and the build (tsc)',
    run: async ({ root }) => {
      const compiled = await compile(root, process.execPath, []);
      return together([
        oneCheck('tsc -b', compiled),
        oneCheck('the bundle', await bundlePackage(root, process.execPath)),
        oneCheck('the console', await bundleConsole(root, process.execPath)),
      ]);
    },
  },
  {
    ...tests,
    name: 'imports',
    what: 'who may import whom, and that this check can fail',
    run: (context) => runTests(context, 'imports'),
  },
  {
    ...tests,
    name: 'unit',
    needsServers: true,
    what: 'unit and property tests (vitest)',
    run: (context) => runTests(context, 'unit'),
  },
  { ...tests, name: 'examples', what: 'each example does what it says', run: runExamples },
  {
    ...tests,
    name: 'packaging',
    what: 'the package as its users get it',
    run: (context) => runTests(context, 'packaging'),
  },
];

/**
 * The lanes of a round run at the same time, the stages of a lane one after the other. Most stages keep one core busy, and
 * unit tests often wait for processes, so that two lanes use what two cores have.
 */
export const ROUNDS: readonly (readonly (readonly string[])[])[] = [
  [['format', 'unused', 'house'], ['types']],
  [['unit'], ['imports', 'examples', 'packaging']],
];

async function runExamples(context: CheckContext): Promise<StageResult> {
  const found = findExamples(context.root);
  const failures = unpairedExamples(found);
  const pairing = { passed: failures.length === 0 ? 1 : 0, failures, output: failures.join('\n') };
  if (found.tests.length > 0) return together([pairing, await runTests(context, 'examples')]);
  return failures.length > 0 ? pairing : { passed: 0, failures, output: '', note: 'there are none yet' };
}

/** Runs the tests of a vitest project that match the filters. */
export async function runTests(context: CheckContext, project: string): Promise<StageResult> {
  const report = join(mkdtempSync(join(context.scratch, 'report-')), 'vitest.json');
  const run = await runTool(context, 'vitest/vitest.mjs', ...vitestArguments(project, report, context));
  return readVitestReport(readJson(report), run, context.root);
}

function readJson(path: string): VitestJson | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // vitest did not get as far as a report; its exit code and output say why.
    return undefined;
  }
}

/** Runs a tool's script from node_modules on this Node, never by what happens to be in PATH. */
function runTool({ root, scratch, seed }: CheckContext, script: string, ...args: readonly string[]) {
  const bin = join(root, 'node_modules', '.bin');
  const color = process.stdout.isTTY && !process.env.NO_COLOR ? { FORCE_COLOR: '1' } : { NO_COLOR: '1' };
  const temporary = { TMPDIR: scratch, TMP: scratch, TEMP: scratch };
  const env = {
    ...process.env,
    ...color,
    ...temporary,
    CHECK_SEED: String(seed),
    PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
  };
  return runCaptured(process.execPath, [join(root, 'node_modules', script), ...args], { cwd: root, env });
}

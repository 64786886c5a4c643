import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/**
 * They only end what hangs: on a busy machine a test that starts processes takes its time, and with CHECK_RUNS properties
 * run more often.
 */
const TIMEOUT_MS = 60_000 * Number(process.env.CHECK_RUNS ?? 1);
const POLL_TIMEOUT_MS = 20_000;
const PACKAGING_TIMEOUT_MS = 180_000;

const seeded = 'telltale/test/seeded.ts';
const imports = 'telltale/test/imports/**/*.test.ts';
const packaging = 'telltale/test/packaging/**/*.test.ts';
const examples = 'telltale/test/examples/**/*.test.ts';
const browser = 'telltale/test/browser/**/*.test.ts';

/**
 * The files of unit tests share a process, and the sources are loaded once for all of them, which saves a quarter of the
 * time. Each of these gets a process to itself; they run first, since they hold the longest.
 */
const isolated = [
  // Kill processes by the dozen, for most of a minute each.
  'telltale/test/recovery/**/*.test.ts',
  // Puts another module in the place of one, for whoever loads it from then on.
  'telltale/test/tools/process/without-sandbox.test.ts',
];

/** The projects of a stage have names that begin with its own: `--project 'unit*'`. */
export default defineConfig({
  test: {
    // Left to itself, vitest keeps one core for its own process, which needs a thirtieth of the time: half of two cores.
    maxWorkers: Math.max(2, availableParallelism()),
    // Workers and the programs that tests start compile each source once a run, not once a process. In the check this is
    // its temporary folder.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'telltale-compiled') },
    testTimeout: TIMEOUT_MS,
    hookTimeout: TIMEOUT_MS,
    expect: { poll: { timeout: POLL_TIMEOUT_MS } },
    projects: [
      {
        test: {
          name: 'unit',
          include: isolated,
          setupFiles: [seeded],
          globalSetup: ['telltale/test/servers/global-setup.ts'],
        },
      },
      {
        test: {
          name: 'unit-shared',
          include: ['telltale/test/**/*.test.ts', 'scripts/test/**/*.test.ts'],
          exclude: [imports, packaging, examples, browser, ...isolated],
          isolate: false,
          setupFiles: [seeded],
          globalSetup: ['telltale/test/servers/global-setup.ts'],
        },
      },
      {
        test: {
          name: 'unit-browser',
          include: [browser],
          // A browser takes a core: one file at a time, in one process, which loads the server once.
          isolate: false,
          fileParallelism: false,
          // Once the others are done: what waits for a page would else wait for them.
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'imports',
          include: [imports],
        },
      },
      {
        test: {
          name: 'examples',
          include: [examples],
          // Reads every prompt of every example.
          setupFiles: ['telltale/test/examples/heard-prompts.ts', 'telltale/test/examples/sound-logs.ts'],
        },
      },
      {
        test: {
          name: 'packaging',
          include: [packaging],
          testTimeout: PACKAGING_TIMEOUT_MS,
          hookTimeout: PACKAGING_TIMEOUT_MS,
        },
      },
    ],
  },
});

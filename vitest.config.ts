import { defineConfig } from 'vitest/config';

const PACKAGING_TIMEOUT_MS = 180_000;
const ROOMS_TIMEOUT_MS = 60_000;

const rooms = 'telltale/test/rooms/**/*.test.ts';
const packaging = 'telltale/test/packaging/**/*.test.ts';
const examples = 'telltale/test/examples/**/*.test.ts';

/** One project for each stage of the check that runs tests. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['telltale/test/**/*.test.ts', 'scripts/test/**/*.test.ts'],
          exclude: [rooms, packaging, examples],
          globalSetup: ['telltale/test/servers/global-setup.ts'],
        },
      },
      {
        test: {
          name: 'rooms',
          include: [rooms],
          testTimeout: ROOMS_TIMEOUT_MS,
          hookTimeout: ROOMS_TIMEOUT_MS,
        },
      },
      { test: { name: 'examples', include: [examples] } },
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

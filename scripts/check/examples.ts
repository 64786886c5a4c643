import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Examples {
  /** The folders of `examples/`. */
  readonly folders: readonly string[];
  /** Those that say in an `expected.*` file what comes out of them. */
  readonly expecting: readonly string[];
  /** Names of `telltale/test/examples/NAME.test.ts`. */
  readonly tests: readonly string[];
}

export function findExamples(root: string): Examples {
  const folders = list(join(root, 'examples'));
  const expecting = folders.filter((name) =>
    list(join(root, 'examples', name)).some((file) => file.startsWith('expected.')),
  );
  const tests = list(join(root, 'telltale', 'test', 'examples'))
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.test.ts'.length));
  return { folders, expecting, tests };
}

/** An example whose expectation nobody tests, or a test of an example that is not there. */
export function unpairedExamples({ folders, expecting, tests }: Examples): readonly string[] {
  return [
    ...expecting
      .filter((name) => !tests.includes(name))
      .map((name) => `examples/${name} has no test: write telltale/test/examples/${name}.test.ts`),
    ...tests
      .filter((name) => !folders.includes(name))
      .map((name) => `telltale/test/examples/${name}.test.ts tests an example that is not there`),
  ];
}

function list(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [];
    throw error;
  }
}

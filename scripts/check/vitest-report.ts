import type { StageResult } from './stage-result.ts';

/** The part of vitest's JSON report that is read here. */
export interface VitestJson {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

/**
 * Counts a run of vitest test by test. A test that did not run is a failure, and so are a file that could not be
 * loaded, a run without any test, and errors outside of every test, which vitest only tells by its exit code.
 */
export function readVitestReport(
  json: VitestJson | undefined,
  run: { readonly code: number; readonly output: string },
  root: string,
): StageResult {
  let passed = 0;
  const failures: string[] = [];
  for (const file of json?.testResults ?? []) {
    const name = shorten(file.name, root);
    for (const { ancestorTitles, title, status } of file.assertionResults) {
      const test = [name, ...ancestorTitles, title].join(' > ');
      if (status === 'passed') passed++;
      else failures.push(status === 'failed' ? test : `did not run (${status}): ${test}`);
    }
    const isSilent = file.assertionResults.every(({ status }) => status === 'passed');
    if (file.status !== 'passed' && isSilent) failures.push(`${name} could not be run`);
    else if (file.assertionResults.length === 0) failures.push(`${name} holds no test`);
  }
  if (passed === 0 && failures.length === 0) failures.push(`no test was run (exit code ${run.code})`);
  else if (run.code !== 0 && failures.length === 0) failures.push(`vitest ended with exit code ${run.code}`);
  return { passed, failures, output: run.output };
}

const shorten = (path: string, root: string) => {
  const slashed = path.replaceAll('\\', '/');
  const prefix = `${root.replaceAll('\\', '/')}/`;
  return slashed.startsWith(prefix) ? slashed.slice(prefix.length) : slashed;
};

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
      /** `missing`: what the machine lacks for it (`telltale/test/servers/needs-redis.ts`). */
      readonly meta?: { readonly missing?: { readonly what: string; readonly mend: string } };
    }[];
  }[];
}

/**
 * Counts a run of vitest test by test. A test that did not run is a failure, unless the machine lacks a server that it
 * needs; and so are a file that could not be loaded, a run without any test, and errors outside of every test, which
 * vitest only tells by its exit code.
 */
export function readVitestReport(
  json: VitestJson | undefined,
  run: { readonly code: number; readonly output: string },
  root: string,
): StageResult {
  let passed = 0;
  const failures: string[] = [];
  const skipped: string[] = [];
  for (const file of json?.testResults ?? []) {
    const name = shorten(file.name, root);
    for (const { ancestorTitles, title, status, meta } of file.assertionResults) {
      const test = [name, ...ancestorTitles.filter((each) => each !== ''), title].join(' > ');
      const missing = status === 'failed' ? undefined : meta?.missing;
      if (status === 'passed') passed++;
      else if (missing !== undefined)
        skipped.push(`${test} (${missing.what}; mend it with: ${missing.mend})`);
      else failures.push(status === 'failed' ? test : `did not run (${status}): ${test}`);
    }
    const isSilent = file.assertionResults.every(({ status }) => status !== 'failed');
    if (file.status !== 'passed' && isSilent) failures.push(`${name} could not be run`);
    else if (file.assertionResults.length === 0) failures.push(`${name} holds no test`);
  }
  if (passed === 0 && failures.length === 0 && skipped.length === 0)
    failures.push(`no test was run (exit code ${run.code})`);
  else if (run.code !== 0 && failures.length === 0) failures.push(`vitest ended with exit code ${run.code}`);
  return { passed, failures, output: run.output, ...(skipped.length === 0 ? {} : { skipped }) };
}

const shorten = (path: string, root: string) => {
  const slashed = path.replaceAll('\\', '/');
  const prefix = `${root.replaceAll('\\', '/')}/`;
  return slashed.startsWith(prefix) ? slashed.slice(prefix.length) : slashed;
};

import type { Issue } from '../issue.ts';

/** A document can be wrong in more ways than anyone reads. */
export const MAX_ISSUES = 200;

/** Without repeats, and without a missing key that stands there by another name. Errors are kept before warnings at the limit. */
export function orderIssues(issues: readonly Issue[]): readonly Issue[] {
  const misspelt = new Set(
    issues.flatMap((issue) => (issue.code === 'unknown_key' ? misspeltFor(issue) : [])),
  );
  const seen = new Set<string>();
  const kept = issues.filter((issue) => {
    const key = JSON.stringify([issue.path, issue.code, issue.message]);
    if (seen.has(key) || (issue.code === 'missing' && missingFor(issue).some((name) => misspelt.has(name))))
      return false;
    seen.add(key);
    return true;
  });
  if (kept.length <= MAX_ISSUES) return kept.map((issue) => ({ ...issue }));
  const errors = kept
    .filter(({ severity }) => severity === 'error')
    .slice(0, MAX_ISSUES)
    .map((issue) => ({ ...issue }));
  const rest = kept.length - errors.length;
  const more: Issue = {
    severity: 'warning',
    code: 'more_issues',
    path: [],
    at: 'value',
    message: `${rest} more issues are not shown.`,
    hint: 'Fix the issues above first.',
  };
  return [...errors, more];
}

/** What the hint says it should have been: `Did you mean "a"?`, `Use "a".`, `Write "a: b" and "c: d".` */
const misspeltFor = (issue: Issue): readonly string[] =>
  [...(issue.hint ?? '').matchAll(/"(\w+)(?:: [^"]*)?"/g)].map(([, name]) =>
    JSON.stringify([issue.path.slice(0, -1), name]),
  );

/** Several where one of a group is missing: `needs "a" or "b".` */
const missingFor = (issue: Issue): readonly string[] =>
  [
    ...(/ needs ("[^"]+"(?:(?:, | or )"[^"]+")*)\.$/.exec(issue.message)?.[1] ?? '').matchAll(/"([^"]+)"/g),
  ].map(([, name]) => JSON.stringify([issue.path, name]));

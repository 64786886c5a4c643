import type { ManifestProblem } from '../../../../telltale/src/client/api.ts';

/** Whether two paths name the same file, one of them perhaps relative to a parent folder. */
const sameFile = (a: string, b: string): boolean => a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);

/** The problems of a file by line. A line beyond the end counts as the last one. */
export function problemsOf(
  file: { readonly path: string; readonly text: string },
  problems: readonly ManifestProblem[],
): ReadonlyMap<number, readonly ManifestProblem[]> {
  const lines = linesOf(file.text).length;
  const byLine = new Map<number, readonly ManifestProblem[]>();
  for (const problem of problems) {
    if (!sameFile(problem.file, file.path)) continue;
    const line = Math.min(Math.max(1, problem.line), lines);
    byLine.set(line, [...(byLine.get(line) ?? []), problem]);
  }
  return byLine;
}

/** The problems of other files. */
export const problemsElsewhere = (
  files: readonly { readonly path: string }[],
  problems: readonly ManifestProblem[],
): readonly ManifestProblem[] =>
  problems.filter((problem) => !files.some(({ path }) => sameFile(problem.file, path)));

const linesOf = (text: string): readonly string[] => text.replace(/\n$/, '').split('\n');

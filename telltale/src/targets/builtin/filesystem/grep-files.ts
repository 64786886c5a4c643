import { stat } from 'node:fs/promises';
import { compilePattern, type Pattern } from '../../../conditions/linear-regex.ts';
import type { Json } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { stopped } from '../../access/stopped.ts';
import { fileFailed } from './file-errors.ts';
import { filesMatching, shownBelow } from './glob-paths.ts';
import { readTextFile } from './text-file.ts';

const DEFAULT_MATCHES = 100;
const MAX_LINE_SHOWN = 300;
/** Characters that one call searches; what it costs is bounded by this and by the pattern's own limits. */
const MAX_SEARCHED_CHARS = 64 * 1024 * 1024;

export interface Search {
  readonly pattern: string;
  readonly glob?: string;
  readonly ignore_case?: boolean;
  readonly limit?: number;
}

/** Lines that hold the pattern, in the files below a folder or in one file. Files that are no text are passed over. */
export async function grepFiles(path: PermittedPath, search: Search, signal: AbortSignal): Promise<Json> {
  const { glob = '**/*', ignore_case: ignoreCase = false, limit = DEFAULT_MATCHES } = search;
  const compiled = compilePattern(ignoreCase ? `(?i)${search.pattern}` : search.pattern);
  if (!compiled.ok)
    throw new RuntimeError('bad_parameters', `"/pattern" cannot be used: ${compiled.error.message}`, {
      hint: compiled.error.hint,
    });
  const stats = await stat(path.real).catch((thrown: unknown) => {
    throw fileFailed(path.shown, thrown);
  });
  const files = stats.isDirectory()
    ? (await filesMatching(glob, path, signal)).map((real) => ({
        real,
        shown: shownBelow(real, path),
        exists: true,
      }))
    : [path];
  const matches: Json[] = [];
  let searched = 0;
  let skipped = 0;
  let chars = 0;
  for (const file of files) {
    if (signal.aborted) throw stopped('tool "filesystem"', signal);
    const text = await readTextFile(file).catch(() => undefined);
    if (text === undefined) {
      skipped++;
      continue;
    }
    searched++;
    chars += text.length;
    for (const match of matchingLines(text, compiled.value)) {
      if (matches.length === limit)
        return { matches, files: searched, skipped, cut: `after ${limit} matches` };
      matches.push({ path: file.shown, ...match });
    }
    if (chars > MAX_SEARCHED_CHARS)
      return {
        matches,
        files: searched,
        skipped,
        cut: `after ${chars} characters; narrow it with "glob" or "path"`,
      };
  }
  return { matches, files: searched, skipped };
}

/** A line that is longer than the pattern can be tried on is searched in its beginning only. */
function* matchingLines(text: string, pattern: Pattern): Generator<{ line: number; text: string }> {
  let number = 0;
  for (const whole of text.split('\n')) {
    number++;
    const line = whole.endsWith('\r') ? whole.slice(0, -1) : whole;
    if (!pattern.test(line.slice(0, pattern.maxLength))) continue;
    yield { line: number, text: line.length > MAX_LINE_SHOWN ? `${line.slice(0, MAX_LINE_SHOWN)}…` : line };
  }
}

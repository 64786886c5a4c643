import { stat } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { compilePattern, type Pattern } from '../../../conditions/linear-regex.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Json } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { stopped } from '../../access/stopped.ts';
import { fileFailed } from './file-errors.ts';
import { filesMatching, shownBelow } from './glob-paths.ts';
import { readTextFile } from './text-file.ts';

const DEFAULT_MATCHES = 100;
const MAX_LINE_SHOWN = 300;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_SEARCHED_BYTES = 64 * 1024 * 1024;
/** One line costs a quarter of a second at the worst (conditions/linear-regex.ts), so lines alone are no limit. */
const MAX_SEARCH_MS = 10_000;
/** How long lines are tried before everything else gets its turn. */
const TURN_MS = 10;

export interface Search {
  readonly pattern: string;
  readonly glob?: string;
  readonly ignore_case?: boolean;
  readonly limit?: number;
}

/**
 * Lines that hold the pattern, in the files below a folder or in one file. Passed over: what is no text or larger than
 * 4 MiB, and what may not be read. Where a limit ends the search, `cut` says which.
 */
export async function grepFiles(
  path: PermittedPath,
  search: Search,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Promise<Json> {
  const { limit = DEFAULT_MATCHES } = search;
  const pattern = readPattern(search);
  const files = await filesOf(path, search, signal);
  const until = clock.monotonic() + MAX_SEARCH_MS;
  const matches: Json[] = [];
  const seen = { files: 0, skipped: 0 };
  let bytes = 0;
  for (const file of files) {
    if (signal.aborted) throw stopped('tool "filesystem"', signal);
    if (clock.monotonic() > until) return { matches, ...seen, cut: `after ${MAX_SEARCH_MS / 1000} s` };
    const size = await sizeOf(file);
    bytes += Math.min(size, MAX_FILE_BYTES);
    if (bytes > MAX_SEARCHED_BYTES) return { matches, ...seen, cut: `after ${MAX_SEARCHED_BYTES} bytes` };
    const isPassed = size > MAX_FILE_BYTES || (await path.isDenied(file.real));
    const text = isPassed ? undefined : await readTextFile(file).catch(() => undefined);
    if (text === undefined) {
      seen.skipped++;
      continue;
    }
    seen.files++;
    let turnEnds = clock.monotonic() + TURN_MS;
    for (const match of searched(text, pattern)) {
      if (match !== undefined) {
        if (matches.length === limit) return { matches, ...seen, cut: `after ${limit} matches` };
        matches.push({ path: file.shown, ...match });
      }
      if (clock.monotonic() < turnEnds) continue;
      await turn();
      if (signal.aborted) throw stopped('tool "filesystem"', signal);
      if (clock.monotonic() > until) return { matches, ...seen, cut: `after ${MAX_SEARCH_MS / 1000} s` };
      turnEnds = clock.monotonic() + TURN_MS;
    }
  }
  return { matches, ...seen };
}

function readPattern({ pattern, ignore_case: ignoreCase = false }: Search): Pattern {
  const compiled = compilePattern(ignoreCase ? `(?i)${pattern}` : pattern);
  if (compiled.ok) return compiled.value;
  const { message, hint } = compiled.error;
  throw new RuntimeError('bad_parameters', `"/pattern" cannot be used: ${message}`, { hint });
}

async function filesOf(
  path: PermittedPath,
  { glob = '**/*' }: Search,
  signal: AbortSignal,
): Promise<readonly PermittedPath[]> {
  const stats = await stat(path.real).catch((thrown: unknown) => {
    throw fileFailed(path.shown, thrown);
  });
  if (!stats.isDirectory()) return [path];
  const found = await filesMatching(glob, path, signal);
  return found.map((real) => ({ ...path, real, shown: shownBelow(real, path), exists: true }));
}

const sizeOf = ({ real }: PermittedPath): Promise<number> =>
  stat(real).then(
    ({ size }) => size,
    () => 0,
  );

/** For each line its match or undefined. A line longer than the pattern can be tried on is searched at its beginning. */
function* searched(
  text: string,
  pattern: Pattern,
): Generator<{ readonly line: number; readonly text: string } | undefined> {
  let number = 0;
  for (const whole of text.split('\n')) {
    number++;
    const line = whole.endsWith('\r') ? whole.slice(0, -1) : whole;
    if (!pattern.test(line.slice(0, pattern.maxLength))) yield undefined;
    else
      yield { line: number, text: line.length > MAX_LINE_SHOWN ? `${line.slice(0, MAX_LINE_SHOWN)}…` : line };
  }
}

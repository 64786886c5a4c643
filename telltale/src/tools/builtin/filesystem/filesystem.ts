import { lstat, stat } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { compilePattern, type Pattern } from '../../../expressions/linear-regex.ts';
import type { Clock } from '../../../lib/clock.ts';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { abortError } from '../../abort.ts';
import { combineNeeds, needForPath } from '../../access/approval-need.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { defineOperations, type Operation, operationMembers } from '../../operations.ts';
import type { ApprovalNeed, Target, TargetCall } from '../../target.ts';
import type { TargetDeps } from '../../target-deps.ts';
import { filesMatching, globPaths, MAX_WALKED, shownBelow, walk } from './glob-paths.ts';
import {
  type Edit,
  editedFile,
  fileFailed,
  MAX_TEXT_BYTES,
  readTextFile,
  writeTextFile,
} from './text-file.ts';
import { WriteGuard } from './write-guard.ts';

const PATH = { type: 'string' };
const WHAT = 'tool "filesystem"';
const DEFAULT_DEPTH = 3;
const MAX_DEPTH = 16;

/** Files and folders inside `permissions.paths`. */
export function filesystem({ permissions, clock, folder }: TargetDeps): Target {
  const { paths } = permissions;
  const at = (input: JsonObject, { granted }: Pick<TargetCall, 'granted'>) =>
    paths.resolve(text(input, 'path') ?? '.', granted);
  const guard = new WriteGuard(permissions, folder);
  const operations: Readonly<Record<string, Operation>> = {
    read: {
      description: 'shows a text file, or some lines of it',
      parameters: {
        path: PATH,
        offset: { type: 'integer', minimum: 1, description: 'First line, from 1.' },
        limit: { type: 'integer', minimum: 1, maximum: 100_000, description: 'Lines.' },
      },
      required: ['path'],
      idempotent: true,
      run: async (input, call) => readLines(await at(input, call), input),
    },
    write: {
      description: 'creates a file and its folders, or replaces the whole file',
      parameters: { path: PATH, content: { type: 'string' } },
      required: ['path', 'content'],
      idempotent: true,
      async run(input, call) {
        const path = await at(input, call);
        const content = text(input, 'content') ?? '';
        const bytes = Buffer.byteLength(content);
        if (bytes > MAX_TEXT_BYTES) throw contentTooLarge(bytes);
        await guard.check({ path, content }, call.granted);
        await writeTextFile(path, content);
        return { path: path.shown, bytes, created: !path.exists };
      },
    },
    edit: {
      description: 'replaces a text that occurs exactly once in the file',
      parameters: {
        path: PATH,
        old_text: { type: 'string', description: 'Without line numbers.' },
        new_text: { type: 'string' },
        replace_all: { type: 'boolean', description: 'true: every occurrence.' },
      },
      required: ['path', 'old_text', 'new_text'],
      idempotent: false,
      async run(input, call) {
        const path = await at(input, call);
        await guard.checkLocation(path);
        const { before, after, result } = await editedFile(path, input as unknown as Edit);
        await guard.check({ path, content: after, before }, call.granted);
        await writeTextFile(path, after);
        return result;
      },
    },
    list: {
      description: 'lists a folder',
      parameters: { path: PATH },
      idempotent: true,
      run: async (input, call) => listFolder(await at(input, call), call.signal),
    },
    tree: {
      description: 'lists a folder and everything below it',
      parameters: {
        path: PATH,
        depth: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_DEPTH,
          description: `Levels; default ${DEFAULT_DEPTH}.`,
        },
      },
      idempotent: true,
      run: async (input, call) =>
        treeOf(
          await at(input, call),
          typeof input.depth === 'number' ? input.depth : DEFAULT_DEPTH,
          call.signal,
        ),
    },
    glob: {
      description: 'finds files by path',
      parameters: {
        path: PATH,
        pattern: {
          type: 'string',
          description: 'A glob such as src/**/*.ts.',
        },
      },
      required: ['pattern'],
      idempotent: true,
      run: async (input, call) => globPaths(text(input, 'pattern') ?? '', await at(input, call), call.signal),
    },
    grep: {
      description: 'finds lines in files',
      parameters: {
        path: PATH,
        pattern: { type: 'string', description: 'A regular expression (RE2).' },
        glob: { type: 'string', description: 'Only files like **/*.ts.' },
        ignore_case: { type: 'boolean' },
        limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Matches.' },
      },
      required: ['pattern'],
      idempotent: true,
      run: async (input, call) =>
        grepFiles(await at(input, call), input as unknown as GrepInput, {
          signal: call.signal,
          clock,
        }),
    },
  };
  const needsOf = async (input: JsonObject): Promise<ApprovalNeed | undefined> => {
    const operation = String(text(input, 'operation'));
    const need = await needForPath(paths, text(input, 'path') ?? '.', WHAT, operation);
    if (permissions.manifests.length === 0 || (operation !== 'write' && operation !== 'edit')) return need;
    const path = await at(input, { granted: need?.grants });
    if (operation === 'write')
      return combineNeeds(need, await guard.need({ path, content: text(input, 'content') ?? '' }, WHAT));
    // An edit that is impossible is refused when it runs.
    const edited = await editedFile(path, input as unknown as Edit).catch(() => undefined);
    if (edited === undefined) return need;
    return combineNeeds(need, await guard.need({ path, content: edited.after, before: edited.before }, WHAT));
  };
  const defined = defineOperations(WHAT, operations);
  return {
    kind: 'tool',
    name: 'filesystem',
    description:
      'Works with files. Paths are relative to the working folder. "read" shows each line after its number and a tab, which are not part of the file; "$id.content" is the text. Lists and searches give "$id.entries", "$id.paths" or "$id.matches" (path, line, text).',
    ...operationMembers(defined),
    start: 'on_close',
    example: {
      input: { operation: 'read', path: 'package.json' },
      output: { path: 'package.json', content: '{ "name": "shop", "version": "1.4.0" }\n', lines: 1 },
      answer: 'The version is 1.4.0.',
    },
    ...(paths.asks || permissions.manifests.length > 0 ? { needs: needsOf } : {}),
    run: defined.run,
  };
}

const text = (input: JsonObject, key: string): string | undefined =>
  typeof input[key] === 'string' ? input[key] : undefined;

const contentTooLarge = (bytes: number) =>
  new RuntimeError('bad_parameters', `"/content" has ${bytes} bytes; ${MAX_TEXT_BYTES} are allowed.`);

const MAX_LISTED = 1_000;
const MAX_TREE_LINES = 2_000;

/** Lists a folder with type and size. */
async function listFolder(folder: PermittedPath, signal: AbortSignal): Promise<Json> {
  const entries: Json[] = [];
  let seen = 0;
  for await (const { real, name, type } of walk(folder, { maxDepth: 1, signal })) {
    if (++seen > MAX_LISTED) continue;
    const stats = type === 'file' ? await lstat(real).catch(() => undefined) : undefined;
    entries.push({ name, type, ...(stats === undefined ? {} : { bytes: stats.size }) });
  }
  return { path: folder.shown, entries, ...(seen > MAX_LISTED ? { left_out: seen - MAX_LISTED } : {}) };
}

/** Lists a folder and `depth` levels below it, indented. */
async function treeOf(folder: PermittedPath, depth: number, signal: AbortSignal): Promise<Json> {
  const lines = [`${folder.shown}/`];
  let seen = 0;
  for await (const { name, type, depth: level } of walk(folder, { maxDepth: depth, signal })) {
    if (++seen > MAX_WALKED) break;
    if (seen > MAX_TREE_LINES) continue;
    lines.push(`${'  '.repeat(level)}${name}${type === 'folder' ? '/' : type === 'link' ? ' (link)' : ''}`);
  }
  if (seen > MAX_TREE_LINES)
    lines.push(`… ${seen - MAX_TREE_LINES} more: ask for a folder of it, or less depth.`);
  return lines.join('\n');
}

const DEFAULT_LINES = 2_000;
/** The most characters of one result. */
const MAX_READ_CHARS = 256 * 1024;

/** Returns lines of a text file from `offset` on (1 is the first), and where to continue if there are more. */
async function readLines(
  path: PermittedPath,
  { offset = 1, limit = DEFAULT_LINES }: { readonly offset?: number; readonly limit?: number },
): Promise<Json> {
  const text = await readTextFile(path);
  const lines = text.split('\n');
  const count = text === '' ? 0 : text.endsWith('\n') ? lines.length - 1 : lines.length;
  if (offset > Math.max(1, count)) throw pastTheEnd(path.shown, offset, count);
  const wanted: string[] = [];
  let chars = 0;
  for (let at = offset - 1; at < Math.min(count, offset - 1 + limit); at++) {
    const line = lines[at] ?? '';
    chars += line.length + 1;
    if (chars > MAX_READ_CHARS) {
      if (wanted.length === 0)
        wanted.push(`${line.slice(0, MAX_READ_CHARS)}… [the line has ${line.length} characters]`);
      break;
    }
    wanted.push(line);
  }
  const next = offset + wanted.length;
  return {
    path: path.shown,
    content: wanted.join('\n') + (next > count && text.endsWith('\n') ? '\n' : ''),
    lines: count,
    ...(next <= count ? { next_offset: next } : {}),
  };
}

const pastTheEnd = (shown: string, offset: number, count: number) =>
  new RuntimeError('bad_parameters', `"${shown}" has ${count} lines, so there is no line ${offset}.`, {
    hint: 'Lines count from 1.',
  });

const DEFAULT_MATCHES = 100;
const MAX_LINE_SHOWN = 300;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_SEARCHED_BYTES = 64 * 1024 * 1024;
/** A single line can take a quarter of a second to match, so a limit on lines is not enough. */
const MAX_SEARCH_MS = 10_000;
/** How long lines are searched before other work gets its turn. */
const TURN_MS = 10;

export interface GrepInput {
  readonly pattern: string;
  readonly glob?: string;
  readonly ignore_case?: boolean;
  readonly limit?: number;
}

/**
 * Finds lines that match the pattern, in the files below a folder or in one file. Skips files that are not text, are
 * larger than 4 MiB, or may not be read. If a limit ends the search, `cut` says which.
 */
async function grepFiles(
  path: PermittedPath,
  search: GrepInput,
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
    if (signal.aborted) throw abortError('tool "filesystem"', signal);
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
      if (signal.aborted) throw abortError('tool "filesystem"', signal);
      if (clock.monotonic() > until) return { matches, ...seen, cut: `after ${MAX_SEARCH_MS / 1000} s` };
      turnEnds = clock.monotonic() + TURN_MS;
    }
  }
  return { matches, ...seen };
}

function readPattern({ pattern, ignore_case: ignoreCase = false }: GrepInput): Pattern {
  const compiled = compilePattern(ignoreCase ? `(?i)${pattern}` : pattern);
  if (compiled.ok) return compiled.value;
  const { message, hint } = compiled.error;
  throw new RuntimeError('bad_parameters', `"/pattern" cannot be used: ${message}`, { hint });
}

async function filesOf(
  path: PermittedPath,
  { glob = '**/*' }: GrepInput,
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

/** Yields each line's match, or undefined. Only the beginning of a very long line is searched. */
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

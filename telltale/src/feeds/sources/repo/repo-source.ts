import { constants } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../../kernel/json.ts';
import type { Tokenizer } from '../../../kernel/tokenizer.ts';
import { openChecked } from '../../../targets/access/open-checked.ts';
import { matchesPattern } from '../../../targets/access/path-pattern.ts';
import type { PermittedPath } from '../../../targets/access/permitted-paths.ts';
import { stopped } from '../../../targets/access/stopped.ts';
import { compileCheck } from '../../../targets/check-parameters.ts';
import type { Feed, SourceCall } from '../../feed.ts';
import { cutText } from '../../values/cut-text.ts';
import { DEFAULT_MAX_TOKENS } from '../../values/prepare-value.ts';
import { type FileSource, permitted } from '../file-source.ts';
import type { SourceDeps } from '../source-edges.ts';
import { type RepoTree, readTree, sizeText } from './draw-tree.ts';
import { isShowable, MAX_FILE_BYTES, rankFiles, wordsOf } from './rank-files.ts';
import { type RepoFile, walkRepo } from './walk-repo.ts';

const MAX_DEPTH = 32;
/** Of a feed that is only referred to, and says nothing itself: its value is a megabyte at the most. */
const REFERENCE_TOKENS = 100_000;
/** Of the tokens, what the tree may take where files follow it. */
const TREE_SHARE = 0.4;
/** Files that are read to see whether they fit. */
const MAX_TRIED = 200;
/** Bytes that are searched for the words of a query. */
const MAX_SEARCHED = 16 * 1024 * 1024;
/** A word is counted no further in one file. */
const MAX_WORD_TIMES = 20;

const PARAMS = {
  type: 'object',
  properties: {
    depth: { type: 'integer', minimum: 1, maximum: MAX_DEPTH },
    files: {
      anyOf: [
        { type: 'boolean' },
        { type: 'array', items: { type: 'string', minLength: 1, maxLength: 256 }, maxItems: 50 },
      ],
    },
    query: { type: 'string', maxLength: 1_000 },
  },
  additionalProperties: false,
};

/** Compiled once a process, when it is first needed. */
export const checkRepoParams = compileCheck(PARAMS, 'a repo source');

/** A tree with sizes, then whole files, most relevant first, as far as the feed's tokens allow. */
export function createRepoSource(deps: SourceDeps) {
  return async (source: FileSource, { feed, params, signal }: SourceCall): Promise<Json> => {
    const wrong = checkRepoParams(params);
    if (wrong !== undefined) throw wrong;
    const folder = await permitted(source.name, `feed "${feed.id}"`, deps);
    const walked = await walkRepo(folder, signal);
    const counter = await deps.tokenizer();
    const budget = budgetOf(feed);
    const { depth = MAX_DEPTH, files = true, query = '' } = params;
    const tree = readTree(folder.shown, walked);
    const share = files === false ? budget : Math.floor(budget * TREE_SHARE);
    const drawn = await fittingTree(tree, Number(depth), share, counter);
    if (files === false) return drawn.text;
    const wanted = walked.files.filter((file) => isShowable(file) && isAsked(file, files));
    const words = wordsOf(String(query));
    const ranked = rankFiles(wanted, words, await timesIn(wanted, words, folder, signal));
    const shown = await wholeFiles(ranked, folder, budget - drawn.tokens, counter, signal);
    return [drawn.text, ...shown].join('\n\n');
  };
}

const budgetOf = ({ max_tokens: given, inject }: Feed): number =>
  given ?? (inject === 'reference' ? REFERENCE_TOKENS : DEFAULT_MAX_TOKENS);

/** As deep as it fits; where not even the first level does it is cut. */
async function fittingTree(tree: RepoTree, depth: number, budget: number, counter: Tokenizer) {
  for (let level = Math.min(depth, tree.deepest); level > 1; level--) {
    const text = tree.draw(level);
    const tokens = counter.count(text);
    if (tokens <= budget) return { text, tokens };
  }
  const { text, tokens, truncated } = await cutText(tree.draw(1), budget, counter);
  return truncated === undefined ? { text, tokens } : { text: `${text}\n  …`, tokens: tokens + 2 };
}

const isAsked = ({ path }: RepoFile, files: Json): boolean =>
  !Array.isArray(files) || files.some((glob) => matchesPattern(String(glob).split('/'), path));

/** How often each word stands in each file. */
async function timesIn(
  files: readonly RepoFile[],
  words: readonly string[],
  folder: PermittedPath,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, readonly number[]>();
  if (words.length === 0) return times;
  let searched = 0;
  for (const file of files) {
    searched += file.bytes;
    if (searched > MAX_SEARCHED) break;
    const text = (await readWhole(file, folder, signal))?.toLowerCase() ?? '';
    times.set(
      file.path,
      words.map((word) => timesOf(word, text)),
    );
  }
  return times;
}

function timesOf(word: string, text: string): number {
  let times = 0;
  for (let at = text.indexOf(word); at !== -1 && times < MAX_WORD_TIMES; times++)
    at = text.indexOf(word, at + word.length);
  return times;
}

async function wholeFiles(
  files: readonly RepoFile[],
  folder: PermittedPath,
  budget: number,
  counter: Tokenizer,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const shown: string[] = [];
  const rest = (left: number) => `[${left} more ${left === 1 ? 'file is' : 'files are'} not shown]`;
  let left = budget - counter.count(rest(files.length)) - 1;
  for (const file of files.slice(0, MAX_TRIED)) {
    // A token is a byte at the least, and most often four.
    if (file.bytes / 16 > left) continue;
    const text = await readWhole(file, folder, signal);
    if (text === undefined) continue;
    const whole = `--- ${file.path} (${sizeText(file.bytes)})\n${text.trimEnd()}`;
    const tokens = counter.count(whole) + 1;
    if (tokens > left) continue;
    left -= tokens;
    shown.push(whole);
  }
  const missing = files.length - shown.length;
  return missing === 0 ? shown : [...shown, rest(missing)];
}

/** Undefined for what is no text, may not be read or has gone: a repository has such files. */
async function readWhole(
  { path }: RepoFile,
  folder: PermittedPath,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (signal.aborted) throw stopped('a repo source', signal);
  const real = join(folder.real, path);
  try {
    if (await folder.isDenied(real)) return undefined;
    await using handle = await openChecked(real, path, constants.O_RDONLY);
    const { bytesRead, buffer } = await handle.read(
      Buffer.alloc(MAX_FILE_BYTES + 1),
      0,
      MAX_FILE_BYTES + 1,
      0,
    );
    if (bytesRead > MAX_FILE_BYTES) return undefined; // it has grown
    const bytes = buffer.subarray(0, bytesRead);
    return bytes.includes(0) ? undefined : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

import { constants } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../../lib/json.ts';
import type { Tokenizer } from '../../../lib/tokens.ts';
import { abortError } from '../../../tools/abort.ts';
import { matchesPattern, openChecked, type PermittedPath } from '../../../tools/access/permitted-paths.ts';
import { compileCheck } from '../../../tools/check-parameters.ts';
import type { Feed, SourceCall } from '../../feed.ts';
import { cutText } from '../../values/cut-text.ts';
import { DEFAULT_MAX_TOKENS } from '../../values/prepare-value.ts';
import { type FileSource, permitted } from '../file-source.ts';
import type { SourceDeps } from '../source.ts';
import { type RepoFile, type WalkedRepo, walkRepo } from './walk-repo.ts';

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
  if (signal.aborted) throw abortError('a repo source', signal);
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

interface Folder {
  readonly name: string;
  readonly folders: Map<string, Folder>;
  readonly files: RepoFile[];
  count: number;
  bytes: number;
}

/** A tree of folders and files with their sizes; what lies deeper than `depth` is counted. */
export interface RepoTree {
  readonly deepest: number;
  draw(depth: number): string;
}

function readTree(name: string, { files, folders, isCut }: WalkedRepo): RepoTree {
  const root = emptyFolder(name);
  let deepest = 1;
  const folderAt = (path: readonly string[]): Folder => {
    let at = root;
    for (const segment of path) {
      const next = at.folders.get(segment) ?? emptyFolder(segment);
      at.folders.set(segment, next);
      at = next;
    }
    return at;
  };
  for (const path of folders) folderAt(path.split('/'));
  for (const file of files) {
    const segments = file.path.split('/');
    deepest = Math.max(deepest, segments.length);
    folderAt(segments.slice(0, -1)).files.push(file);
    for (let length = 0; length < segments.length; length++) {
      const above = folderAt(segments.slice(0, length));
      above.count++;
      above.bytes += file.bytes;
    }
  }
  return {
    deepest,
    draw: (depth) =>
      [
        `${name}/ (${summary(root)}${isCut ? ' and more: the walk was ended early' : ''})`,
        ...linesOf(root, 1, depth),
      ].join('\n'),
  };
}

const emptyFolder = (name: string): Folder => ({ name, folders: new Map(), files: [], count: 0, bytes: 0 });

function* linesOf(folder: Folder, level: number, depth: number): Generator<string> {
  const indent = '  '.repeat(level);
  for (const inner of [...folder.folders.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    yield `${indent}${inner.name}/${level < depth ? '' : ` (${summary(inner)})`}`;
    if (level < depth) yield* linesOf(inner, level + 1, depth);
  }
  for (const { path, bytes } of folder.files)
    yield `${indent}${path.slice(path.lastIndexOf('/') + 1)} (${sizeText(bytes)})`;
}

const summary = ({ count, bytes }: Folder): string =>
  `${count} ${count === 1 ? 'file' : 'files'}, ${sizeText(bytes)}`;

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB'];
  let amount = bytes / 1024;
  while (amount >= 1024 && units.length > 1) {
    amount /= 1024;
    units.shift();
  }
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${units[0]}`;
}

/** A larger file is not shown whole. */
const MAX_FILE_BYTES = 256 * 1024;

/** What tells most of a repository at the least length. */
const FIRST = /^(?:readme|agents|contributing|architecture)(?:\.[a-z]+)?$/i;
const MANIFEST =
  /^(?:package\.json|pyproject\.toml|setup\.(?:py|cfg)|cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|composer\.json|gemfile|makefile|dockerfile|telltale\.ya?ml)$/i;
/** For machines to read. */
const GENERATED =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|cargo\.lock|poetry\.lock|go\.sum|composer\.lock|\.gitignore|\.gitattributes|\.editorconfig)$|\.min\.(?:js|css)$|\.map$|\.snap$/i;
/** What is no business of a model's, though git was not told to ignore it. */
const SECRET =
  /(?:^|\/)(?:\.env(?:\..+)?|\.npmrc|\.netrc|id_(?:rsa|dsa|ecdsa|ed25519)|.+\.(?:pem|key|p12|pfx))$/i;
const BINARY =
  /\.(?:png|jpe?g|gif|webp|ico|bmp|pdf|zip|gz|tgz|bz2|xz|7z|jar|class|wasm|so|dll|dylib|exe|bin|o|a|woff2?|ttf|otf|eot|mp[34]|mov|avi|wav|ogg|sqlite|db)$/i;

const isShowable = ({ path, bytes }: RepoFile): boolean =>
  bytes > 0 && bytes <= MAX_FILE_BYTES && !GENERATED.test(path) && !SECRET.test(path) && !BINARY.test(path);

const MAX_WORDS = 16;

/** Words of a query: in lower case, each once, the first of them. */
const wordsOf = (query: string): readonly string[] =>
  [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [])].slice(0, MAX_WORDS);

/** A word counts once in a path, and in a text the more the more often it stands there. */
const PATH_POINTS = 100;
const TEXT_POINTS = 50;

/**
 * Most relevant first: what has the words of the query in its path or in it (`times` by path, word for word), rare words
 * before common ones; then what says what the repository is, what lies near its root, what changed last, what is small.
 */
function rankFiles(
  files: readonly RepoFile[],
  words: readonly string[],
  times: ReadonlyMap<string, readonly number[]>,
): readonly RepoFile[] {
  const age = new Map(
    files
      .toSorted((a, b) => b.changedAt - a.changedAt)
      .map(({ path }, place) => [path, place / files.length]),
  );
  const hits = files.map(({ path }) => {
    const folded = path.toLowerCase();
    const inText = times.get(path);
    return words.map((word, at) => {
      const found = inText?.[at] ?? 0;
      return (
        (folded.includes(word) ? PATH_POINTS : 0) + (found > 0 ? TEXT_POINTS * (1 + Math.log(found)) : 0)
      );
    });
  });
  const rarity = words.map((_, at) => {
    const having = hits.filter((points) => (points[at] ?? 0) > 0).length;
    return Math.log((files.length + 1) / Math.max(1, having));
  });
  const scored = files.map((file, index) => {
    const asked = (hits[index] ?? []).reduce((sum, points, at) => sum + points * (rarity[at] ?? 0), 0);
    return { file, score: asked + telling(file) + 5 * (1 - (age.get(file.path) ?? 1)) };
  });
  return scored
    .sort((a, b) => b.score - a.score || (a.file.path < b.file.path ? -1 : 1))
    .map(({ file }) => file);
}

function telling({ path, bytes }: RepoFile): number {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const depth = path.split('/').length - 1;
  const title = FIRST.test(name) ? 30 : MANIFEST.test(name) ? 20 : 0;
  const small = 5 * (1 - Math.min(1, bytes / MAX_FILE_BYTES) ** 0.25);
  return Math.max(0, 10 - 5 * depth) + Math.max(0, title - 10 * depth) + small;
}

import type { RepoFile } from './walk-repo.ts';

/** A larger file is not shown whole. */
export const MAX_FILE_BYTES = 256 * 1024;

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

export const isShowable = ({ path, bytes }: RepoFile): boolean =>
  bytes > 0 && bytes <= MAX_FILE_BYTES && !GENERATED.test(path) && !SECRET.test(path) && !BINARY.test(path);

const MAX_WORDS = 16;

/** Words of a query: in lower case, each once, the first of them. */
export const wordsOf = (query: string): readonly string[] =>
  [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [])].slice(0, MAX_WORDS);

/** A word counts once in a path, and in a text the more the more often it stands there. */
const PATH_POINTS = 100;
const TEXT_POINTS = 50;

/**
 * Most relevant first: what has the words of the query in its path or in it (`times` by path, word for word), rare words
 * before common ones; then what says what the repository is, what lies near its root, what changed last, what is small.
 */
export function rankFiles(
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

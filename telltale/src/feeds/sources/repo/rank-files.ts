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

/** Words of a query: in lower case, each once. */
export const wordsOf = (query: string): readonly string[] => [
  ...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? []),
];

/**
 * Most relevant first: what has the words of the query in its path or (`inText`) in it, then what says what the
 * repository is, what lies near its root, what changed last, what is small.
 */
export function rankFiles(
  files: readonly RepoFile[],
  words: readonly string[],
  inText: ReadonlyMap<string, number>,
): readonly RepoFile[] {
  const byAge = new Map(
    files
      .toSorted((a, b) => b.changedAt - a.changedAt)
      .map(({ path }, place) => [path, place / files.length]),
  );
  const scored = files.map((file) => {
    const { path, bytes } = file;
    const name = path.slice(path.lastIndexOf('/') + 1);
    const depth = path.split('/').length - 1;
    const asked = words.filter((word) => path.toLowerCase().includes(word)).length * 20;
    const telling = FIRST.test(name) ? 30 : MANIFEST.test(name) ? 20 : 0;
    const near = Math.max(0, 10 - 5 * depth) + Math.max(0, telling - 10 * depth);
    const fresh = 5 * (1 - (byAge.get(path) ?? 1));
    const small = 5 * (1 - Math.min(1, bytes / MAX_FILE_BYTES) ** 0.25);
    return { file, score: asked + (inText.get(path) ?? 0) + near + fresh + small };
  });
  return scored
    .sort((a, b) => b.score - a.score || (a.file.path < b.file.path ? -1 : 1))
    .map(({ file }) => file);
}

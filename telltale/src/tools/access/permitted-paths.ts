import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { join, parse, relative, resolve, sep } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { isInside } from '../../manifest/files.ts';
import {
  type Decision,
  decide,
  listed,
  mayAsk,
  named,
  type ReadRules,
  restOf,
} from '../../manifest/permission-rules.ts';
import type { Rules } from '../../manifest/schema/permissions.ts';
import { clip } from '../../manifest/schema/show-value.ts';

/** A path that may be used. Its links are resolved, so using it leads where it was checked. */
export interface PermittedPath {
  readonly real: string;
  /** The path in results: relative to the agent's folder if it is inside, with forward slashes. */
  readonly shown: string;
  readonly exists: boolean;
  /**
   * Whether a path below it (links resolved) may be used in the same way: not denied, and needing no further approval.
   */
  covers(real: string): boolean;
  /** Whether a file below it is a hard link to a denied file. */
  isDenied(real: string): Promise<boolean>;
}

export interface PermittedPaths {
  /** Whether a person may have to be asked. */
  readonly asks: boolean;
  /** The allowed folders and files, absolute, links resolved. */
  roots(): Promise<readonly string[]>;
  /** Entries that are denied or need approval, absolute, as written. The sandbox keeps commands away from them. */
  readonly guarded: readonly string[];
  /** The denied ones among them. No approval opens these, not even one of a folder they are in. */
  readonly denied: readonly string[];
  /** The runtime's own files and folders, absolute. No agent can use them, whatever its manifest says. */
  readonly runtimePaths: readonly string[];
  /**
   * Resolves a path relative to the agent's folder. Rejects with `not_permitted` if it lies outside the permitted paths
   * once every link is resolved (if it does not exist yet, the links of the folders that do). A path that needs
   * approval is rejected unless it is among `granted`.
   */
  resolve(path: string, granted?: readonly string[]): Promise<PermittedPath>;
  /** The grant that an approval of the path gives. Undefined if no approval is needed. Rejects as `resolve` does. */
  grantFor(path: string): Promise<string | undefined>;
}

/** An entry of the manifest, with the real path of its first folder. */
interface PathRule {
  readonly text: string;
  readonly real: string;
  readonly pattern: readonly string[];
  /** Whether it protects the runtime's own files and is not from the manifest. */
  readonly isOwn?: true;
}

const MAX_PATH_LENGTH = 4096;

export function createPermittedPaths(
  folder: string,
  permitted: Rules,
  own: PermittedPaths['runtimePaths'] = [],
): PermittedPaths {
  const shownFrom = (base: string, real: string) =>
    isInside(real, base) ? relative(base, real).split(sep).join('/') || '.' : real;
  const placeOf = async (text: string): Promise<PathRule> => {
    const { folder: start, rest } =
      isPattern(text) && !own.includes(text) ? splitPattern(text) : { folder: text, rest: [] };
    const path = resolve(folder, start);
    // A dangling link keeps its own location protected.
    const real = await resolveLinks(path).then(
      (found) => found.real,
      () => path,
    );
    return { text, real, pattern: rest };
  };
  const placesOf = (entries: readonly string[]) => Promise.all(named(entries).map(placeOf));
  const rest = restOf(permitted);
  /** Resolved anew for each path, because a folder may have become a link. */
  const placed = async (): Promise<ReadRules<PathRule>> => {
    const { allow, ask, deny } = permitted;
    const kept = await Promise.all(
      own.map(async (path) => ({ ...(await placeOf(path)), isOwn: true as const })),
    );
    const denied = [...(await placesOf(deny)), ...kept];
    return {
      entries: { allow: await placesOf(allow), ask: await placesOf(ask), deny: denied },
      rest,
    };
  };

  const judge = async (path: string) => {
    const wrong = invalidReason(path);
    if (wrong !== undefined) throw badPath(path, wrong);
    const base = (await resolveLinks(folder)).real;
    const { real, exists } = await resolveLinks(resolve(base, path));
    const rules = await placed();
    const { decision, by } = decide(rules, (place, each) => ruleMatches(place, real, each));
    if (decision === 'deny' && by === undefined) throw outsidePaths(path, real, permitted.allow);
    if (decision === 'deny') throw by?.isOwn === true ? ownPath(path) : deniedPath(path, by?.text ?? '');
    const other = exists ? await deniedHardLink(real, rules) : undefined;
    if (other !== undefined) throw deniedPath(path, other);
    return { base, real, exists, rules, decision };
  };

  const absolute = (entries: readonly string[]) => named(entries).map((entry) => resolve(folder, entry));
  return {
    asks: mayAsk(permitted),
    guarded: absolute([...permitted.deny, ...permitted.ask]),
    denied: absolute(permitted.deny),
    runtimePaths: own,
    async roots() {
      const { entries } = await placed();
      const roots = entries.allow.flatMap(({ real, pattern }) => (pattern.length === 0 ? [real] : []));
      return rest === 'allow' ? [...roots, parse(folder).root] : roots;
    },
    async resolve(path, granted = []) {
      const { base, real, exists, rules, decision } = await judge(path);
      if (decision === 'ask' && !granted.includes(pathGrant(real))) throw pathNotApproved(path, real);
      const judged = (other: string): Decision =>
        decide(rules, (place, each) => ruleMatches(place, other, each)).decision;
      return {
        real,
        shown: shownFrom(base, real),
        exists,
        covers(other) {
          const own = judged(other);
          return own === 'allow' || (own === 'ask' && decision === 'ask');
        },
        isDenied: async (other) => (await deniedHardLink(other, rules)) !== undefined,
      };
    },
    async grantFor(path) {
      const { real, decision } = await judge(path);
      return decision === 'ask' ? pathGrant(real) : undefined;
    },
  };
}

const pathGrant = (real: string): string => `path ${real}`;

/** Entries that restrict match in any case: on some disks `.ENV` is the file `.env`. */
function ruleMatches({ real: place, pattern }: PathRule, real: string, decision: Decision): boolean {
  if (pattern.length === 0)
    return isInside(real, place) || (decision !== 'allow' && isInside(foldCase(real), foldCase(place)));
  if (decision === 'allow') return isInside(real, place) && matchesPattern(pattern, relative(place, real));
  if (!isInside(foldCase(real), foldCase(place))) return false;
  return matchesPattern(pattern.map(foldCase), relative(foldCase(place), foldCase(real)));
}

/** Finds the denied entry that is the same file under another name. Renaming a file must not unprotect it. */
async function deniedHardLink(real: string, { entries }: ReadRules<PathRule>): Promise<string | undefined> {
  if (entries.deny.length === 0) return undefined;
  const own = await stat(real).catch(() => undefined);
  if (own === undefined || !own.isFile() || own.nlink < 2) return undefined;
  const isSame = async (path: string): Promise<boolean> => {
    const other = await stat(path).catch(() => undefined);
    return other !== undefined && other.ino === own.ino && other.dev === own.dev;
  };
  for (const { text, real: place, pattern, isOwn } of entries.deny) {
    if (pattern.length > 0) continue;
    if (await isSame(place)) return text;
    // The runtime's own folders are small: stores, and files with daemon tokens.
    if (isOwn === true) for (const path of await filesIn(place)) if (await isSame(path)) return text;
  }
  return undefined;
}

const MAX_OWN_FILES = 10_000;

/** All files below a folder. Empty if it is a file or does not exist. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .slice(0, MAX_OWN_FILES)
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Explains what is wrong with a path that some part of the system would not read as a plain name. */
function invalidReason(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (path.length > MAX_PATH_LENGTH) return `has more than ${MAX_PATH_LENGTH} characters`;
  if (path.includes('\0')) return 'holds a zero byte';
  if (platform() !== 'win32') return undefined;
  if (/^[\\/]{2}/.test(path)) return 'is a network or device path';
  return /:/.test(path.slice(parse(path).root.length)) ? 'holds a colon, which names a stream' : undefined;
}

/**
 * Opens a checked path and makes sure the open file is the one that was checked. In between, someone may have replaced
 * a folder on the path with a link. `real` contains no link.
 */
export async function openChecked(real: string, shown: string, flags: number): Promise<FileHandle> {
  const safely = flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await open(real, safely).catch(async (thrown: unknown) => {
    const isLink = (await lstat(real).catch(() => undefined))?.isSymbolicLink();
    throw isLink === true ? movedPath(shown) : thrown;
  });
  try {
    if ((await placeOf(handle, real)) !== real) throw movedPath(shown);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Linux reports where an open file lies. Other systems look the path up again, which leaves a short race. */
const placeOf = (handle: FileHandle, real: string): Promise<string> =>
  readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(real));

/**
 * A path that keeps leading to an open folder even if it is renamed or replaced. Systems without /proc get the plain
 * path.
 */
export async function openFolderPath(handle: FileHandle, real: string): Promise<string> {
  const held = `/proc/self/fd/${handle.fd}`;
  return (await readlink(held).catch(() => undefined)) === undefined ? real : held;
}

/** Resolves the links of the part of a path that exists, and keeps the rest as written. A dangling link is an error. */
export async function resolveLinks(
  path: string,
): Promise<{ readonly real: string; readonly exists: boolean }> {
  const whole = await realpath(path).catch(() => undefined);
  if (whole !== undefined) return { real: whole, exists: true };
  const { root } = parse(path);
  const segments = path.slice(root.length).split(sep);
  let real = root;
  for (const [index, segment] of segments.entries()) {
    const next = join(real, segment);
    const found = await realpath(next).catch((thrown: NodeJS.ErrnoException) => thrown);
    if (typeof found === 'string') {
      real = found;
      continue;
    }
    if (found.code === 'ENOENT' && (await lstat(next).catch(() => undefined)) === undefined)
      return { real: join(real, ...segments.slice(index)), exists: false };
    throw cannotFollow(path, next, found);
  }
  return { real, exists: true };
}

/** Whether an entry of `permissions.paths` is a glob with `*`, `?` or `**`. */
export const isPattern = (entry: string): boolean => /[*?]/.test(entry);

/** Splits an entry into the folder before its first wildcard and the rest, which is empty if there is no wildcard. */
export function splitPattern(entry: string): { readonly folder: string; readonly rest: readonly string[] } {
  const segments = entry.split(/[\\/]/);
  const first = segments.findIndex(isPattern);
  const folder = segments.slice(0, first === -1 ? segments.length : first).join('/');
  return {
    folder: folder === '' ? (entry.startsWith('/') ? '/' : '.') : folder,
    rest: first === -1 ? [] : segments.slice(first).filter((segment) => segment !== ''),
  };
}

/** Makes names comparable on file systems that ignore case or Unicode composition. */
export const foldCase = (text: string): string => text.normalize('NFC').toLowerCase();

/** Whether the pattern matches this relative path, or a folder that contains it. */
export function matchesPattern(pattern: readonly string[], below: string): boolean {
  const path = below.split(sep).filter((segment) => segment !== '');
  // reach[i]: the first i segments of the pattern match the segments read so far.
  let reach = pattern.map(() => false);
  reach = [true, ...reach];
  skipDoubleStars(pattern, reach);
  for (const segment of path) {
    const next = [false, ...pattern.map((each, at) => reach[at] === true && matchesSegment(each, segment))];
    for (const [at, each] of pattern.entries()) if (each === '**' && reach[at] === true) next[at] = true;
    skipDoubleStars(pattern, next);
    if (next[pattern.length] === true) return true;
    reach = next;
  }
  return false;
}

/** `**` also matches no folder at all, except at the end: `a/**` is what lies in `a`. */
function skipDoubleStars(pattern: readonly string[], reach: boolean[]): void {
  for (const [at, each] of pattern.entries())
    if (each === '**' && reach[at] === true && at < pattern.length - 1) reach[at + 1] = true;
}

/** `*` matches any run of characters, `?` matches one. After a `*`, the rest is tried at each later position. */
function matchesSegment(pattern: string, text: string): boolean {
  if (pattern === '**') return true;
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let i = 0; i < text.length; ) {
    if (at < pattern.length && (pattern[at] === '?' || (pattern[at] === text[i] && pattern[at] !== '*'))) {
      at++;
      i++;
    } else if (pattern[at] === '*') {
      star = at++;
      resume = i;
    } else if (star !== -1) {
      at = star + 1;
      i = ++resume;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

const badPath = (path: string, why: string) =>
  new RuntimeError('bad_parameters', `The path ${JSON.stringify(clip(path))} ${why}.`, {
    hint: "Give a path relative to the agent's folder.",
  });

const outsidePaths = (path: string, real: string, permitted: readonly string[]) =>
  new RuntimeError(
    'not_permitted',
    `The path "${clip(path, 200)}" leads to "${clip(real, 200)}", which is outside the permitted paths.`,
    {
      hint: `Permitted: ${listed(permitted.map((path) => JSON.stringify(path)))}. They are set in "permissions: { paths }" of the agent's manifest.`,
    },
  );

const deniedPath = (path: string, entry: string) =>
  new RuntimeError('not_permitted', `This agent is not allowed to use the path "${clip(path, 200)}".`, {
    hint: `The agent's manifest denies it: "permissions: { paths: { deny: [${clip(entry, 200)}] } }".`,
  });

const ownPath = (path: string) =>
  new RuntimeError('not_permitted', `"${clip(path, 200)}" belongs to the runtime's own store.`, {
    hint: 'No agent can use it, whatever its manifest says. Use a relic to keep data.',
  });

const pathNotApproved = (path: string, real: string) =>
  new RuntimeError(
    'not_permitted',
    `The use of "${clip(path, 200)}" ("${clip(real, 200)}") needs approval, but nobody could be asked.`,
    { hint: 'It is listed in "permissions: { paths: { ask } }" of the agent\'s manifest.' },
  );

const movedPath = (shown: string) =>
  new RuntimeError(
    'not_permitted',
    `"${clip(shown, 200)}" changed while it was opened. A folder on its path is now a link.`,
    { hint: 'Check what is there, and use the real path.' },
  );

function cannotFollow(path: string, at: string, cause: NodeJS.ErrnoException): RuntimeError {
  const shown = clip(path, 200);
  switch (cause.code) {
    case 'ENOTDIR':
      return new RuntimeError(
        'file_missing',
        `The path "${shown}" goes through a file at "${clip(at, 200)}".`,
        { cause },
      );
    case 'ENAMETOOLONG':
      return badPath(path, 'has a name in it that is too long for the system');
    case 'EACCES':
    case 'EPERM':
      return new RuntimeError('file_denied', `"${shown}" cannot be looked up: permission denied.`, {
        hint: 'Check the owner and the mode of the folders on the path.',
        cause,
      });
    default:
      return new RuntimeError(
        'not_permitted',
        `The path "${shown}" cannot be followed: "${clip(at, 200)}" is a link that leads nowhere, or back to itself.`,
        { hint: 'Use the path that the link should lead to, or remove the link.', cause },
      );
  }
}

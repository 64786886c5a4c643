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

/** A path that may be touched: links resolved, so that using it leads where it was checked. */
export interface PermittedPath {
  readonly real: string;
  /** Relative to the agent's folder where it is below it, with forward slashes: how results name it. */
  readonly shown: string;
  readonly exists: boolean;
  /** Whether something below it, links resolved, may be touched like it: nothing denied, nothing to be asked for. */
  covers(real: string): boolean;
  /** Whether a file below it is one that is denied, under another name: a hard link to it. */
  isDenied(real: string): Promise<boolean>;
}

export interface PermittedPaths {
  /** Whether a person may have to be asked. */
  readonly asks: boolean;
  /** The folders and files that are allowed, absolute, links resolved. */
  roots(): Promise<readonly string[]>;
  /** Entries that are not simply allowed, as they are written, absolute: for what keeps commands away from them. */
  readonly guarded: readonly string[];
  /** Those of them that no approval reaches, also not one of a folder that they lie in. */
  readonly denied: readonly string[];
  /** Files and folders of the runtime itself, absolute: no agent gets at them, whatever its manifest says. */
  readonly own: readonly string[];
  /**
   * Relative to the agent's folder. Rejects with `not_permitted` for what lies outside the permitted paths once every
   * link is resolved; of a path that does not exist yet, those of the folders that do. What has to be asked for is
   * refused unless it is among `granted`.
   */
  resolve(path: string, granted?: readonly string[]): Promise<PermittedPath>;
  /** What an approval of the path has to be for; undefined where none is needed. Rejects as `resolve` does. */
  grantFor(path: string): Promise<string | undefined>;
}

/** An entry of the manifest, with the folder that it begins in as it really is. */
interface PermittedPathsPlace {
  readonly text: string;
  readonly real: string;
  readonly pattern: readonly string[];
  /** Whether it is the runtime's, and not of the manifest. */
  readonly isOwn?: true;
}

const MAX_PATH_LENGTH = 4096;

export function createPermittedPaths(
  folder: string,
  permitted: Rules,
  own: PermittedPaths['own'] = [],
): PermittedPaths {
  const shownFrom = (base: string, real: string) =>
    isInside(real, base) ? relative(base, real).split(sep).join('/') || '.' : real;
  const placeOf = async (text: string): Promise<PermittedPathsPlace> => {
    const { folder: start, rest } =
      isPattern(text) && !own.includes(text) ? splitPattern(text) : { folder: text, rest: [] };
    const path = resolve(folder, start);
    // A link that leads nowhere keeps its own place guarded.
    const real = await follow(path).then(
      (found) => found.real,
      () => path,
    );
    return { text, real, pattern: rest };
  };
  const placesOf = (entries: readonly string[]) => Promise.all(named(entries).map(placeOf));
  const rest = restOf(permitted);
  /** Anew for each path: what was a folder may be a link by now. */
  const placed = async (): Promise<ReadRules<PermittedPathsPlace>> => {
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
    const wrong = oddity(path);
    if (wrong !== undefined) throw badPath(path, wrong);
    const base = (await follow(folder)).real;
    const { real, exists } = await follow(resolve(base, path));
    const rules = await placed();
    const { decision, by } = decide(rules, (place, each) => names(place, real, each));
    if (decision === 'deny' && by === undefined) throw outsidePaths(path, real, permitted.allow);
    if (decision === 'deny') throw by?.isOwn === true ? ownPath(path) : deniedPath(path, by?.text ?? '');
    const other = exists ? await hardLinked(real, rules) : undefined;
    if (other !== undefined) throw deniedPath(path, other);
    return { base, real, exists, rules, decision };
  };

  const absolute = (entries: readonly string[]) => named(entries).map((entry) => resolve(folder, entry));
  return {
    asks: mayAsk(permitted),
    guarded: absolute([...permitted.deny, ...permitted.ask]),
    denied: absolute(permitted.deny),
    own,
    async roots() {
      const { entries } = await placed();
      const roots = entries.allow.flatMap(({ real, pattern }) => (pattern.length === 0 ? [real] : []));
      return rest === 'allow' ? [...roots, parse(folder).root] : roots;
    },
    async resolve(path, granted = []) {
      const { base, real, exists, rules, decision } = await judge(path);
      if (decision === 'ask' && !granted.includes(pathGrant(real))) throw askedPath(path, real);
      const judged = (other: string): Decision =>
        decide(rules, (place, each) => names(place, other, each)).decision;
      return {
        real,
        shown: shownFrom(base, real),
        exists,
        covers(other) {
          const own = judged(other);
          return own === 'allow' || (own === 'ask' && decision === 'ask');
        },
        isDenied: async (other) => (await hardLinked(other, rules)) !== undefined,
      };
    },
    async grantFor(path) {
      const { real, decision } = await judge(path);
      return decision === 'ask' ? pathGrant(real) : undefined;
    },
  };
}

const pathGrant = (real: string): string => `path ${real}`;

/** What is not simply allowed is named whatever the case: on some disks `.ENV` is the file `.env`. */
function names({ real: place, pattern }: PermittedPathsPlace, real: string, decision: Decision): boolean {
  if (pattern.length === 0)
    return isInside(real, place) || (decision !== 'allow' && isInside(folded(real), folded(place)));
  if (decision === 'allow') return isInside(real, place) && matchesPattern(pattern, relative(place, real));
  if (!isInside(folded(real), folded(place))) return false;
  return matchesPattern(pattern.map(folded), relative(folded(place), folded(real)));
}

/** The guarded entry that is the same file under another name; a copy of its name is not its protection. */
async function hardLinked(
  real: string,
  { entries }: ReadRules<PermittedPathsPlace>,
): Promise<string | undefined> {
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
    // The runtime's own folders are small: stores, and files with the tokens of daemons.
    if (isOwn === true) for (const path of await filesIn(place)) if (await isSame(path)) return text;
  }
  return undefined;
}

const MAX_OWN_FILES = 10_000;

/** Files below a folder; none where it is a file or not there. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .slice(0, MAX_OWN_FILES)
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Characters that some part of the system reads as something else than a name. */
function oddity(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (path.length > MAX_PATH_LENGTH) return `has more than ${MAX_PATH_LENGTH} characters`;
  if (path.includes('\0')) return 'holds a zero byte';
  if (platform() !== 'win32') return undefined;
  if (/^[\\/]{2}/.test(path)) return 'is a network or device path';
  return /:/.test(path.slice(parse(path).root.length)) ? 'holds a colon, which names a stream' : undefined;
}

/**
 * Opens a path that was checked, and makes sure that what is open is what was checked: between the two somebody may
 * have put a link in the place of a folder on its way. `real` has no link in it.
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

/** Linux says where an open file lies; elsewhere it is looked up again, which leaves a moment. */
const placeOf = (handle: FileHandle, real: string): Promise<string> =>
  readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(real));

/** A path by which a folder that is open is reached whatever becomes of its name; the name where there is none. */
export async function heldFolder(handle: FileHandle, real: string): Promise<string> {
  const held = `/proc/self/fd/${handle.fd}`;
  return (await readlink(held).catch(() => undefined)) === undefined ? real : held;
}

/** The real path of the part that exists, and the rest as it is written. A link that leads nowhere is an error. */
export async function follow(path: string): Promise<{ readonly real: string; readonly exists: boolean }> {
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

/** Whether an entry of `permissions.paths` is a glob: `*`, `?` and `**` between slashes. */
export const isPattern = (entry: string): boolean => /[*?]/.test(entry);

/** The folder that an entry begins with, before its first wildcard, and the rest; none where there is no wildcard. */
export function splitPattern(entry: string): { readonly folder: string; readonly rest: readonly string[] } {
  const segments = entry.split(/[\\/]/);
  const first = segments.findIndex(isPattern);
  const folder = segments.slice(0, first === -1 ? segments.length : first).join('/');
  return {
    folder: folder === '' ? (entry.startsWith('/') ? '/' : '.') : folder,
    rest: first === -1 ? [] : segments.slice(first).filter((segment) => segment !== ''),
  };
}

/** One and the same name for file systems that do not tell case or composition apart. */
export const folded = (text: string): string => text.normalize('NFC').toLowerCase();

/** Whether the pattern names this path, relative to its folder, or a folder that it lies in. */
export function matchesPattern(pattern: readonly string[], below: string): boolean {
  const path = below.split(sep).filter((segment) => segment !== '');
  // reach[i]: the segments of the path so far are named by the first i of the pattern.
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

/** `**` also stands for no folder at all, but not at the end: `a/**` is what lies in `a`. */
function skipDoubleStars(pattern: readonly string[], reach: boolean[]): void {
  for (const [at, each] of pattern.entries())
    if (each === '**' && reach[at] === true && at < pattern.length - 1) reach[at + 1] = true;
}

/** `*` is any run of characters, `?` one; what follows the last `*` is tried at each place behind it. */
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

const askedPath = (path: string, real: string) =>
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

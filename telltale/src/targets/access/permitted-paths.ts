import { readdir, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { join, parse, relative, resolve, sep } from 'node:path';
import { isInside } from '../../manifest/files/project-root.ts';
import {
  type Decision,
  decide,
  mayAsk,
  named,
  type ReadRules,
  restOf,
} from '../../manifest/permissions/decide.ts';
import type { Rules } from '../../manifest/schema/permissions.ts';
import { follow } from './follow.ts';
import { askedPath, badPath, deniedPath, outsidePaths, ownPath } from './path-errors.ts';
import { folded, isPattern, matchesPattern, splitPattern } from './path-pattern.ts';

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
interface Place {
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
  const placeOf = async (text: string): Promise<Place> => {
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
  const placed = async (): Promise<ReadRules<Place>> => {
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
function names({ real: place, pattern }: Place, real: string, decision: Decision): boolean {
  if (pattern.length === 0)
    return isInside(real, place) || (decision !== 'allow' && isInside(folded(real), folded(place)));
  if (decision === 'allow') return isInside(real, place) && matchesPattern(pattern, relative(place, real));
  if (!isInside(folded(real), folded(place))) return false;
  return matchesPattern(pattern.map(folded), relative(folded(place), folded(real)));
}

/** The guarded entry that is the same file under another name; a copy of its name is not its protection. */
async function hardLinked(real: string, { entries }: ReadRules<Place>): Promise<string | undefined> {
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

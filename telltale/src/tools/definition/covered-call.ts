import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { IMPORTED } from '../access/agent-files.ts';
import type { PinnedFile } from '../process/command-request.ts';
import type { Need } from '../target.ts';
import type { Coverage } from './command-coverage.ts';

/** The code of an approval that counts no longer: the session or run asks again. */
export const APPROVAL_VOID = 'approval_void';

/** What approvals of covered files are for: exactly these files, with this content. */
const filesGrant = ({ files }: Coverage): readonly string[] =>
  files.length === 0
    ? []
    : [`files sha256:${createHash('sha256').update(JSON.stringify(files)).digest('hex')}`];

/**
 * The same need, for the files that the command names as well. With `strict` it throws `not_permitted` where the command
 * may run files that nobody can name beforehand.
 */
export function withCoverage(need: Need, coverage: Coverage, strict: boolean): Need {
  const { files, uncovered } = coverage;
  if (strict && uncovered.length > 0) throw notDetermined(need, uncovered);
  const { always, ...rest } = need;
  // What runs files that nobody can name beforehand is asked about each time.
  const isOffered = always !== undefined && !strict && uncovered.length === 0;
  return {
    ...rest,
    ...(isOffered ? { always } : {}),
    grants: [...need.grants, ...filesGrant(coverage)],
    ...(files.length === 0 ? {} : { files }),
    ...(uncovered.length === 0 ? {} : { uncovered }),
  };
}

const MAX_PINNED = 4 * 1024 * 1024;

/**
 * Compares the files of a command with what was approved, as the last thing before it starts, and gives the bytes that
 * were compared. Throws `approval_void` where they differ. `coverage` is made anew by each call.
 */
export function approvedFiles(
  target: string,
  granted: readonly string[],
  coverage: () => Coverage,
): readonly PinnedFile[] {
  const now = coverage();
  if (!filesGrant(now).every((grant) => granted.includes(grant))) throw filesChanged(target);
  if (filesGrant(now).length === 0 && granted.some((grant) => grant.startsWith('files ')))
    throw filesChanged(target);
  const pinned = now.runs.flatMap((path) => pinnedFile(path) ?? []);
  // Read again, now that the bytes are held: they are the approved ones, or the files have changed in between.
  if (pinned.length > 0 && filesGrant(coverage()).some((grant) => !granted.includes(grant)))
    throw filesChanged(target);
  return pinned;
}

function pinnedFile(path: string): PinnedFile | undefined {
  try {
    const { size, mode } = statSync(path);
    return size > MAX_PINNED ? undefined : { path, content: readFileSync(path), mode: mode & 0o777 };
  } catch {
    return undefined; // it was not there when it was approved, either
  }
}

const filesChanged = (target: string) =>
  new RuntimeError(APPROVAL_VOID, `The files of ${target} are not the ones that were approved.`, {
    hint: 'A person is asked again, about what would run now.',
  });

const notDetermined = ({ target, what }: Need, uncovered: readonly string[]) =>
  new RuntimeError(
    'not_permitted',
    `The call of ${target} is refused: what it runs cannot be determined beforehand, and "approval: strict" demands that. ${uncovered.join('; ')}.`,
    {
      hint: `Name each file that runs, without variables, wildcards or other programs in between: "sh build.sh" for a script of plain commands. Asked for was: ${what.slice(0, 200)}`,
    },
  );

/** Words of a command that are looked at. */
const MAX_WORDS = 100;

/**
 * The files that a command of a manifest names word for word: a script that an interpreter is given, a program by its
 * path. What a name stands for on the PATH is the system's.
 */
export const commandFiles = (command: readonly string[], folder: string): readonly string[] =>
  command.slice(0, MAX_WORDS).flatMap((word, index) => {
    if (/[{$]/.test(word) || (index === 0 && !word.includes('/'))) return [];
    const path = resolve(folder, word);
    return isFile(path) ? [path] : [];
  });

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false; // a word need not be a path: code for `node -e` is too long for one
  }
}

/** Modules that are looked through for what they import. */
const MAX_MODULES = 1_000;

/** A module with all that it and those import by a path. Packages that they import by name are not among them. */
export function moduleFiles(module: string): ReadonlySet<string> {
  const waiting = [module];
  const seen = new Set<string>();
  for (let path = waiting.pop(); path !== undefined && seen.size < MAX_MODULES; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const [, imported = ''] of sourceOf(path).matchAll(IMPORTED))
      waiting.push(resolve(dirname(path), imported));
  }
  return seen;
}

function sourceOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // its hash says that it cannot be read
  }
}

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { IMPORTED } from '../access/loaded-code.ts';
import type { PinnedFile } from '../process/command-request.ts';
import type { ApprovalNeed } from '../target.ts';
import type { Coverage } from './command-coverage.ts';

/** The error code of an approval that no longer applies, so the session or run asks again. */
export const APPROVAL_VOID = 'approval_void';

/** The grants for approved files: exactly these files, with this content. */
const filesGrant = ({ files }: Coverage): readonly string[] =>
  files.length === 0
    ? []
    : [`files sha256:${createHash('sha256').update(JSON.stringify(files)).digest('hex')}`];

/**
 * Adds the files a command names to its approval. With `strict`, throws `not_permitted` if the command may run files
 * that cannot be determined in advance.
 */
export function withCoverage(need: ApprovalNeed, coverage: Coverage, strict: boolean): ApprovalNeed {
  const { files, uncovered } = coverage;
  if (strict && uncovered.length > 0) throw notDetermined(need, uncovered);
  const { always, ...rest } = need;
  // A command that may run unknown files needs approval each time.
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
 * Compares the files of a command with the approved ones immediately before it starts, and returns the bytes that were
 * compared. Throws `approval_void` if they differ. Each call of `coverage` reads the files again.
 */
export function checkApprovedFiles(
  target: string,
  granted: readonly string[],
  coverage: () => Coverage,
): readonly PinnedFile[] {
  const now = coverage();
  if (!filesGrant(now).every((grant) => granted.includes(grant))) throw filesChanged(target);
  if (filesGrant(now).length === 0 && granted.some((grant) => grant.startsWith('files ')))
    throw filesChanged(target);
  const pinned = now.runs.flatMap((path) => pinnedFile(path) ?? []);
  // Read the files again now that the bytes are in memory: either they are the approved ones, or the files changed in
  // between.
  if (pinned.length > 0 && filesGrant(coverage()).some((grant) => !granted.includes(grant)))
    throw filesChanged(target);
  return pinned;
}

function pinnedFile(path: string): PinnedFile | undefined {
  try {
    const { size, mode } = statSync(path);
    return size > MAX_PINNED ? undefined : { path, content: readFileSync(path), mode: mode & 0o777 };
  } catch {
    return undefined; // it did not exist when it was approved, either
  }
}

const filesChanged = (target: string) =>
  new RuntimeError(APPROVAL_VOID, `The files of ${target} are not the ones that were approved.`, {
    hint: 'A person is asked again about what would run now.',
  });

const notDetermined = ({ target, what }: ApprovalNeed, uncovered: readonly string[]) =>
  new RuntimeError(
    'not_permitted',
    `The call of ${target} is refused. "approval: strict" requires that all files it runs are known in advance, and they are not: ${uncovered.join('; ')}.`,
    {
      hint: `Name each file that runs directly, without variables, wildcards or other programs in between, such as "sh build.sh" for a script of plain commands. The call was: ${what.slice(0, 200)}`,
    },
  );

/** The most words of a command that are examined. */
const MAX_WORDS = 100;

/**
 * The files that a manifest's command names literally: a script for an interpreter, or a program by its path. Names
 * without a path are found on PATH and belong to the system.
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
    return false; // the word may be no path: code for `node -e` is too long to be one
  }
}

/** The most modules that are searched for imports. */
const MAX_MODULES = 1_000;

/** A module and everything it imports by a path, directly or indirectly. Packages imported by name are left out. */
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
    return ''; // its hash reports that it cannot be read
  }
}

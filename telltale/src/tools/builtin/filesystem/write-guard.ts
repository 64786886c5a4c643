import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import { isInside } from '../../../manifest/files.ts';
import type { Permissions } from '../../access/permissions.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { isPattern, matchesPattern, resolveLinks, splitPattern } from '../../access/permitted-paths.ts';
import type { ApprovalNeed } from '../../target.ts';
import { readTextFile } from './text-file.ts';

/** A file as it would be after a write. */
export interface PlannedWrite {
  readonly path: PermittedPath;
  readonly content: string;
  /** The present content. Read from the file if absent. */
  readonly before?: string;
}

/**
 * Keeps an agent's writes away from files that are loaded as configuration or code. If `permissions.manifests` lists
 * the file, a person is shown the change and decides.
 */
export class WriteGuard {
  readonly #permissions: Pick<Permissions, 'protectedPaths' | 'manifests'>;
  readonly #folder: string;

  constructor(permissions: Pick<Permissions, 'protectedPaths' | 'manifests'>, folder: string) {
    this.#permissions = permissions;
    this.#folder = folder;
  }

  /** Refuses a location that cannot be written at all, before anything about its content is revealed. */
  async checkLocation(path: PermittedPath): Promise<void> {
    refuseGit(path);
    const reason = await this.#permissions.protectedPaths.whyNotWritable(path.real);
    if (reason !== undefined && !(await this.#mayBeApproved(path))) throw protectedFile(path.shown, reason);
  }

  async check(planned: PlannedWrite, granted: readonly string[] = []): Promise<void> {
    const { path, content } = planned;
    refuseGit(path);
    const reason = await this.#permissions.protectedPaths.whyNotWritable(path.real, content);
    if (reason === undefined) return;
    if (!(await this.#mayBeApproved(path))) throw protectedFile(path.shown, reason);
    if (!granted.includes(grantOf(path, await textBefore(planned), content)))
      throw nobodyApproved(path.shown);
  }

  /** What a person has to approve. Undefined if the write is allowed, or refused, without asking. */
  async need(planned: PlannedWrite, target: string): Promise<ApprovalNeed | undefined> {
    const { path, content } = planned;
    const reason = await this.#permissions.protectedPaths.whyNotWritable(path.real, content);
    if (reason === undefined || !(await this.#mayBeApproved(path))) return undefined;
    const before = await textBefore(planned);
    return {
      target,
      what: `change "${path.shown}", which is loaded as configuration or code\n\n${unifiedDiff(path.shown, before, content)}`,
      because: 'permissions: { manifests }',
      grants: [grantOf(path, before, content)],
    };
  }

  async #mayBeApproved(path: PermittedPath): Promise<boolean> {
    if (await this.#permissions.protectedPaths.isNeverWritable(path.real)) return false;
    for (const entry of this.#permissions.manifests) {
      const { folder, rest } = isPattern(entry) ? splitPattern(entry) : { folder: entry, rest: [] };
      const start = (await resolveLinks(resolve(this.#folder, folder))).real;
      if (!isInside(path.real, start)) continue;
      if (rest.length === 0 || matchesPattern(rest, path.real.slice(start.length))) return true;
    }
    return false;
  }
}

/** The grant names both contents by hash, so an approval covers exactly this change. */
function grantOf({ real }: PermittedPath, before: string | undefined, after: string): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  return `manifest ${real} from ${before === undefined ? 'nothing' : hash(before)} to ${hash(after)}`;
}

const textBefore = async ({ path, before }: PlannedWrite): Promise<string | undefined> =>
  before ?? (path.exists ? await readTextFile(path) : undefined);

const CONTEXT_LINES = 3;

/** One hunk, from the first to the last line that differs. */
function unifiedDiff(name: string, before: string | undefined, after: string): string {
  const was = before === undefined ? [] : linesOf(before);
  const is = linesOf(after);
  let start = 0;
  while (start < Math.min(was.length, is.length) && was[start] === is[start]) start++;
  let end = 0;
  const most = Math.min(was.length, is.length) - start;
  while (end < most && was[was.length - 1 - end] === is[is.length - 1 - end]) end++;
  const first = Math.max(0, start - CONTEXT_LINES);
  const tail = was.slice(was.length - end, was.length - end + CONTEXT_LINES);
  const removed = was.slice(start, was.length - end);
  const added = is.slice(start, is.length - end);
  const head = was.slice(first, start);
  const count = (lines: number, changed: number) =>
    `${lines + changed === 0 ? 0 : first + 1},${lines + changed}`;
  const around = head.length + tail.length;
  return [
    `--- ${before === undefined ? '/dev/null' : name}`,
    `+++ ${name}`,
    `@@ -${count(around, removed.length)} +${count(around, added.length)} @@`,
    ...head.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...tail.map((line) => ` ${line}`),
  ].join('\n');
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  else lines.push('\\ No newline at end of file');
  return lines;
}

/** Git runs what is written there: a hook or a setting would bypass `permissions.shell`. */
function refuseGit(path: PermittedPath): void {
  if (!path.real.split(/[\\/]/).some((segment) => /^\.git[. ]*$/i.test(segment))) return;
  throw new RuntimeError('not_permitted', `"${path.shown}" belongs to git and cannot be written.`, {
    hint: 'Use the tool "git".',
  });
}

const protectedFile = (shown: string, reason: string) =>
  new RuntimeError('not_permitted', `"${shown}" cannot be written by agents: ${reason}.`, {
    hint: 'Choose another name or folder. To let an agent write manifests, set "permissions: { manifests: [PATH] }". A person then approves each change.',
  });

const nobodyApproved = (shown: string) =>
  new RuntimeError('not_permitted', `This change of "${shown}" needs approval, but nobody was asked.`, {
    hint: 'The agent\'s manifest lists it in "permissions: { manifests }". An approval covers one change of one file.',
  });

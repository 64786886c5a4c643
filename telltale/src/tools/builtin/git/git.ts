import { relative, resolve, sep } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { isInside } from '../../../manifest/files.ts';
import { bareHost } from '../../../manifest/permission-rules.ts';
import { combineNeeds, needForPath } from '../../access/approval-need.ts';
import {
  foldCase,
  isPattern,
  matchesPattern,
  resolveLinks,
  splitPattern,
} from '../../access/permitted-paths.ts';
import { checkInAdvance } from '../../http/checked-lookup.ts';
import { defineOperations, type Operation, operationMembers } from '../../operations.ts';
import type { ApprovalNeed, Target, TargetCall } from '../../target.ts';
import type { TargetDeps } from '../../target-deps.ts';
import { CheckedChanges } from './checked-changes.ts';
import { GIT_OPERATIONS, type GitOperation, remoteOf } from './git-operations.ts';
import { type GitCall, gitText, runGit, WHAT } from './run-git.ts';

/** Runs git on a repository inside the permitted paths. The result is what git prints. */
export function git(deps: TargetDeps): Target {
  const operations = Object.fromEntries(
    Object.entries(GIT_OPERATIONS).map(([name, operation]): [string, Operation] => [
      name,
      {
        description: operation.description,
        parameters: operation.parameters,
        idempotent: operation.idempotent,
        ...(operation.required === undefined ? {} : { required: operation.required }),
        run: (input, call) => perform(operation, input, call, deps),
      },
    ]),
  );
  const defined = defineOperations(WHAT, operations);
  return {
    kind: 'tool',
    name: 'git',
    description: 'Works with a git repository. The result is the text that git prints.',
    ...operationMembers(defined),
    start: 'on_close',
    example: {
      input: { operation: 'status' },
      output: '## main\n M README.md\n',
      answer: 'README.md has changed.',
    },
    ...(deps.permissions.paths.asks || deps.permissions.hosts.asks
      ? { needs: (input: JsonObject) => needsOf(input, deps) }
      : {}),
    run: defined.run,
  };
}

async function needsOf(input: JsonObject, deps: TargetDeps): Promise<ApprovalNeed | undefined> {
  const { paths, hosts } = deps.permissions;
  const name = String(input.operation);
  const path = typeof input.path === 'string' ? input.path : '.';
  const folder = await needForPath(paths, path, WHAT, `git ${name} in`);
  const operation = Object.hasOwn(GIT_OPERATIONS, name) ? GIT_OPERATIONS[name] : undefined;
  if (operation?.remote !== true || !hosts.asks) return folder;
  // The approval names the remote's addresses. Git reads them in a folder that is part of the same approval.
  const granted = folder?.grants ?? [];
  const { real } = await paths.resolve(path, granted);
  const call: GitCall = { signal: AbortSignal.timeout(LOOK_UP_MS), idempotencyKey: '', granted };
  const remotes = await addressesOf(remoteOf(input), real, call, deps);
  const asked = remotes.flatMap(({ address, host }): readonly ApprovalNeed[] => {
    const grant = host === undefined ? undefined : hosts.grantFor(host.name, host.port);
    const because = 'permissions: { network: { ask } }';
    const what = `git ${name} with ${address}`;
    return grant === undefined ? [] : [{ target: WHAT, what, because, grants: [grant] }];
  });
  return combineNeeds(folder, ...asked);
}

async function perform(operation: GitOperation, input: JsonObject, call: TargetCall, deps: TargetDeps) {
  const args = operation.args(input);
  const path = typeof input.path === 'string' ? input.path : '.';
  const { real } = await deps.permissions.paths.resolve(path, call.granted);
  await checkFiles(input, real, call, deps);
  const remote = operation.remote === true && (await checkRemote(remoteOf(input), real, call, deps));
  const env = operation.commits === true ? await identityFor(real, call, deps) : {};
  const { guarded, runtimePaths: own } = deps.permissions.paths;
  const stagesAll = operation.commits === true && input.all === true;
  const isGuarded = stagesAll || operation.reachesFiles?.(input) === true;
  const top = isGuarded || operation.changes !== undefined ? await repositoryRoot(real, call, deps) : real;
  const kept = isGuarded ? await excludePathspecs([...guarded, ...own], { top, cwd: real }) : [];
  if (operation.changes !== undefined)
    return new CheckedChanges({ call, deps, cwd: real, top, excluded: kept, env, remote })[operation.changes](
      input,
    );
  // `commit --all` takes no pathspecs and would stage denied files, so files are staged separately.
  if (stagesAll) await gitText(['add', '--update', '--', ':(top)', ...kept], real, call, deps);
  const named = await commitsOnly(operation, input, real, call, deps);
  if (typeof input.file === 'string' && (await isTree(named, real, call, deps)))
    return listTree(named, real, call, deps);
  // `init` creates a repository in the folder itself, which has no settings yet that could run a program.
  const checked = args[0] === 'init';
  return gitText([...operation.args(named), ...kept], real, call, deps, { env, remote, checked });
}

/** Replaces the commits in the input with their ids. A blob or a tree is refused. */
async function commitsOnly(
  { commitsIn = [] }: GitOperation,
  input: JsonObject,
  cwd: string,
  call: TargetCall,
  deps: TargetDeps,
): Promise<JsonObject> {
  const named: Record<string, Json> = { ...input };
  for (const key of commitsIn) {
    const given = input[key];
    if (typeof given !== 'string') continue;
    const [, first = given, dots = '', second = ''] = /^(.*?)(\.{2,3})(.*)$/s.exec(given) ?? [];
    const ends = dots === '' ? [first] : [first || 'HEAD', second || 'HEAD'];
    const ids: string[] = [];
    for (const end of ends) {
      const commit = `${end}^{commit}`;
      const ended = await runGit(
        ['rev-parse', '--verify', '--quiet', '--end-of-options', commit],
        cwd,
        call,
        deps,
      );
      if (ended.exitCode !== 0) throw noCommit(key, given);
      ids.push(ended.stdout.text().trim());
    }
    named[key] = ids.join(dots);
  }
  return named;
}

const objectOf = ({ ref = 'HEAD', file }: JsonObject): string => `${String(ref)}:${String(file)}`;

async function isTree(input: JsonObject, cwd: string, call: TargetCall, deps: TargetDeps): Promise<boolean> {
  const ended = await runGit(['cat-file', '-t', objectOf(input)], cwd, call, deps);
  return ended.exitCode === 0 && ended.stdout.text().trim() === 'tree';
}

/** Lists a folder of a commit, without entries that the agent may not read. */
async function listTree(input: JsonObject, cwd: string, call: TargetCall, deps: TargetDeps): Promise<string> {
  const top = await repositoryRoot(cwd, call, deps);
  const file = String(input.file);
  const folder = resolve(/^\.{1,2}(\/|$)/.test(file) ? cwd : top, file);
  const listed = await gitText(['ls-tree', '-z', objectOf(input)], cwd, call, deps, { whole: true });
  const shown: string[] = [];
  for (const line of listed.split('\0').filter((each) => each !== '')) {
    const name = line.slice(line.indexOf('\t') + 1);
    const isPermitted = await deps.permissions.paths.resolve(resolve(folder, name), call.granted).then(
      () => true,
      () => false,
    );
    if (isPermitted) shown.push(/^\d+ tree /.test(line) ? `${name}/` : name);
  }
  return [`tree ${String(input.ref ?? 'HEAD')}:${file}`, '', ...shown].join('\n');
}

const noCommit = (key: string, given: string) =>
  new RuntimeError('bad_parameters', `"/${key}" is "${given.slice(0, 100)}", which is not a commit.`, {
    hint: 'Give a commit, a branch or a tag. To show a file of a commit, use "ref" and "file".',
  });

/** Checks that the files named by a call are permitted, too. */
async function checkFiles(
  input: JsonObject,
  folder: string,
  call: TargetCall,
  deps: TargetDeps,
): Promise<void> {
  const { granted } = call;
  const { paths } = deps.permissions;
  const named = Array.isArray(input.paths) ? input.paths : [];
  for (const file of named) if (typeof file === 'string') await paths.resolve(resolve(folder, file), granted);
  if (typeof input.file !== 'string') return;
  const top = await repositoryRoot(folder, call, deps);
  // Git resolves it from the root of the repository, unless it begins with a dot.
  for (const from of [folder, top]) await paths.resolve(resolve(from, input.file), granted);
}

const repositoryRoot = (folder: string, call: TargetCall, deps: TargetDeps): Promise<string> =>
  gitText(['rev-parse', '--show-toplevel'], folder, call, deps);

/** The identity for commits if git has none configured, because git refuses to commit without one. */
async function identityFor(cwd: string, call: TargetCall, deps: TargetDeps) {
  const known = await runGit(['config', '--get', 'user.email'], cwd, call, deps);
  if (known.exitCode === 0) return {};
  const name = `${deps.agentName} (Telltale)`;
  const email = 'agent@telltale.invalid';
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}

/**
 * Checks that a remote's host is permitted, or that a remote that is a folder is a permitted path. Returns whether the
 * remote is on another machine: for a local folder git needs neither network nor keys, and the folder's settings could
 * run programs.
 */
async function checkRemote(
  remote: string,
  cwd: string,
  call: TargetCall,
  deps: TargetDeps,
): Promise<boolean> {
  const { resolveHost, own, permissions } = deps;
  const { paths, hosts } = permissions;
  const addresses = await addressesOf(remote, cwd, call, deps);
  for (const { address, host } of addresses) {
    if (host === undefined) await paths.resolve(address.replace(/^file:\/\//, ''), call.granted);
    else await checkInAdvance({ hosts, resolveHost, own }, bareHost(host.name), host.port, call.granted);
  }
  return addresses.some(({ host }) => host !== undefined);
}

/** How long git may take to look up a remote's address, before the action has started. */
const LOOK_UP_MS = 30_000;

async function addressesOf(remote: string, cwd: string, call: GitCall, deps: TargetDeps) {
  const fetched = await gitText(['remote', 'get-url', '--all', '--', remote], cwd, call, deps);
  const pushed = await gitText(['remote', 'get-url', '--push', '--all', '--', remote], cwd, call, deps);
  return [...new Set([...fetched.split('\n'), ...pushed.split('\n')])].map((line) => {
    const address = line.trim();
    const host = hostOf(address);
    if (host === 'unreadable') throw badAddress(remote, address);
    return { address, host };
  });
}

const PORTS: Readonly<Record<string, string>> = {
  'https:': '443',
  'http:': '80',
  'ssh:': '22',
  'git:': '9418',
};

/** Undefined for a folder. `host:path` is the short form of ssh addresses. */
function hostOf(
  address: string,
): { readonly name: string; readonly port: string } | 'unreadable' | undefined {
  if (address.startsWith('file://')) return undefined;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    const port = url === undefined ? undefined : url.port || PORTS[url.protocol];
    return url === undefined || port === undefined ? 'unreadable' : { name: url.hostname, port };
  }
  if (address.includes('::')) return 'unreadable'; // a remote helper of git, which may run anything
  const short = /^(?:[^@/]+@)?([^/:]{2,}):/.exec(address)?.[1];
  return short === undefined ? undefined : { name: short, port: '22' };
}

const badAddress = (remote: string, address: string) =>
  new RuntimeError(
    'not_permitted',
    `The remote "${remote}" is at "${address.slice(0, 100)}", which cannot be checked.`,
    {
      hint: 'Use a remote with https, http, ssh or git, or a folder.',
    },
  );

/**
 * Pathspecs that exclude the absolute paths of `guarded` from a repository. Otherwise a call that stages a folder or
 * shows a patch would reach files that no call may name. `top` is the root of the repository, links resolved. `cwd`,
 * links resolved, may be used itself, because it was approved.
 */
async function excludePathspecs(
  guarded: readonly string[],
  { top, cwd }: { readonly top: string; readonly cwd: string },
): Promise<readonly string[]> {
  const specs = await Promise.all(guarded.map((entry) => excludeEntry(entry, top, cwd)));
  return specs.flat();
}

async function excludeEntry(entry: string, top: string, cwd: string): Promise<readonly string[]> {
  const { folder, rest } = isPattern(entry) ? splitPattern(entry) : { folder: entry, rest: [] };
  const start = await resolveLinks(folder).then(
    ({ real }) => real,
    () => folder,
  );
  if (rest.length === 0 && isInside(cwd, start)) return [];
  if (isInside(start, top)) {
    const way = segmentsOf(relative(top, start));
    return excludeGlobs([...way.map(literal), ...rest.map(escaped)]);
  }
  if (!isInside(top, start)) return [];
  const rests = patternsBelow(rest, segmentsOf(relative(start, top)));
  return rests.flatMap((below) => excludeGlobs(below.map(escaped)));
}

/**
 * What remains of a pattern some folders further down, once for each number of folders that a double star may stand
 * for. Below `one`, a double star followed by `one/a` leaves both `a` and the whole pattern.
 */
function patternsBelow(pattern: readonly string[], way: readonly string[]): readonly (readonly string[])[] {
  let reached = new Set([0]);
  for (const segment of way) {
    const next = new Set<number>();
    for (const at of skippingStars(pattern, reached)) {
      const part = pattern[at];
      if (part === undefined) continue;
      if (part === '**') next.add(at);
      else if (matchesPattern([foldCase(part)], foldCase(segment))) next.add(at + 1);
    }
    reached = next;
  }
  return [...reached].flatMap((at) => (at < pattern.length ? [pattern.slice(at)] : []));
}

/** A `**` also matches no folder at all. */
function skippingStars(pattern: readonly string[], reached: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set(reached);
  // Iterating a set visits entries added on the way.
  for (const at of all) if (pattern[at] === '**') all.add(at + 1);
  return all;
}

/** A pattern covers a folder with everything in it. */
const excludeGlobs = ([first = '', ...more]: readonly string[]): readonly string[] => {
  const glob = `:(top,exclude,glob,icase)${[bracketed(first), ...more].join('/')}`;
  return [first, ...more].at(-1) === '**' ? [glob] : [glob, `${glob}/**`];
};

/**
 * The same pattern without literal names that git could take for a path: `git add` fails if an ignored file is named,
 * and an excluded path counts as named. Brackets do not ignore case by themselves, so both cases are listed.
 */
const bracketed = (segment: string): string =>
  segment.replace(/\\?([!-)+->@-~])/, (_, letter: string) =>
    /[a-z]/i.test(letter) ? `[${letter.toLowerCase()}${letter.toUpperCase()}]` : `[\\${letter}]`,
  );

const segmentsOf = (path: string): readonly string[] => path.split(sep).filter((segment) => segment !== '');

const literal = (segment: string): string => segment.replace(/[[\]\\*?]/g, '\\$&');

/** Brackets and backslashes are plain characters in a manifest. */
const escaped = (segment: string): string => segment.replace(/[[\]\\]/g, '\\$&');

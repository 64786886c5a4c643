import { relative, resolve, sep } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { isInside } from '../../../manifest/files.ts';
import { bareHost } from '../../../manifest/permission-rules.ts';
import { pathNeed, together } from '../../access/need.ts';
import { folded, follow, isPattern, matchesPattern, splitPattern } from '../../access/permitted-paths.ts';
import { judgeBeforehand } from '../../http/checked-lookup.ts';
import { defineOperations, type Operation, operationMembers } from '../../operations.ts';
import type { Need, Target, TargetCall } from '../../target.ts';
import type { TargetDeps } from '../../target-edges.ts';
import { CheckedChanges } from './checked-changes.ts';
import { GIT_OPERATIONS, type GitOperation, remoteOf } from './git-operations.ts';
import { type GitCall, gitText, runGit, WHAT } from './run-git.ts';

/** git on a repository inside the permitted paths; results are what git prints. */
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

async function needsOf(input: JsonObject, deps: TargetDeps): Promise<Need | undefined> {
  const { paths, hosts } = deps.permissions;
  const name = String(input.operation);
  const path = typeof input.path === 'string' ? input.path : '.';
  const folder = await pathNeed(paths, path, WHAT, `git ${name} in`);
  const operation = Object.hasOwn(GIT_OPERATIONS, name) ? GIT_OPERATIONS[name] : undefined;
  if (operation?.remote !== true || !hosts.asks) return folder;
  // What is to be asked has the addresses in it: git reads them in a folder that is part of the same question.
  const granted = folder?.grants ?? [];
  const { real } = await paths.resolve(path, granted);
  const call: GitCall = { signal: AbortSignal.timeout(LOOK_UP_MS), idempotencyKey: '', granted };
  const remotes = await addressesOf(remoteOf(input), real, call, deps);
  const asked = remotes.flatMap(({ address, host }): readonly Need[] => {
    const grant = host === undefined ? undefined : hosts.grantFor(host.name, host.port);
    const because = 'permissions: { network: { ask } }';
    const what = `git ${name} with ${address}`;
    return grant === undefined ? [] : [{ target: WHAT, what, because, grants: [grant] }];
  });
  return together(folder, ...asked);
}

async function perform(operation: GitOperation, input: JsonObject, call: TargetCall, deps: TargetDeps) {
  const args = operation.args(input);
  const path = typeof input.path === 'string' ? input.path : '.';
  const { real } = await deps.permissions.paths.resolve(path, call.granted);
  await checkFiles(input, real, call, deps);
  const remote = operation.remote === true && (await checkRemote(remoteOf(input), real, call, deps));
  const env = operation.commits === true ? await identityFor(real, call, deps) : {};
  const { guarded, own } = deps.permissions.paths;
  const stagesAll = operation.commits === true && input.all === true;
  const isGuarded = stagesAll || operation.reachesFiles?.(input) === true;
  const top = isGuarded || operation.changes !== undefined ? await topOf(real, call, deps) : real;
  const kept = isGuarded ? await leftOut([...guarded, ...own], { top, cwd: real }) : [];
  if (operation.changes !== undefined)
    return new CheckedChanges({ call, deps, cwd: real, top, leftOut: kept, env, remote })[operation.changes](
      input,
    );
  // `commit --all` takes no pathspecs: what is denied would be staged with the rest.
  if (stagesAll) await gitText(['add', '--update', '--', ':(top)', ...kept], real, call, deps);
  const named = await commitsOnly(operation, input, real, call, deps);
  if (typeof input.file === 'string' && (await isTree(named, real, call, deps)))
    return listTree(named, real, call, deps);
  // `init` makes a repository in the folder itself. It has no settings yet that could run a program.
  const checked = args[0] === 'init';
  return gitText([...operation.args(named), ...kept], real, call, deps, { env, remote, checked });
}

/** The same input with the ids of the commits that it names. Anything else, a blob or a tree, is refused. */
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

/** What a folder of a commit holds, without what the agent may not read. */
async function listTree(input: JsonObject, cwd: string, call: TargetCall, deps: TargetDeps): Promise<string> {
  const top = await topOf(cwd, call, deps);
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
  new RuntimeError('bad_parameters', `"/${key}" is "${given.slice(0, 100)}", which names no commit.`, {
    hint: 'Give a commit, a branch or a tag. A file of a commit is shown with "ref" and "file".',
  });

/** Files that a call names have to be permitted, too. */
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
  const top = await topOf(folder, call, deps);
  // git counts it from the top of the repository, unless it begins with a dot.
  for (const from of [folder, top]) await paths.resolve(resolve(from, input.file), granted);
}

const topOf = (folder: string, call: TargetCall, deps: TargetDeps): Promise<string> =>
  gitText(['rev-parse', '--show-toplevel'], folder, call, deps);

/** Who commits where git has not been told: without a name it refuses. */
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
 * The host of a remote has to be permitted like any other; one that is a folder has to be a permitted path. Says whether
 * it is on another machine: for a folder git needs neither the network nor the keys, and its settings run programs.
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
    else await judgeBeforehand({ hosts, resolveHost, own }, bareHost(host.name), host.port, call.granted);
  }
  return addresses.some(({ host }) => host !== undefined);
}

/** How long git may take to say where a remote is, before the action has begun. */
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

/** Undefined for a folder. `host:path` is how ssh is written for short. */
function hostOf(
  address: string,
): { readonly name: string; readonly port: string } | 'unreadable' | undefined {
  if (address.startsWith('file://')) return undefined;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    const port = url === undefined ? undefined : url.port || PORTS[url.protocol];
    return url === undefined || port === undefined ? 'unreadable' : { name: url.hostname, port };
  }
  if (address.includes('::')) return 'unreadable'; // a helper of git's, which may run anything
  const short = /^(?:[^@/]+@)?([^/:]{2,}):/.exec(address)?.[1];
  return short === undefined ? undefined : { name: short, port: '22' };
}

const badAddress = (remote: string, address: string) =>
  new RuntimeError(
    'not_permitted',
    `The remote "${remote}" is at "${address.slice(0, 100)}", which cannot be checked.`,
    {
      hint: 'Remotes are reached by https, http, ssh, git or as a folder.',
    },
  );

/**
 * Pathspecs that leave out of a repository what `guarded` names, absolute: a call that stages a folder, or shows a
 * patch, would else reach files that no call may name. `top` is the top of the repository, links resolved; `cwd`, too,
 * which the call may use: what it lies in was approved.
 */
async function leftOut(
  guarded: readonly string[],
  { top, cwd }: { readonly top: string; readonly cwd: string },
): Promise<readonly string[]> {
  const specs = await Promise.all(guarded.map((entry) => leftOutOf(entry, top, cwd)));
  return specs.flat();
}

async function leftOutOf(entry: string, top: string, cwd: string): Promise<readonly string[]> {
  const { folder, rest } = isPattern(entry) ? splitPattern(entry) : { folder: entry, rest: [] };
  const start = await follow(folder).then(
    ({ real }) => real,
    () => folder,
  );
  if (rest.length === 0 && isInside(cwd, start)) return [];
  if (isInside(start, top)) {
    const way = segmentsOf(relative(top, start));
    return globs([...way.map(literal), ...rest.map(escaped)]);
  }
  if (!isInside(top, start)) return [];
  const rests = restsBelow(rest, segmentsOf(relative(start, top)));
  return rests.flatMap((below) => globs(below.map(escaped)));
}

/**
 * What may be left of a pattern some folders further down: one reading for each number of them that a double star
 * stands for. Below `one`, of `one/a` wherever it lies, that is `a` and still `one/a` wherever it lies.
 */
function restsBelow(pattern: readonly string[], way: readonly string[]): readonly (readonly string[])[] {
  let reached = new Set([0]);
  for (const segment of way) {
    const next = new Set<number>();
    for (const at of throughStars(pattern, reached)) {
      const part = pattern[at];
      if (part === undefined) continue;
      if (part === '**') next.add(at);
      else if (matchesPattern([folded(part)], folded(segment))) next.add(at + 1);
    }
    reached = next;
  }
  return [...reached].flatMap((at) => (at < pattern.length ? [pattern.slice(at)] : []));
}

/** A `**` also stands for no folder at all. */
function throughStars(pattern: readonly string[], reached: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set(reached);
  // A set is walked with what is added on the way.
  for (const at of all) if (pattern[at] === '**') all.add(at + 1);
  return all;
}

/** A pattern names a folder with all that is in it. */
const globs = ([first = '', ...more]: readonly string[]): readonly string[] => {
  const glob = `:(top,exclude,glob,icase)${[bracketed(first), ...more].join('/')}`;
  return [first, ...more].at(-1) === '**' ? [glob] : [glob, `${glob}/**`];
};

/**
 * The same pattern, without a name that git could take for a path: `git add` fails where an ignored file is named, and
 * what is left out counts as named. Brackets do not ignore case by themselves.
 */
const bracketed = (segment: string): string =>
  segment.replace(/\\?([!-)+->@-~])/, (_, letter: string) =>
    /[a-z]/i.test(letter) ? `[${letter.toLowerCase()}${letter.toUpperCase()}]` : `[\\${letter}]`,
  );

const segmentsOf = (path: string): readonly string[] => path.split(sep).filter((segment) => segment !== '');

const literal = (segment: string): string => segment.replace(/[[\]\\*?]/g, '\\$&');

/** Brackets and backslashes are letters in a manifest. */
const escaped = (segment: string): string => segment.replace(/[[\]\\]/g, '\\$&');

import { resolve } from 'node:path';
import type { JsonObject } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { bareHost } from '../../../manifest/permissions/host-entry.ts';
import { pathNeed, together } from '../../access/need.ts';
import { judgeBeforehand } from '../../http/checked-lookup.ts';
import { defineOperations, type Operation, operationMembers } from '../../operations.ts';
import type { Need, Target, TargetCall } from '../../target.ts';
import type { TargetEdges } from '../../target-edges.ts';
import { remoteOf } from './git-arguments.ts';
import { GIT_OPERATIONS, type GitOperation } from './git-operations.ts';
import { leftOut } from './left-out.ts';
import { type GitCall, gitText, runGit, WHAT } from './run-git.ts';

/** git on a repository inside the permitted paths; results are what git prints. */
export function git(edges: TargetEdges): Target {
  const operations = Object.fromEntries(
    Object.entries(GIT_OPERATIONS).map(([name, operation]): [string, Operation] => [
      name,
      {
        description: operation.description,
        parameters: operation.parameters,
        idempotent: operation.idempotent,
        ...(operation.required === undefined ? {} : { required: operation.required }),
        run: (input, call) => perform(operation, input, call, edges),
      },
    ]),
  );
  const defined = defineOperations(WHAT, operations);
  return {
    kind: 'tool',
    name: 'git',
    description: 'Works with a git repository; the result is what git prints.',
    ...operationMembers(defined),
    start: 'on_close',
    ...(edges.permissions.paths.asks || edges.permissions.hosts.asks
      ? { needs: (input: JsonObject) => needsOf(input, edges) }
      : {}),
    run: defined.run,
  };
}

async function needsOf(input: JsonObject, edges: TargetEdges): Promise<Need | undefined> {
  const { paths, hosts } = edges.permissions;
  const name = String(input.operation);
  const path = typeof input.path === 'string' ? input.path : '.';
  const folder = await pathNeed(paths, path, WHAT, `git ${name} in`);
  const operation = Object.hasOwn(GIT_OPERATIONS, name) ? GIT_OPERATIONS[name] : undefined;
  if (operation?.remote !== true || !hosts.asks) return folder;
  // What is to be asked has the addresses in it: git reads them in a folder that is part of the same question.
  const granted = folder?.grants ?? [];
  const { real } = await paths.resolve(path, granted);
  const call: GitCall = { signal: AbortSignal.timeout(LOOK_UP_MS), idempotencyKey: '', granted };
  const remotes = await addressesOf(remoteOf(input), real, call, edges);
  const asked = remotes.flatMap(({ address, host }): readonly Need[] => {
    const grant = host === undefined ? undefined : hosts.grantFor(host.name, host.port);
    const because = 'permissions: { network: { ask } }';
    const what = `git ${name} with ${address}`;
    return grant === undefined ? [] : [{ target: WHAT, what, because, grants: [grant] }];
  });
  return together(folder, ...asked);
}

async function perform(operation: GitOperation, input: JsonObject, call: TargetCall, edges: TargetEdges) {
  const args = operation.args(input);
  const path = typeof input.path === 'string' ? input.path : '.';
  const { real } = await edges.permissions.paths.resolve(path, call.granted);
  await checkFiles(input, real, call, edges);
  const remote = operation.remote === true && (await checkRemote(remoteOf(input), real, call, edges));
  const env = operation.commits === true ? await identityFor(real, call, edges) : {};
  const { guarded } = edges.permissions.paths;
  const isGuarded = guarded.length > 0 && operation.reachesFiles?.(input) === true;
  const kept = isGuarded ? await leftOut(guarded, { top: await topOf(real, call, edges), cwd: real }) : [];
  return gitText([...args, ...kept], real, call, edges, { env, remote });
}

/** Files that a call names have to be permitted, too. */
async function checkFiles(
  input: JsonObject,
  folder: string,
  call: TargetCall,
  edges: TargetEdges,
): Promise<void> {
  const { granted } = call;
  const { paths } = edges.permissions;
  if (paths.guarded.length === 0) return;
  const named = Array.isArray(input.paths) ? input.paths : [];
  for (const file of named) if (typeof file === 'string') await paths.resolve(resolve(folder, file), granted);
  if (typeof input.file !== 'string') return;
  const top = await topOf(folder, call, edges);
  // git counts it from the top of the repository, unless it begins with a dot.
  for (const from of [folder, top]) await paths.resolve(resolve(from, input.file), granted);
}

const topOf = (folder: string, call: TargetCall, edges: TargetEdges): Promise<string> =>
  gitText(['rev-parse', '--show-toplevel'], folder, call, edges);

/** Who commits where git has not been told: without a name it refuses. */
async function identityFor(cwd: string, call: TargetCall, edges: TargetEdges) {
  const known = await runGit(['config', '--get', 'user.email'], cwd, call, edges);
  if (known.exitCode === 0) return {};
  const name = `${edges.agentName} (Telltale)`;
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
  edges: TargetEdges,
): Promise<boolean> {
  const { resolveHost, own, permissions } = edges;
  const { paths, hosts } = permissions;
  const addresses = await addressesOf(remote, cwd, call, edges);
  for (const { address, host } of addresses) {
    if (host === undefined) await paths.resolve(address.replace(/^file:\/\//, ''), call.granted);
    else await judgeBeforehand({ hosts, resolveHost, own }, bareHost(host.name), host.port, call.granted);
  }
  return addresses.some(({ host }) => host !== undefined);
}

/** How long git may take to say where a remote is, before the action has begun. */
const LOOK_UP_MS = 30_000;

async function addressesOf(remote: string, cwd: string, call: GitCall, edges: TargetEdges) {
  const fetched = await gitText(['remote', 'get-url', '--all', '--', remote], cwd, call, edges);
  const pushed = await gitText(['remote', 'get-url', '--push', '--all', '--', remote], cwd, call, edges);
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

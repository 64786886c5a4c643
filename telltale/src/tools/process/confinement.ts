import { constants } from 'node:fs';
import { access, mkdir, opendir, readdir, realpath, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { isInside } from '../../manifest/files.ts';
import type { OwnAddresses } from '../access/addresses.ts';
import type { Permissions } from '../access/permissions.ts';
import type { PermittedPaths } from '../access/permitted-paths.ts';
import { folded, follow, isPattern, matchesPattern, splitPattern } from '../access/permitted-paths.ts';
import type { Resolver } from '../http/checked-lookup.ts';
import { thrownMessage } from '../output/output.ts';
import type { TargetCall } from '../target.ts';
import type { PinnedFile, ProcessRequest, WritablePlaces } from './command-request.ts';
import { cannotStart } from './command-request.ts';
import { type FindSandbox, SANDBOX_BASE, SECCOMP } from './find-sandbox.ts';
import { type CommandNetwork, openNetwork } from './network-proxy.ts';
import type { LimitedStart } from './sandbox-limits.ts';
import {
  closedView,
  type HeldSettings,
  hardLinksOf,
  holdGitSettings,
  type Mask,
  mountArguments,
  pathFolders,
  programFolder,
} from './sandbox-mounts.ts';

/** Keeps the commands of one agent to what its permissions name. */
export interface Confinement {
  /**
   * The same process inside the sandbox; the process as it is where there is none, or none is wanted. Rejects where the
   * program cannot be started, and where the manifest demands a sandbox that is not there. `pin` makes a copy of a file
   * for the sandbox to show, and says where.
   */
  confine(
    request: ProcessRequest,
    call: Pick<TargetCall, 'granted' | 'note'>,
    pin?: (file: PinnedFile) => Promise<string>,
  ): Promise<ProcessRequest>;
}

export interface ConfinementDeps {
  readonly permissions: Permissions;
  /** The agent's folder. */
  readonly folder: string;
  readonly find: FindSandbox;
  /** Home directories: hidden. */
  readonly homes: readonly string[];
  /** Temporary folders: private to each command. */
  readonly temporary: readonly string[];
  /** Folders where daemons keep tokens. */
  readonly state: readonly string[];
  readonly resolveHost: Resolver;
  readonly own: OwnAddresses;
}

export function createConfinement(deps: ConfinementDeps): Confinement {
  const { permissions, find } = deps;
  return {
    async confine(request, call, pin) {
      if (permissions.sandbox === 'off') return request;
      const sandbox = await find();
      if (!sandbox.found) {
        if (permissions.sandbox === 'require') throw sandboxMissing(request.what, sandbox.reason);
        call.note?.(`${sandbox.reason}, so commands run without a sandbox.`);
        return request;
      }
      const cwd = await realpath(request.cwd).catch(() => undefined);
      if (cwd === undefined) throw cannotStart(request, errno('ENOENT'));
      const program = await findProgram(request.program, request.env.PATH, cwd);
      if (typeof program !== 'string') throw cannotStart(request, errno(program.code));
      const network = await networkFor(deps, request, call);
      let limited: LimitedStart | undefined;
      let settings: HeldSettings | undefined;
      const release = async () => {
        limited?.release();
        settings?.release();
        await network?.close();
      };
      try {
        const granted = call.granted ?? [];
        const roots = await rootsFor(permissions, granted);
        settings = await holdGitSettings((await permissions.closed.places()).git, roots);
        const shown = { program, network, granted, roots, settings: settings.closed };
        const { mounts, steady } = await mountsFor(deps, request, shown, pin);
        limited = sandbox.limiter.limit(permissions.limits);
        const filter = sandbox.seccomp === undefined ? [] : SECCOMP;
        const inside = [...limited.inside, ...(network?.relay ?? []), program, ...request.args];
        const [outermost = sandbox.program, ...args] = [
          ...limited.outside,
          sandbox.program,
          ...SANDBOX_BASE,
          ...filter,
          ...mounts,
          '--chdir',
          cwd,
          '--',
          ...inside,
        ];
        return {
          ...request,
          program: outermost,
          args,
          cwd: '/',
          env: network === undefined ? request.env : relayEnvironment(request.env, network.token),
          writable: { roots, steady },
          sandboxed: true,
          extraInput: sandbox.seccomp,
          release,
        };
      } catch (thrown) {
        await release();
        throw thrown;
      }
    },
  };
}

/** The way to the hosts that the agent may reach; undefined for a command without network. */
async function networkFor(
  { permissions: { hosts }, resolveHost, own }: ConfinementDeps,
  request: ProcessRequest,
  call: Pick<TargetCall, 'granted' | 'note'>,
): Promise<CommandNetwork | undefined> {
  if (!(request.network ?? hosts.any)) return undefined;
  try {
    return await openNetwork({ hosts, resolveHost, own }, call.granted ?? []);
  } catch (thrown) {
    call.note?.(`commands have no network: ${thrownMessage(thrown)}`);
    return undefined;
  }
}

/** The relay is a Node of its own, which the options for the command's are not for. */
function relayEnvironment(
  { NODE_OPTIONS, ...env }: ProcessRequest['env'],
  token: string,
): ProcessRequest['env'] {
  const options = NODE_OPTIONS === undefined ? {} : { TELLTALE_NODE_OPTIONS: NODE_OPTIONS };
  return { ...env, ...options, TELLTALE_NETWORK_TOKEN: token };
}

/** What a command is to get at. */
interface ConfinementShown {
  readonly program: string;
  readonly network: CommandNetwork | undefined;
  readonly granted: readonly string[];
  /** Folders and files that it may write, but for what is closed. */
  readonly roots: readonly string[];
  /** Settings of repositories. */
  readonly settings: readonly string[];
}

const approvedPaths = (granted: readonly string[]): readonly string[] =>
  granted.flatMap((grant) => (grant.startsWith('path ') ? [grant.slice('path '.length)] : []));

const rootsFor = async ({ paths }: Permissions, granted: readonly string[]): Promise<readonly string[]> => [
  ...(await paths.roots()),
  ...approvedPaths(granted),
];

async function mountsFor(
  { permissions, folder, homes, temporary, state }: ConfinementDeps,
  request: ProcessRequest,
  { program, network, granted, roots, settings }: ConfinementShown,
  pin: ((file: PinnedFile) => Promise<string>) | undefined,
): Promise<{ readonly mounts: readonly string[]; readonly steady: WritablePlaces['steady'] }> {
  const { paths, closed } = permissions;
  const approved = approvedPaths(granted);
  await makeHidden(state, roots);
  const masks = await findMasks(paths, roots);
  const { opens } = request;
  const found = await closedView(await closed.places(), roots, (await real([folder]))[0] ?? folder);
  const view = {
    closed: [...found.closed, ...settings].filter((path) => opens?.settings.includes(path) !== true),
    steady: opens?.folders === true ? [] : found.steady,
  };
  const realHomes = await real(homes);
  const node = network === undefined ? [] : [network.node];
  const programs = [
    ...pathFolders(request.env.PATH),
    dirname(program),
    ...(await real([program, ...node])).map(dirname),
  ];
  const mounts = mountArguments({
    roots,
    hidden: [...realHomes, ...(await real(temporary))],
    readable: await reachable([
      ...(await real([folder, request.cwd, program, ...node])),
      ...programs.map((each) => programFolder(each, realHomes)),
      ...(request.homeFiles ?? []).flatMap((file) => realHomes.map((home) => join(home, file))),
    ]),
    ...view,
    masks: masks.filter(
      ({ path, stays }) =>
        stays === true || !approved.some((each) => isInside(path, each) || isInside(each, path)),
    ),
    pinned: await pinnedCopies(request, pin),
    network,
  });
  return { mounts, steady: view.steady };
}

/** What is not there cannot be hidden: a command could make it, keep it open, and read what a daemon puts there later. */
async function makeHidden(folders: readonly string[], roots: readonly string[]): Promise<void> {
  for (const each of folders) {
    if (!roots.some((root) => isInside(each, root))) continue;
    // Where this user cannot make it, neither can a command.
    await mkdir(each, { recursive: true, mode: 0o700 }).catch(() => undefined);
  }
}

async function pinnedCopies(
  { pinned = [] }: ProcessRequest,
  pin: ((file: PinnedFile) => Promise<string>) | undefined,
) {
  if (pin === undefined) return [];
  const copies: { readonly path: string; readonly copy: string }[] = [];
  for (const file of pinned) copies.push({ path: file.path, copy: await pin(file) });
  return copies;
}

/** Those that this user can get at: bubblewrap starts nothing where PATH names a folder in somebody else's home. */
async function reachable(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => path,
        () => undefined,
      ),
    ),
  );
  return found.flatMap((path) => path ?? []);
}

/** Those that are there, links resolved. */
async function real(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
  return [...new Set(found.flatMap((path) => path ?? []))];
}

const errno = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

const sandboxMissing = (what: string, reason: string) =>
  new RuntimeError(
    'not_permitted',
    `The command of ${what} has to run in a sandbox, but there is none: ${reason}.`,
    {
      hint: 'Install bubblewrap (apt install bubblewrap), or write "permissions: { sandbox: auto }".',
    },
  );

/** Where the system looks where there is no PATH. */
const DEFAULT_PATH = '/usr/bin:/bin';

/** Where a program is, looked for as the system would: by its path, or along PATH. Else why it cannot be run. */
async function findProgram(
  program: string,
  path: string | undefined,
  cwd: string,
): Promise<string | { readonly code: 'ENOENT' | 'EACCES' }> {
  const candidates =
    isAbsolute(program) || program.includes('/')
      ? [resolve(cwd, program)]
      : (path ?? DEFAULT_PATH).split(delimiter).map((folder) => resolve(cwd, folder, program));
  let denied = false;
  for (const candidate of program === '' ? [] : candidates) {
    const found = await stat(candidate).catch(() => undefined);
    if (found === undefined || !found.isFile()) continue;
    const may = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (may) return candidate;
    denied = true;
  }
  return { code: denied ? 'EACCES' : 'ENOENT' };
}

/** Entries that are looked through for what a pattern names, before each command. */
const MAX_LOOKED_AT = 100_000;
const MAX_MASKS = 1_000;
const STAYS = { stays: true } as const;
const PASSED_OVER: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * What there is of these paths and patterns, absolute, and of `own` paths; and in `roots` the same files under other
 * names. Throws where it is too much to be kept away.
 */
async function findMasks(
  { guarded, denied, own }: Pick<PermittedPaths, 'guarded' | 'denied' | 'own'>,
  roots: readonly string[],
): Promise<readonly Mask[]> {
  const masks: Mask[] = [];
  for (const path of own) await add(masks, path, STAYS);
  const ownFiles = (await Promise.all(masks.map(filesOf))).flat();
  const budget = { left: MAX_LOOKED_AT };
  const asked = guarded.filter((entry) => !denied.includes(entry));
  for (const entry of [...denied, ...asked]) {
    const more = denied.includes(entry) ? STAYS : {};
    if (!isPattern(entry)) await add(masks, entry, more);
    else for await (const path of matching(entry, budget)) await add(masks, path, more);
    if (masks.length > MAX_MASKS) throw tooMany(entry, `more than ${MAX_MASKS} files and folders`);
  }
  const files = masks.flatMap(({ path, type }) => (type === 'file' ? [path] : []));
  for (const path of await hardLinksOf([...files, ...ownFiles], roots)) await add(masks, path, STAYS);
  return masks;
}

/** Of a folder all files that it holds: the runtime's own are small. */
async function filesOf({ path, type }: Mask): Promise<readonly string[]> {
  if (type === 'file') return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .slice(0, MAX_LOOKED_AT)
    .map((entry) => join(entry.parentPath, entry.name));
}

async function add(masks: Mask[], path: string, more: Pick<Mask, 'stays'>): Promise<void> {
  const real = await follow(path).then(
    (found) => (found.exists ? found.real : undefined),
    () => undefined,
  );
  const stats = real === undefined ? undefined : await stat(real).catch(() => undefined);
  if (real === undefined || stats === undefined || masks.some((mask) => mask.path === real)) return;
  masks.push({ path: real, type: stats.isDirectory() ? 'folder' : 'file', ...more });
}

async function* matching(entry: string, budget: { left: number }): AsyncGenerator<string> {
  const { folder, rest } = splitPattern(entry);
  const start = resolve(folder);
  if (rest.length === 1 && rest[0] === '**') {
    yield start;
    return;
  }
  const pattern = rest.map(folded);
  const waiting = [start];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const opened = await opendir(at).catch(() => undefined); // one that is not there, or no folder
    if (opened === undefined) continue;
    for await (const each of opened) {
      if (--budget.left < 0) throw tooMany(entry, `more than ${MAX_LOOKED_AT} files and folders to look at`);
      const path = join(at, each.name);
      if (matchesPattern(pattern, folded(relative(start, path)))) yield path;
      else if (each.isDirectory() && !PASSED_OVER.has(each.name)) waiting.push(path);
    }
  }
}

const tooMany = (entry: string, what: string) =>
  new RuntimeError('not_permitted', `Commands cannot be kept away from "${entry}": ${what}.`, {
    hint: 'Name folders in "permissions: { paths: { deny, ask } }", not single files of a large tree.',
  });

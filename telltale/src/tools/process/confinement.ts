import { constants } from 'node:fs';
import { access, mkdir, opendir, readdir, realpath, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { isInside } from '../../manifest/files.ts';
import type { OwnAddresses } from '../access/addresses.ts';
import type { Permissions } from '../access/permissions.ts';
import type { PermittedPaths } from '../access/permitted-paths.ts';
import {
  foldCase,
  isPattern,
  matchesPattern,
  resolveLinks,
  splitPattern,
} from '../access/permitted-paths.ts';
import type { Resolver } from '../http/checked-lookup.ts';
import { thrownMessage } from '../output/output.ts';
import type { TargetCall } from '../target.ts';
import type { PinnedFile, ProcessRequest, WritablePaths } from './command-request.ts';
import { cannotStart } from './command-request.ts';
import { type FindSandbox, SANDBOX_BASE, SECCOMP } from './find-sandbox.ts';
import { type CommandNetwork, openNetwork } from './network-proxy.ts';
import type { LimitedStart } from './sandbox-limits.ts';
import {
  type GuardedSettings,
  guardGitSettings,
  hardLinksOf,
  type Mask,
  mountArguments,
  pathFolders,
  programFolder,
  readOnlyView,
} from './sandbox-mounts.ts';

/** Confines the commands of one agent to its permissions. */
export interface Confinement {
  /**
   * Returns the same process inside the sandbox, or unchanged if no sandbox exists or is wanted. Rejects if the program
   * cannot be started, and if the manifest requires a sandbox that does not exist. `pin` copies a file for the sandbox
   * to show, and returns the copy's path.
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
  /** Home directories, which are hidden. */
  readonly homes: readonly string[];
  /** Temporary folders, which are private to each command. */
  readonly temporary: readonly string[];
  /** Folders where daemons keep their tokens. */
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
      let settings: GuardedSettings | undefined;
      const release = async () => {
        limited?.release();
        settings?.release();
        await network?.close();
      };
      try {
        const granted = call.granted ?? [];
        const roots = await rootsFor(permissions, granted);
        settings = await guardGitSettings((await permissions.protectedPaths.locations()).git, roots);
        const shown = { program, network, granted, roots, settings: settings.readOnly };
        const { mounts, lockedFolders } = await mountsFor(deps, request, shown, pin);
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
          writable: { roots, lockedFolders },
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

/** Opens the way to the hosts that the agent may reach. Undefined for a command without network. */
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

/** The relay is a Node process too, and NODE_OPTIONS is meant for the command only. */
function relayEnvironment(
  { NODE_OPTIONS, ...env }: ProcessRequest['env'],
  token: string,
): ProcessRequest['env'] {
  const options = NODE_OPTIONS === undefined ? {} : { TELLTALE_NODE_OPTIONS: NODE_OPTIONS };
  return { ...env, ...options, TELLTALE_NETWORK_TOKEN: token };
}

/** What the sandbox makes visible to a command. */
interface CommandView {
  readonly program: string;
  readonly network: CommandNetwork | undefined;
  readonly granted: readonly string[];
  /** Folders and files that it may write, except for protected ones. */
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
  { program, network, granted, roots, settings }: CommandView,
  pin: ((file: PinnedFile) => Promise<string>) | undefined,
): Promise<{ readonly mounts: readonly string[]; readonly lockedFolders: WritablePaths['lockedFolders'] }> {
  const { paths, protectedPaths } = permissions;
  const approved = approvedPaths(granted);
  await createHiddenFolders(state, roots);
  const masks = await findMasks(paths, roots);
  const { opens } = request;
  const found = await readOnlyView(
    await protectedPaths.locations(),
    roots,
    (await real([folder]))[0] ?? folder,
  );
  const view = {
    readOnly: [...found.readOnly, ...settings].filter((path) => opens?.settings.includes(path) !== true),
    lockedFolders: opens?.folders === true ? [] : found.lockedFolders,
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
      ({ path, isPermanent }) =>
        isPermanent === true || !approved.some((each) => isInside(path, each) || isInside(each, path)),
    ),
    pinned: await pinnedCopies(request, pin),
    network,
  });
  return { mounts, lockedFolders: view.lockedFolders };
}

/**
 * Creates missing folders that must be hidden. Otherwise a command could create one, keep it open, and read what a
 * daemon writes there later.
 */
async function createHiddenFolders(folders: readonly string[], roots: readonly string[]): Promise<void> {
  for (const each of folders) {
    if (!roots.some((root) => isInside(each, root))) continue;
    // If this user cannot create it, a command cannot either.
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

/** The paths that this user can access. bubblewrap fails if PATH names a folder in someone else's home. */
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

/** The paths that exist, links resolved. */
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

/** Where the system searches if PATH is not set. */
const DEFAULT_PATH = '/usr/bin:/bin';

/** Finds a program as the system would: by its path, or on PATH. Otherwise returns why it cannot run. */
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

/** The most entries searched for matches of a pattern, before each command. */
const MAX_SEARCHED = 100_000;
const MAX_MASKS = 1_000;
const PERMANENT = { isPermanent: true } as const;
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * Finds everything that must be hidden: the existing files of these absolute paths and patterns, the runtime's `own`
 * paths, and hard links to the same files in `roots`. Throws if there is too much to hide.
 */
async function findMasks(
  { guarded, denied, runtimePaths: own }: Pick<PermittedPaths, 'guarded' | 'denied' | 'runtimePaths'>,
  roots: readonly string[],
): Promise<readonly Mask[]> {
  const masks: Mask[] = [];
  for (const path of own) await add(masks, path, PERMANENT);
  const ownFiles = (await Promise.all(masks.map(filesOf))).flat();
  const budget = { left: MAX_SEARCHED };
  const asked = guarded.filter((entry) => !denied.includes(entry));
  for (const entry of [...denied, ...asked]) {
    const more = denied.includes(entry) ? PERMANENT : {};
    if (!isPattern(entry)) await add(masks, entry, more);
    else for await (const path of matching(entry, budget)) await add(masks, path, more);
    if (masks.length > MAX_MASKS) throw tooMany(entry, `more than ${MAX_MASKS} files and folders`);
  }
  const files = masks.flatMap(({ path, type }) => (type === 'file' ? [path] : []));
  for (const path of await hardLinksOf([...files, ...ownFiles], roots)) await add(masks, path, PERMANENT);
  return masks;
}

/** All files in a folder. The runtime's own folders are small. */
async function filesOf({ path, type }: Mask): Promise<readonly string[]> {
  if (type === 'file') return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .slice(0, MAX_SEARCHED)
    .map((entry) => join(entry.parentPath, entry.name));
}

async function add(masks: Mask[], path: string, more: Pick<Mask, 'isPermanent'>): Promise<void> {
  const real = await resolveLinks(path).then(
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
  const pattern = rest.map(foldCase);
  const waiting = [start];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const opened = await opendir(at).catch(() => undefined); // it does not exist, or is not a folder
    if (opened === undefined) continue;
    for await (const each of opened) {
      if (--budget.left < 0) throw tooMany(entry, `more than ${MAX_SEARCHED} files and folders to look at`);
      const path = join(at, each.name);
      if (matchesPattern(pattern, foldCase(relative(start, path)))) yield path;
      else if (each.isDirectory() && !SKIPPED_FOLDERS.has(each.name)) waiting.push(path);
    }
  }
}

const tooMany = (entry: string, what: string) =>
  new RuntimeError('not_permitted', `Commands cannot be denied access to "${entry}": ${what}.`, {
    hint: 'List folders in "permissions: { paths: { deny, ask } }", not single files of a large tree.',
  });

import { lstat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import { withParents } from '../../access/loaded-code.ts';
import type { Permissions } from '../../access/permissions.ts';
import { DEFAULT_OUTPUT_BYTES } from '../../output/output.ts';
import { childEnvironment } from '../../process/child-environment.ts';
import type { EndedProcess } from '../../process/command-request.ts';
import { commandFailed } from '../../process/command-request.ts';
import { runConfined } from '../../process/run-confined.ts';
import type { TargetCall } from '../../target.ts';
import type { TargetDeps } from '../../target-deps.ts';

export const WHAT = 'tool "git"';

/** The files in the home directory that configure git. */
const SETTINGS = ['.gitconfig', '.config/git'];
/** The files in the home directory that git authenticates with. */
const KEYS = ['.ssh', '.git-credentials', '.netrc'];

/** What a git call takes from the tool call. */
export interface GitCall
  extends Pick<TargetCall, 'signal' | 'idempotencyKey'>,
    Partial<Pick<TargetCall, 'granted' | 'note'>> {}

export interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it connects to another machine whose host was checked. */
  readonly remote?: boolean;
  /**
   * Whether its changes were checked before. It may then change files directly in folders that configuration is loaded
   * from, if no command can replace their repository. It runs no hooks.
   */
  readonly checked?: boolean;
  /** Whether the complete output is needed because it is checked. */
  readonly whole?: boolean;
}

/** The most output that git may print when all of it is needed. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** Runs git without prompts and pagers, and lets it look for its repository only inside the permitted paths. */
export async function runGit(
  args: readonly string[],
  cwd: string,
  call: GitCall,
  deps: TargetDeps,
  { env = {}, remote = false, checked = false, whole = false }: GitOptions = {},
): Promise<EndedProcess> {
  const { permissions } = deps;
  const roots = await permissions.paths.roots();
  const runsHooks = permissions.commands.any && !checked;
  const repository = runsHooks ? undefined : await protectedRepository(cwd, permissions, args[0] === 'init');
  const pinned = checked && repository !== undefined;
  const ended = await runConfined(
    {
      what: WHAT,
      program: 'git',
      args: [
        '--no-pager',
        '-c',
        'core.quotepath=off',
        '-c',
        'color.ui=never',
        '-c',
        'http.followRedirects=false',
        // Without this, a folder with HEAD, config, objects and refs counts as a repository, and its settings run
        // programs. The tool "filesystem" could create such files.
        '-c',
        'safe.bareRepository=explicit',
        // Hooks are programs, and may lie where the agent can write.
        ...(runsHooks ? [] : ['-c', 'core.hooksPath=/dev/null']),
        ...args,
      ],
      cwd,
      env: childEnvironment(deps.env, deps.permissions.environment, {
        GIT_CEILING_DIRECTORIES: roots.map((root) => dirname(root)).join(delimiter),
        GIT_TERMINAL_PROMPT: '0',
        GIT_OPTIONAL_LOCKS: '0',
        GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
        GIT_EDITOR: 'true',
        TELLTALE_IDEMPOTENCY_KEY: call.idempotencyKey,
        // Otherwise a file `commondir`, or another repository on the way, could bring settings that run programs.
        ...(pinned
          ? {
              GIT_DIR: join(repository, '.git'),
              GIT_COMMON_DIR: join(repository, '.git'),
              GIT_WORK_TREE: repository,
            }
          : {}),
        ...env,
      }),
      maxBytes: whole ? MAX_WHOLE_BYTES : DEFAULT_OUTPUT_BYTES / 2,
      signal: call.signal,
      ...(remote ? { network: true } : {}),
      homeFiles: remote ? [...SETTINGS, ...KEYS] : SETTINGS,
      ...(repository === undefined
        ? {}
        : {
            opens: {
              folders: pinned,
              settings: ['config', 'config.worktree'].map((name) => join(repository, '.git', name)),
            },
          }),
    },
    call,
    deps,
  );
  if (whole && ended.stdout.dropped > 0) throw tooMuch(ended.stdout.total);
  return ended;
}

/**
 * The root of the repository that contains a folder, if no command can write the repository's settings, because the
 * root is a folder that configuration is loaded from.
 */
async function protectedRepository(
  cwd: string,
  { protectedPaths: closed }: Permissions,
  isNew: boolean,
): Promise<string | undefined> {
  const { folders } = await closed.locations();
  const isTop = async (level: string) =>
    (isNew && level === cwd) || (await lstat(join(level, '.git')).catch(() => undefined)) !== undefined;
  for (const level of withParents(cwd)) {
    if (!(await isTop(level))) continue;
    const git = await lstat(join(level, '.git')).catch(() => undefined);
    return folders.includes(level) && (git === undefined ? isNew : git.isDirectory()) ? level : undefined;
  }
  return undefined;
}

const tooMuch = (bytes: number) =>
  new RuntimeError('output_too_large', `git lists ${bytes} bytes of changes, which is too much to check.`, {
    hint: 'Make the change in smaller steps, or ask a person to make it.',
  });

/** Returns what git printed. Some subcommands print to stderr only. */
export async function gitText(...request: Parameters<typeof runGit>): Promise<string> {
  const ended = await runGit(...request);
  if (ended.exitCode !== 0) throw gitFailed(ended);
  return (ended.stdout.text() || ended.stderr.text()).trimEnd();
}

function gitFailed(ended: EndedProcess): RuntimeError {
  if (!/not a git repository/i.test(ended.stderr.text())) return commandFailed(WHAT, ended);
  return new RuntimeError(
    'command_failed',
    'There is no git repository here, or it begins outside the permitted paths.',
    {
      hint: 'Create one with the operation "init", give "path", or permit its root folder in "permissions: { paths }".',
    },
  );
}

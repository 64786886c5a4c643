import { lstat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import { levelsOf } from '../../access/agent-files.ts';
import type { Permissions } from '../../access/permissions.ts';
import { DEFAULT_OUTPUT_BYTES } from '../../output/output.ts';
import { childEnvironment } from '../../process/child-environment.ts';
import type { EndedProcess } from '../../process/command-request.ts';
import { commandFailed } from '../../process/command-request.ts';
import { runConfined } from '../../process/run-confined.ts';
import type { TargetCall } from '../../target.ts';
import type { TargetDeps } from '../../target-edges.ts';

export const WHAT = 'tool "git"';

/** What of the home directory git is set up by. */
const SETTINGS = ['.gitconfig', '.config/git'];
/** And what it shows to other machines. */
const KEYS = ['.ssh', '.git-credentials', '.netrc'];

/** What a call of git has of the world beyond its repository. */
export interface GitCall
  extends Pick<TargetCall, 'signal' | 'idempotencyKey'>,
    Partial<Pick<TargetCall, 'granted' | 'note'>> {}

export interface GitExtras {
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it speaks to another machine, whose host was checked. */
  readonly remote?: boolean;
  /**
   * Whether what it changes was checked before. It may then change files directly in folders that configuration is
   * loaded from, where the repository is one that no command can replace. It runs no hooks.
   */
  readonly checked?: boolean;
  /** A list or a content that is judged: none of it may be missing. */
  readonly whole?: boolean;
}

/** What git may say when all of it is needed. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;

/** git as a program that asks nobody, opens nothing and looks for its repository inside the permitted paths only. */
export async function runGit(
  args: readonly string[],
  cwd: string,
  call: GitCall,
  deps: TargetDeps,
  { env = {}, remote = false, checked = false, whole = false }: GitExtras = {},
): Promise<EndedProcess> {
  const { permissions } = deps;
  const roots = await permissions.paths.roots();
  const runsHooks = permissions.commands.any && !checked;
  const repository = runsHooks ? undefined : await closedRepository(cwd, permissions, args[0] === 'init');
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
        // Else a folder with HEAD, config, objects and refs in it is a repository, whose settings run programs: files
        // that the tool "filesystem" may write.
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
        // A file `commondir`, or another repository on the way, would bring settings that run programs.
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
 * The top of the repository that a folder is in, where it is one whose settings no command can write: a folder that
 * configuration is loaded from.
 */
async function closedRepository(
  cwd: string,
  { closed }: Permissions,
  isNew: boolean,
): Promise<string | undefined> {
  const { folders } = await closed.places();
  const isTop = async (level: string) =>
    (isNew && level === cwd) || (await lstat(join(level, '.git')).catch(() => undefined)) !== undefined;
  for (const level of levelsOf(cwd)) {
    if (!(await isTop(level))) continue;
    const git = await lstat(join(level, '.git')).catch(() => undefined);
    return folders.includes(level) && (git === undefined ? isNew : git.isDirectory()) ? level : undefined;
  }
  return undefined;
}

const tooMuch = (bytes: number) =>
  new RuntimeError(
    'output_too_large',
    `git lists ${bytes} bytes of changes, which is too much to be checked.`,
    {
      hint: 'Make the change in smaller steps, or have a person make it.',
    },
  );

/** What it printed; some subcommands say what they did on stderr only. */
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
      hint: 'Make one with the operation "init", give "path", or permit its top folder in "permissions: { paths }".',
    },
  );
}

import { delimiter, dirname } from 'node:path';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { DEFAULT_OUTPUT_BYTES } from '../../output/output-limits.ts';
import { childEnvironment } from '../../process/child-environment.ts';
import { commandFailed } from '../../process/process-errors.ts';
import type { EndedProcess } from '../../process/process-request.ts';
import { runConfined } from '../../process/run-confined.ts';
import type { TargetCall } from '../../target.ts';
import type { TargetEdges } from '../../target-edges.ts';

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
}

/** git as a program that asks nobody, opens nothing and looks for its repository inside the permitted paths only. */
export async function runGit(
  args: readonly string[],
  cwd: string,
  call: GitCall,
  edges: TargetEdges,
  { env = {}, remote = false }: GitExtras = {},
): Promise<EndedProcess> {
  const roots = await edges.permissions.paths.roots();
  return runConfined(
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
        ...(edges.permissions.commands.any ? [] : ['-c', 'core.hooksPath=/dev/null']),
        ...args,
      ],
      cwd,
      env: childEnvironment(edges.env, edges.permissions.environment, {
        GIT_CEILING_DIRECTORIES: roots.map((root) => dirname(root)).join(delimiter),
        GIT_TERMINAL_PROMPT: '0',
        GIT_OPTIONAL_LOCKS: '0',
        GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
        GIT_EDITOR: 'true',
        TELLTALE_IDEMPOTENCY_KEY: call.idempotencyKey,
        ...env,
      }),
      maxBytes: DEFAULT_OUTPUT_BYTES / 2,
      signal: call.signal,
      ...(remote ? { network: true } : {}),
      homeFiles: remote ? [...SETTINGS, ...KEYS] : SETTINGS,
    },
    call,
    edges,
  );
}

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

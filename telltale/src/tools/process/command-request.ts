import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { BoundedOutput } from '../output/output.ts';

/** A program that a manifest runs outside of a tool, such as a hook. */
export interface CommandRequest {
  /** For messages: `the hook "check"`. */
  readonly what: string;
  /** The program and its arguments, run without a shell. */
  readonly command: readonly string[];
  /** Relative to the agent's folder, which is the default. */
  readonly cwd?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
  /** The most bytes kept of stdout, and of stderr. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Runs a program like the agent's command tools: in its sandbox, with the permitted environment. `note` puts a remark
 * on the log. Rejects if the program cannot be started or takes too long. Its exit code is for the caller to judge.
 */
export type RunCommand = (
  request: CommandRequest,
  call?: { readonly note?: (what: string) => void },
) => Promise<EndedProcess>;

/** The most characters of output that a message quotes. */
const TAIL_CHARS = 2_000;
/** The most characters of stdout, and of stderr, that an error keeps. It may be on the log more than once. */
const MAX_KEPT = 128 * 1024;

export function cannotStart(
  { what, program, cwd }: ProcessRequest,
  cause: Error & { readonly code?: string | undefined },
): RuntimeError {
  const shown = clip(program, 200);
  switch (cause.code) {
    case 'ENOENT':
      // Node reports the same error for a missing folder and a missing program.
      return existsSync(cwd)
        ? new RuntimeError('command_missing', `The program "${shown}" of ${what} was not found.`, {
            hint: 'Install it, or write its full path.',
            cause,
          })
        : new RuntimeError('folder_missing', `The folder "${cwd}" of ${what} does not exist.`, {
            hint: 'Create it, or correct "cwd".',
            cause,
          });
    case 'EACCES':
      return new RuntimeError(
        'command_missing',
        `The program "${shown}" of ${what} cannot be run: permission denied.`,
        {
          hint: `Make it executable: chmod +x ${shown}.`,
          cause,
        },
      );
    case 'E2BIG':
    case 'ENAMETOOLONG':
      return new RuntimeError('bad_parameters', `The arguments of ${what} are too long for the system.`, {
        hint: 'Pass long text through standard input ("stdin") or a file.',
        cause,
      });
    case 'ERR_INVALID_ARG_VALUE':
      return new RuntimeError('bad_parameters', `An argument of ${what} contains a zero byte.`, { cause });
    default:
      return new RuntimeError('command_failed', `The program "${shown}" of ${what} cannot be started.`, {
        hint: 'See the cause.',
        retryable: cause.code === 'EAGAIN' || cause.code === 'EMFILE',
        cause,
      });
  }
}

export const outputWithoutEnd = (what: string, limit: number) =>
  new RuntimeError('output_too_large', `The command of ${what} was stopped after ${limit} bytes of output.`, {
    hint: 'Make it print less.',
  });

/**
 * The error of a program that did not exit with 0: how it ended and the end of its output. Its `output` has everything.
 * Quotes stdout as well as stderr: a test runner prints failures to stdout, and stderr may only contain a warning.
 */
export function commandFailed(what: string, ended: EndedProcess): RuntimeError {
  const how =
    ended.signalName === null
      ? `exited with ${ended.exitCode}${signalMeant(ended.exitCode)}`
      : `was ended by the signal ${ended.signalName}`;
  const complained = tail(ended.stderr.text());
  const printed = tail(ended.stdout.text());
  const said =
    complained === '' || printed === '' ? complained || printed : `${complained}\nIt printed: ${printed}`;
  return new RuntimeError(
    'command_failed',
    `The command of ${what} ${how}${said === '' ? ' without a message' : `: ${said}`}`,
    {
      output: {
        exit_code: ended.exitCode,
        ...(ended.signalName === null ? {} : { signal: ended.signalName }),
        stdout: bounded(ended.stdout.text()),
        stderr: bounded(ended.stderr.text()),
      },
    },
  );
}

/** A shell, and the sandbox, report a signal that ended their program as 128 plus its number. */
function signalMeant(exitCode: number | null): string {
  const number = (exitCode ?? 0) - 128;
  const name = Object.entries(constants.signals).find(([, each]) => each === number)?.[0];
  return name === undefined ? '' : ` (128 + ${name})`;
}

export const sandboxFailed = (what: string, said: string) =>
  new RuntimeError('command_failed', `The sandbox could not start the command of ${what}: ${tail(said)}`, {
    hint: 'Check the folders of "permissions: { paths }". "permissions: { sandbox: off }" runs commands without a sandbox.',
  });

function tail(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > TAIL_CHARS ? `…${trimmed.slice(-TAIL_CHARS)}` : trimmed;
}

function bounded(text: string): string {
  if (text.length <= MAX_KEPT) return text;
  const half = MAX_KEPT / 2;
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-half).replace(/^[\udc00-\udfff]/, '');
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

/** A file as it was approved. The sandbox shows these bytes in its place. */
export interface PinnedFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
}

/** Where a command in a sandbox may write. */
export interface WritablePaths {
  /** The folders and files that the permissions name. */
  readonly roots: readonly string[];
  /**
   * Folders that Telltale loads from. A command cannot create anything directly in them, but may write the `open`
   * entries.
   */
  readonly lockedFolders: readonly { readonly path: string; readonly open: readonly string[] }[];
}

export interface ProcessRequest {
  /** For messages: `tool "build"`. */
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
  /** The most bytes kept of stdout, and of stderr. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Receives output as it arrives, before anything is dropped. */
  readonly onOutput?: ((stream: 'stdout' | 'stderr', chunk: Uint8Array) => void) | undefined;
  /** For cmd on Windows, whose quoting differs from other programs. */
  readonly verbatimArguments?: boolean;
  /** Whether it may reach the hosts of `permissions.network`. By default, if that allows any. */
  readonly network?: boolean;
  /** Files in the home directory that it may read. */
  readonly homeFiles?: readonly string[];
  /** Locations that are closed to commands but open to this one, because its effects were checked before. */
  readonly opens?: {
    /** Whether it may create files directly in folders that are loaded from. */
    readonly folders: boolean;
    /** Settings of git repositories that it may write. */
    readonly settings: readonly string[];
  };
  /** Where the sandbox lets it write. */
  readonly writable?: WritablePaths;
  /** Files that the sandbox shows as they were approved, even if they change meanwhile. */
  readonly pinned?: readonly PinnedFile[];
  /** Whether `program` is the sandbox that runs the real program. */
  readonly sandboxed?: true;
  /** What the program reads from file descriptor 3. */
  readonly extraInput?: Uint8Array | undefined;
  /** Frees what was created for this process. Called after it has ended. */
  readonly release?: (() => Promise<void>) | undefined;
}

export interface ProcessDeps {
  readonly clock: Clock;
  /** The time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** The most bytes read, kept or not, before a process with endless output is stopped. 4 GiB by default. */
  readonly maxDrainedBytes?: number;
}

export interface EndedProcess {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly signalName: string | null;
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
}

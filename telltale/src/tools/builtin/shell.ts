import { platform } from 'node:os';
import { resolve } from 'node:path';
import { withTimeout } from '../abort.ts';
import { alwaysThisCall, combineNeeds, needForPath } from '../access/approval-need.ts';
import { compileCheck } from '../check-parameters.ts';
import { checkApprovedFiles, withCoverage } from '../definition/approved-files.ts';
import { type Coverage, coverageOfLine } from '../definition/command-coverage.ts';
import { DEFAULT_OUTPUT_BYTES } from '../output/output.ts';
import { childEnvironment } from '../process/child-environment.ts';
import { commandFailed } from '../process/command-request.ts';
import { runConfined } from '../process/run-confined.ts';
import { textProgress } from '../process/run-process.ts';
import type { Target } from '../target.ts';
import type { TargetDeps } from '../target-deps.ts';

const PARAMETERS = {
  type: 'object',
  properties: {
    command: { type: 'string', minLength: 1, description: 'For sh; on Windows for cmd.' },
    cwd: { type: 'string', description: 'Default: the working folder.' },
    stdin: { type: 'string' },
    timeout: { type: 'number', exclusiveMinimum: 0, maximum: 86_400, description: 'Seconds.' },
    allow_failure: {
      type: 'boolean',
      description: 'true: an exit code other than 0 is not an error.',
    },
  },
  required: ['command'],
  additionalProperties: false,
} as const;

/** A line for cmd on Windows is not parsed, so nothing is known about it. */
const UNREAD: Coverage = { files: [], uncovered: ['lines for cmd are not parsed'], runs: [] };

interface ShellInput {
  readonly command: string;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly timeout?: number;
  readonly allow_failure?: boolean;
}

/**
 * Runs a command line that `permissions.shell` allows. It starts in a permitted folder. What it may use beyond that is
 * up to the sandbox.
 */
export function shell(deps: TargetDeps): Target {
  const what = 'tool "shell"';
  const { commands, paths, isStrict } = deps.permissions;
  const coverage = async (command: string, cwd: string): Promise<() => Coverage> => {
    const roots = await paths.roots();
    const place = { folder: deps.folder, cwd, path: deps.env.PATH, roots };
    return () => (platform() === 'win32' ? UNREAD : coverageOfLine(command, place));
  };
  return {
    kind: 'tool',
    name: 'shell',
    description:
      'Runs a command line. You see its output, with the exit code in the tag of the result; "$id" has exit_code, stdout and stderr.',
    parameters: PARAMETERS,
    idempotent: false,
    start: 'on_close',
    example: {
      input: { command: 'cat VERSION' },
      output: { exit_code: 0, stdout: '1.4.0\n', stderr: '' },
      answer: 'The version is 1.4.0.',
    },
    check: compileCheck(PARAMETERS, what),
    ...(commands.asks || paths.asks
      ? {
          async needs(input) {
            const { command, cwd = '.' } = input as unknown as ShellInput;
            const grant = commands.grantFor(command, resolve(deps.folder, cwd));
            const because = 'permissions: { shell }';
            const need = combineNeeds(
              grant === undefined
                ? undefined
                : { target: what, what: command, because, grants: [grant], always: alwaysThisCall(input) },
              await needForPath(paths, cwd, what, `run "${command}" in`),
            );
            if (need === undefined || grant === undefined) return need;
            const covered = await coverage(command, resolve(deps.folder, cwd));
            return withCoverage(need, covered(), isStrict);
          },
        }
      : {}),
    async run(call) {
      const {
        command,
        cwd = '.',
        stdin,
        timeout,
        allow_failure: mayFail,
      } = call.input as unknown as ShellInput;
      const folder = await paths.resolve(cwd, call.granted);
      commands.check(command, call.granted, folder.real);
      const isApproved = commands.grantFor(command, folder.real) !== undefined;
      const pinned = isApproved
        ? checkApprovedFiles(what, call.granted ?? [], await coverage(command, folder.real))
        : [];
      const [program, args] =
        platform() === 'win32'
          ? ['cmd.exe', ['/d', '/s', '/c', `"${command}"`]]
          : ['/bin/sh', ['-c', command]];
      const ended = await withTimeout(call.signal, timeout, what, deps.clock, (signal) =>
        runConfined(
          {
            what,
            program,
            args,
            cwd: folder.real,
            env: childEnvironment(deps.env, deps.permissions.environment, {
              TELLTALE_IDEMPOTENCY_KEY: call.idempotencyKey,
            }),
            stdin,
            pinned,
            maxBytes: DEFAULT_OUTPUT_BYTES / 2,
            signal,
            onOutput: textProgress((data) => call.progress(data)),
            verbatimArguments: true,
          },
          call,
          deps,
        ),
      );
      if (ended.exitCode !== 0 && (ended.signalName !== null || mayFail !== true))
        throw commandFailed(what, ended);
      return { exit_code: ended.exitCode, stdout: ended.stdout.text(), stderr: ended.stderr.text() };
    },
  };
}

import { Console } from 'node:console';
import process from 'node:process';
import { EXIT } from './command.ts';
import { guardProcess } from './guard-process.ts';
import { main } from './main.ts';
import { processIo } from './process-io.ts';
import { PROGRAM_VARIABLE, programTyped, withEnvFile } from './program.ts';
import { storeFlagIn } from './session/store-options.ts';

/** Runs the command line of this process and resolves to its exit code. The package's bin does nothing else. */
export async function start(argv: readonly string[]): Promise<number> {
  const program = programTyped(process.env, process.argv[1]);
  // Only this process may see it: nobody typed the commands that an agent starts.
  delete process.env[PROGRAM_VARIABLE];
  const guard = guardProcess({ program }, storeFlagIn(argv));
  // stdout is for what the command prints, so the console output of tool modules goes to stderr.
  globalThis.console = new Console(process.stderr, process.stderr);
  try {
    const cwd = currentFolder();
    if (cwd === undefined) {
      process.stderr.write(NO_FOLDER);
      return EXIT.failed;
    }
    const io = processIo({ cwd, program }, guard);
    // A new project is in another folder, so this folder's .env is not its own.
    const env = argv[0] === 'init' ? io.env : withEnvFile(io.env, cwd);
    return await main(argv, { ...io, env });
  } finally {
    guard.finished();
  }
}

function currentFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

const NO_FOLDER = `error: The current folder no longer exists.
  → Go to another one: cd ~
`;

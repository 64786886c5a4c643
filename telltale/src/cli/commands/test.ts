import { spawn } from 'node:child_process';
import process from 'node:process';
import { RuntimeError } from '../../lib/errors.ts';
import type { RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';

const TESTS = 'test/**/*.test.{ts,js,mjs}';

const EXAMPLES = `
Runs the files with the test runner of Node ("node --test"), on the Node that Telltale runs on and with the
variables of .env. telltale/testing has what a test of an agent needs.

Examples:
  $ telltale test
  $ telltale test test/agent.test.ts
`;

export const registerTest: RegisterCommand = (program, { io, run }) => {
  program
    .command('test')
    .summary("run the project's tests")
    .description('Runs the tests of the project in the current folder.')
    .argument('[files...]', `test files (default: ${TESTS})`)
    .addHelpText('after', EXAMPLES)
    .action(run((files: readonly string[]) => test(files, io)));
};

async function test(named: readonly string[], { cwd, env, signal }: Io): Promise<ExitCode> {
  const { glob } = await import('tinyglobby');
  const files = named.length > 0 ? named : await glob(TESTS, { cwd });
  if (files.length === 0)
    throw usage(`No file matches ${TESTS}.`, 'Name the test files: telltale test FILES');
  if (files.some((file) => file.endsWith('.ts')) && !process.features.typescript) throw noTypeScript();
  const child = spawn(process.execPath, ['--test', ...files], { cwd, env, signal, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => (signal.aborted ? resolve(EXIT.interrupted) : reject(error)));
    child.once('exit', (code) => resolve(code === 0 ? EXIT.ok : EXIT.failed));
  });
}

const noTypeScript = () =>
  new RuntimeError('usage', `Node ${process.versions.node} cannot run tests in TypeScript.`, {
    hint: 'Install Node 22.18 or later.',
  });

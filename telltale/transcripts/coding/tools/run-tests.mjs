import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../project/', import.meta.url));
const REPORTER = new URL('./json-reporter.mjs', import.meta.url).href;

/** Runs `node --test` in the project. Tests that fail are a result; only tests that cannot be run are a failure. */
export async function run(_parameters, { signal, progress }) {
  const child = spawn(process.execPath, ['--test', `--test-reporter=${REPORTER}`], {
    cwd: PROJECT,
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const tests = [];
  const read = async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      tests.push(JSON.parse(line));
      progress(`${tests.length} run`);
    }
  };
  // Together: a program that is stopped fails before its output has been read to the end.
  await Promise.all([ended, read()]);
  if (tests.length === 0) throw new Error(`No test was run. ${said.trim()}`);
  const failed = tests.filter(({ problem }) => problem !== undefined);
  if (failed.length === 0) return `all ${tests.length} passed`;
  const problems = failed.map(({ test, problem }) => `${test} (${problem})`);
  return `${failed.length} of ${tests.length} failed: ${problems.join('; ')}`;
}

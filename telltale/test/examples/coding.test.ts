import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeWorkspace, nodeOnPath, readTemplate } from '../../src/cli/demo/run-demo.ts';
import { type ExampleRun, expectEvents, expectSoundLog, runExample } from './example-run.ts';

const TIMEOUT_MS = 60_000;
const env = nodeOnPath({ PATH: process.env.PATH }, process.execPath);
let folder: string;
let run: ExampleRun;

beforeAll(async () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-coding-')));
  ({ folder } = await makeWorkspace(await readTemplate(), dir, { cwd: dir }));
  run = await runExample({ folder, input: 'Add a --json flag to the report command', env });
}, TIMEOUT_MS);

describe('examples/coding', () => {
  it('does what expected.events.jsonl says', async () => {
    await expectEvents('coding', run.events, { FOLDER: folder }, run.runs);
  });

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('leaves a project that really prints JSON, and whose tests really pass', async () => {
    const node = (...args: readonly string[]) =>
      promisify(execFile)(process.execPath, [...args], {
        cwd: join(folder, 'project'),
        env: { ...env, NODE_TEST_CONTEXT: undefined },
      });
    const { stdout } = await node('src/report.js', '--json', 'data/july.csv');
    expect(JSON.parse(stdout)).toEqual([
      { day: '2026-07-03', what: 'books', amount: 12.5 },
      { day: '2026-07-19', what: 'coffee', amount: 3.8 },
    ]);
    await node('--test'); // rejects where a test fails
  });

  it('stops its test run when it is told to, and leaves no failure behind that nobody hears of', async () => {
    // In a process of its own: one that leaves a rejected promise behind ends with 1.
    const tool = pathToFileURL(join(folder, 'tools/run-tests.mjs')).href;
    const script = `import { run } from ${JSON.stringify(tool)};
      const stop = new AbortController();
      const running = run({}, { signal: stop.signal, progress() {} });
      stop.abort();
      await running.catch(({ name }) => console.log(name));`;
    const args = ['--input-type=module', '-e', script];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
    expect({ stdout, stderr }).toEqual({ stdout: 'AbortError\n', stderr: '' });
  });

  it('has README and changelog changed by workflows, not by the agent', () => {
    const text = (name: string) => readFileSync(join(folder, 'project', name), 'utf8');
    expect(text('README.md')).toContain('with --json, the expenses as JSON.');
    expect(text('CHANGELOG.md')).toContain('- report --json prints the expenses as JSON.\n');
    expect(run.runs.map((log) => log.at(-1)?.type)).toEqual(['workflow.completed', 'workflow.completed']);
  });

  it('saw one test fail before it fixed the code', () => {
    const outputs = run.events.flatMap((event) => (event.type === 'action.completed' ? [event] : []));
    const outcome = (id: string) => outputs.find((event) => event.id === id)?.output;
    expect(outcome('run')).toBe('1 of 4 failed: --json gives amounts as the table does (1250 !== 12.5)');
    expect(outcome('unit')).toBe('all 4 passed');
  });
});

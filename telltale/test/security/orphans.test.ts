import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { spawned } from '../cli/spawned.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { until } from '../tools/agent-targets.ts';

/** Writes down when it starts, on each beat, and how it is ended. It is slow to stop, as a program with open files is. */
const BEATING = `
const { appendFileSync, existsSync } = require('node:fs');
const say = (what) => appendFileSync('journal', what + ' ' + process.pid + '\\n');
say('start');
process.on('SIGTERM', () => setTimeout(() => { say('stop'); process.exit(0); }, 300));
setInterval(() => { say('beat'); if (existsSync('finish')) { say('stop'); process.exit(0); } }, 20);
`;

const SCRIPT = `turns:
  - '<action id="a1" mode="sync">{"name": "beat"}</action>'
  - '<response final="true">done</response>'
`;

const project = (files: Readonly<Record<string, string>> = {}) =>
  temporaryProject({
    'telltale.yml': '',
    'agent.yml':
      'kind: Agent\nname: worker\nmodel: scripted:./model.yml\nimport: { tools: [./beat.yml] }\npermissions: { sandbox: off }\n',
    'beat.yml': 'kind: Tool\nname: beat\nidempotent: true\nimplementation: { command: [node, beat.cjs] }\n',
    'beat.cjs': BEATING,
    'model.yml': SCRIPT,
    ...files,
  });

const journal = (cwd: string): readonly string[] =>
  existsSync(join(cwd, 'journal')) ? readFileSync(join(cwd, 'journal'), 'utf8').trim().split('\n') : [];
const pidsOf = (cwd: string) => [...new Set(journal(cwd).map((line) => line.split(' ')[1] ?? ''))];
/** A process that has ended and that nobody has asked for yet does not count. */
const isAlive = (pid: string): boolean => {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ') Z';
  return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
};
const endAll = (cwd: string) =>
  onTestFinished(() => {
    for (const pid of pidsOf(cwd)) if (isAlive(pid)) process.kill(Number(pid), 'SIGKILL');
  });

/** No process says anything between the start and the end of another one. */
function overlaps(lines: readonly string[]): boolean {
  const pids = [...new Set(lines.map((line) => line.split(' ')[1]))];
  const seen = lines.map((line) => line.split(' ')[1]);
  return pids.some((pid) =>
    seen.slice(seen.indexOf(pid), seen.lastIndexOf(pid)).some((each) => each !== pid),
  );
}

test('a command without a sandbox ends by itself once its runtime was killed', async () => {
  const cwd = project();
  endAll(cwd);
  const run = spawned(['run', 'agent.yml', 'go'], cwd);
  await until(() => journal(cwd).some((line) => line.startsWith('beat')));
  run.child.kill('SIGKILL');
  await run.ended;
  const [pid = ''] = pidsOf(cwd);
  await until(() => !isAlive(pid));
  expect(journal(cwd).at(-1)).toBe(`stop ${pid}`);
});

test('resume after kill -9 starts the command again only when its orphan has stopped', async () => {
  const cwd = project();
  endAll(cwd);
  const run = spawned(['run', 'agent.yml', 'go'], cwd);
  await until(() => journal(cwd).some((line) => line.startsWith('beat')));
  run.child.kill('SIGKILL');
  await run.ended;
  const resumed = spawned(['resume', 'last'], cwd);
  await until(() => pidsOf(cwd).length === 2);
  writeFileSync(join(cwd, 'finish'), '');
  const { code, err } = await resumed.ended;
  expect(code, err).toBe(0);
  expect(pidsOf(cwd)).toHaveLength(2);
  expect(overlaps(journal(cwd))).toBe(false);
});

test('resume ends the orphan also when nothing else could: the watcher was killed as well', async () => {
  const cwd = project();
  endAll(cwd);
  const run = spawned(['run', 'agent.yml', 'go'], cwd);
  await until(() => journal(cwd).some((line) => line.startsWith('beat')));
  for (const child of childrenOf(run.child.pid ?? 0)) if (isWatcher(child)) process.kill(child, 'SIGKILL');
  run.child.kill('SIGKILL');
  await run.ended;
  const [first = ''] = pidsOf(cwd);
  const beats = journal(cwd).length;
  await until(() => journal(cwd).length > beats + 5);
  expect(isAlive(first)).toBe(true);
  const resumed = spawned(['resume', 'last'], cwd);
  await until(() => pidsOf(cwd).length === 2);
  expect(isAlive(first)).toBe(false);
  writeFileSync(join(cwd, 'finish'), '');
  expect((await resumed.ended).code).toBe(0);
  expect(overlaps(journal(cwd))).toBe(false);
});

test('an orphan that ignores SIGTERM is killed, with all that it started', async () => {
  const cwd = project({
    'beat.cjs': `${BEATING.replace("setTimeout(() => { say('stop'); process.exit(0); }, 300)", 'undefined')}
require('node:child_process').spawn('sh', ['-c', "trap '' TERM; while :; do echo beat $$ >> journal; sleep 0.05; done"], { stdio: 'ignore' });`,
  });
  endAll(cwd);
  const run = spawned(['run', 'agent.yml', 'go'], cwd);
  await until(() => pidsOf(cwd).length === 2);
  run.child.kill('SIGKILL');
  await run.ended;
  await expect.poll(() => pidsOf(cwd).filter(isAlive), { timeout: 40_000 }).toEqual([]);
}, 60_000);

test('a program that a finished action left running on purpose is not ended by a resume', async () => {
  const cwd = project({
    'server.yml':
      'kind: Tool\nname: server\nimplementation: { command: [sh, -c, "setsid node beat.cjs > /dev/null 2>&1 & "] }\n',
    'agent.yml':
      'kind: Agent\nname: worker\nmodel: scripted:./model.yml\nimport: { tools: [./server.yml, ./wait.yml] }\npermissions: { sandbox: off }\n',
    'wait.yml':
      'kind: Tool\nname: wait\nidempotent: true\nimplementation: { command: [sh, -c, "echo x >> waiting; while [ ! -e finish ]; do sleep 0.05; done"] }\n',
    'model.yml': `turns:
  - '<action id="a1" mode="sync">{"name": "server"}</action>'
  - '<action id="a2" mode="sync">{"name": "wait"}</action>'
  - '<response final="true">done</response>'
`,
  });
  endAll(cwd);
  const run = spawned(['run', 'agent.yml', 'go'], cwd);
  await until(() => existsSync(join(cwd, 'waiting')) && pidsOf(cwd).length === 1);
  run.child.kill('SIGKILL');
  await run.ended;
  const [server = ''] = pidsOf(cwd);
  const resumed = spawned(['resume', 'last'], cwd);
  await until(() => readFileSync(join(cwd, 'waiting'), 'utf8') === 'x\nx\n');
  expect(isAlive(server)).toBe(true);
  writeFileSync(join(cwd, 'finish'), '');
  expect((await resumed.ended).code).toBe(0);
});

test('an MCP server over stdio ends with a runtime that is killed', async () => {
  const cwd = project({
    'agent.yml':
      'kind: Agent\nname: worker\nmodel: scripted:./model.yml\nimport: { tools: [{ mcp: { name: m, command: node, args: [server.cjs] } }, ./beat.yml] }\npermissions: { sandbox: off }\n',
    'server.cjs': `${BEATING}
let text = '';
process.stdin.on('data', (chunk) => {
  text += chunk;
  for (let at = text.indexOf('\\n'); at !== -1; at = text.indexOf('\\n')) {
    const { id, method, params } = JSON.parse(text.slice(0, at));
    text = text.slice(at + 1);
    if (id === undefined) continue;
    const result = method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'm', version: '1' } }
      : { tools: [{ name: 't', description: 'x', inputSchema: { type: 'object' } }] };
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
  }
});`,
  });
  endAll(cwd);
  const run = spawned(['run', 'agent.yml', 'go'], cwd);
  await until(() => pidsOf(cwd).length === 2);
  run.child.kill('SIGKILL');
  await run.ended;
  await expect.poll(() => pidsOf(cwd).filter(isAlive), { timeout: 15_000 }).toEqual([]);
}, 30_000);

test('a process of somebody else with the same number is never ended', async () => {
  // Its marker names this very process as the runtime, which lives.
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const began = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const child = spawn('sleep', ['1000'], {
    env: { PATH: process.env.PATH, TELLTALE_STARTED_BY: `${process.pid}:${began}:ses_x:a1` },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { endOrphans, isProgramOf: ofStream } = await import('../../src/tools/process/orphans.ts');
  const { createSystemClock } = await import('../../src/lib/clock.ts');
  await endOrphans(
    createSystemClock(),
    ofStream('ses_x', () => false),
  );
  expect(isAlive(String(child.pid))).toBe(true);
});

function childrenOf(parent: number): readonly number[] {
  const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return text.trim().split(' ').map(Number);
}
const isWatcher = (pid: number) =>
  readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('while read -r change');

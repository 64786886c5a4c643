import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { spawned, telltale } from '../cli/spawned.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { daemon } from './served.ts';

/** A tool that never gives the event loop back. */
const ENDLESS = `import { appendFileSync } from 'node:fs';
export function loop() {
  appendFileSync('called.txt', 'x');
  for (;;);
}
`;
const HANGS = `kind: Agent
name: hangs
model: scripted:./hangs-turns.yml
import: { tools: [./loop.yml] }
permissions: { shell: allow, sandbox: "off" }
`;
const TOOL = `kind: Tool
name: loop
implementation: { module: ./loop.mjs, export: loop }
idempotent: true
`;
const GOOD = `kind: Agent
name: good
model: scripted:./good-turns.yml
import: { tools: [./gate.yml] }
permissions: { shell: allow, sandbox: "off" }
`;
const GATE = `kind: Tool
name: gate
implementation: { command: [sh, -c, "echo gate >> gate.txt; while [ ! -e open ]; do sleep 0.05; done; echo done >> gate.txt"] }
idempotent: true
`;
const files = {
  'hangs.yml': HANGS,
  'loop.yml': TOOL,
  'loop.mjs': ENDLESS,
  'hangs-turns.yml':
    'turns:\n  - |\n    <action id="a1">{"name": "loop"}</action>\n  - |\n    <response final="true">x</response>\n',
  'good.yml': GOOD,
  'gate.yml': GATE,
  'good-turns.yml':
    'turns:\n  - |\n    <action id="a1">{"name": "gate"}</action>\n    <response final="true">Good.</response>\n  - |\n    <response final="true"/>\n',
};

/** Begins a session and kills its process once the file is there. */
async function killed(cwd: string, agent: string, file: string): Promise<void> {
  const process = spawned(['run', agent, 'Go'], cwd);
  await expect.poll(() => existsSync(join(cwd, file)), { timeout: 60_000 }).toBe(true);
  process.child.kill('SIGKILL');
  await process.ended;
}

it('a session whose recovery hangs is quarantined after two hangs, and the others go on', {
  timeout: 300_000,
}, async () => {
  const cwd = temporaryProject(files);
  await killed(cwd, 'good.yml', 'gate.txt');
  await killed(cwd, 'hangs.yml', 'called.txt');
  const calls = () => readFileSync(join(cwd, 'called.txt'), 'utf8').length;
  expect(calls()).toBe(1);

  const start = () => daemon(['good.yml', 'hangs.yml'], cwd, { TELLTALE_HANG_SECONDS: '2' });
  let hangs = 0;
  for (; hangs < 4; hangs++) {
    const process = start();
    const over = await Promise.race([
      process.ended.then(() => true),
      expect
        .poll(process.said, { timeout: 60_000 })
        .toContain('It is quarantined')
        .then(() => false),
    ]);
    if (!over) {
      expect(process.said()).toContain('The process hung 2 times while it recovered this.');
      expect(process.said()).toMatch(/telltale resume ses_/);
      break;
    }
    expect(process.said()).toContain('while it recovered ses_');
  }
  expect(hangs).toBeGreaterThanOrEqual(2);
  expect(hangs).toBeLessThanOrEqual(3);
  // The daemon of the last round still runs: the other session has gone on in it, or does now.
  const called = calls();
  writeFileSync(join(cwd, 'open'), '');
  await expect
    .poll(async () => (await telltale(['sessions', '--json'], cwd)).out, { timeout: 60_000 })
    .toMatch(/"status": "completed"/);
  const listed = JSON.parse((await telltale(['sessions', '--json'], cwd)).out) as {
    readonly agent: string;
    readonly status: string;
  }[];
  expect(Object.fromEntries(listed.map(({ agent, status }) => [agent, status]))).toEqual({
    good: 'completed',
    hangs: 'quarantined',
  });
  expect(calls()).toBe(called);
});

import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { spawned } from './spawned.ts';

/** The session sets metadata, which triggers `outer`. Its agent step triggers `inner` in turn. */
const FILES = {
  'agent.yml': `kind: Agent
name: helper
model: scripted:./turns.yml
import: { workflows: [./outer.yml], agents: [./inner-agent.yml] }
metadata: { fields: { status: { type: enum, values: [IDLE, DONE] } } }
`,
  'turns.yml': `turns:
  - '<metadata>{"status":"DONE"}</metadata><response>Said.</response>'
`,
  'outer.yml': `kind: Workflow
name: outer
trigger: { type: metadata_match, conditions: { status: DONE } }
steps:
  - { name: rest, type: wait, for: 50ms }
  - { name: ask, type: agent, target: inner_agent, parameters: { input: Go. } }
`,
  'inner-agent.yml': `kind: Agent
name: inner_agent
model: scripted:./inner-turns.yml
import: { tools: [./slow.yml], workflows: [./inner.yml] }
metadata: { fields: { status: { type: enum, values: [IDLE, DONE] } } }
`,
  'inner-turns.yml': `turns:
  - '<metadata>{"status":"DONE"}</metadata><response>Inner.</response>'
`,
  'inner.yml': `kind: Workflow
name: inner
trigger: { type: metadata_match, conditions: { status: DONE } }
steps:
  - { name: hold, type: tool, target: slow, parameters: {} }
`,
  'slow.yml': `kind: Tool
name: slow
idempotent: true
parameters: { type: object, properties: {} }
implementation: { module: ./slow.mjs }
`,
  'slow.mjs': `import { appendFileSync, existsSync } from 'node:fs';
export async function run(_parameters, { signal }) {
  appendFileSync('journal', 'begin\\n');
  while (!existsSync('go')) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  appendFileSync('journal', 'end\\n');
  return 'held';
}
`,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.remove());

let schemas = 0;
function newFolder() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-alone-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  return {
    folder,
    store: `${database.url}?schema=alone_${++schemas}&lease=1500`,
    go: () => writeFileSync(join(folder, 'go'), ''),
    journal: () => {
      try {
        return readFileSync(join(folder, 'journal'), 'utf8').trim().split('\n');
      } catch {
        return [];
      }
    },
  };
}

async function statuses(store: string) {
  const runtime = await createRuntime({ store });
  try {
    const runs = await runtime.store.list({ kind: 'run' });
    return Object.fromEntries(runs.map(({ name, status }) => [name, status]));
  } finally {
    await runtime.close();
  }
}

describe('a process on PostgreSQL without workers', () => {
  it('works on the workflows that `telltale run` triggers, and on those that they trigger, before it exits', async () => {
    const { folder, store, go } = newFolder();
    go();
    const { ended } = spawned(['run', 'agent.yml', 'Go.', '--store', store], folder);
    const { code, out, err } = await ended;
    expect(code, err).toBe(0);
    expect(out).toMatch(/outer completed/);
    expect(await statuses(store)).toEqual({ outer: 'completed', inner: 'completed' });
  });

  it('leaves triggered runs on Ctrl-C, names each, exits with 130, and goes on with them later', async () => {
    const { folder, store, go, journal } = newFolder();
    const first = spawned(['run', 'agent.yml', 'Go.', '--store', store], folder);
    await expect.poll(journal).toContain('begin');
    first.child.kill('SIGINT');
    const { code, out, err } = await first.ended;
    expect(code, out + err).toBe(130);
    const said = `${out}${err}`;
    const left = [...said.matchAll(/telltale workflow resume (run_\w+|\S+) /g)].map(([, run]) => run ?? '');
    expect(left.length).toBeGreaterThan(0);
    go();
    for (const run of left) {
      const again = spawned(['workflow', 'resume', run, '--store', store], folder);
      const ended = await again.ended;
      expect(ended.code, ended.err).toBe(0);
    }
    expect(await statuses(store)).toEqual({ outer: 'completed', inner: 'completed' });
  });

  it('goes on with the triggered runs of a session that was killed when the session is resumed', async () => {
    const { folder, store, go, journal } = newFolder();
    writeFileSync(
      join(folder, 'turns.yml'),
      `turns:
  - '<metadata>{"status":"DONE"}</metadata><action id="a">{"name": "slow"}</action>'
  - '<response>Said.</response>'
`,
    );
    writeFileSync(
      join(folder, 'agent.yml'),
      FILES['agent.yml'].replace('import: {', 'import: { tools: [./slow.yml],'),
    );
    writeFileSync(
      join(folder, 'outer.yml'),
      `kind: Workflow
name: outer
trigger: { type: metadata_match, conditions: { status: DONE } }
steps: [{ name: hold, type: tool, target: slow, parameters: {} }]
`,
    );
    const first = spawned(['run', 'agent.yml', 'Go.', '--store', store], folder);
    await expect.poll(() => journal().length).toBe(2);
    first.child.kill('SIGKILL');
    await first.ended;
    go();
    // Until its lease has run out, the dead process counts as alive.
    let code: number | null = null;
    let said = '';
    await expect
      .poll(
        async () => {
          const again = await spawned(['resume', 'last', '--store', store], folder).ended;
          ({ code } = again);
          said = again.out + again.err;
          return code === 0 ? 'done' : said.includes('is being written by') ? 'owned' : said;
        },
        { timeout: 30_000 },
      )
      .not.toBe('owned');
    expect(code, said).toBe(0);
    expect(await statuses(store)).toEqual({ outer: 'completed' });
  });

  it('works on the workflows that a run of `telltale workflow run` triggers before it exits', async () => {
    const { folder, store, go } = newFolder();
    go();
    const { ended } = spawned(['workflow', 'run', 'agent.yml', 'outer', '--store', store], folder);
    const { code, err } = await ended;
    expect(code, err).toBe(0);
    expect(await statuses(store)).toEqual({ outer: 'completed', inner: 'completed' });
  });

  it('works on triggered workflows in a program that uses the library', async () => {
    const { folder, store, go } = newFolder();
    go();
    const runtime = await createRuntime({ store, cwd: folder });
    onTestFinished(() => runtime.close());
    const agent = await loadAgent(join(folder, 'agent.yml'));
    writeFileSync(join(folder, 'slow.mjs'), 'export const run = async () => "held";\n');
    expect((await runtime.start(agent, { input: 'Go.' }).result).status).toBe('completed');
    await runtime.workflows.idle();
    expect(await statuses(store)).toEqual({ outer: 'completed', inner: 'completed' });
  });
});

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { createMemoryHome } from '../../src/store/memory/memory-tables.ts';
import { agentFolder, tool } from './run-agent.ts';

const INNER = `kind: Workflow
name: inner
steps: [{ name: hold, type: tool, target: hold }, { name: said, type: script, script: "'said'" }]
`;
const OUTER = `kind: Workflow
name: outer
steps: [{ name: below, type: workflow, target: inner }]
`;

it('a called run that another process took is waited for: that is no failure of the step', async () => {
  const gate = join(tmpdir(), `gate-${randomUUID()}`);
  const folder = agentFolder('import: { tools: ["./tools/*.yml"], workflows: ["./*.flow.yml"] }\n', {
    ...tool(
      'hold',
      `const { existsSync } = await import('node:fs');
       while (!existsSync(${JSON.stringify(gate)})) await new Promise((done) => setTimeout(done, 10));
       return 'held';`,
      'idempotent: true\n',
    ),
    'inner.flow.yml': INNER,
    'outer.flow.yml': OUTER,
  });
  const clock = createSystemClock();
  const home = createMemoryHome();
  const store = createMemoryStore({ clock, home, pid: 1 });
  const other = createMemoryStore({ clock, home, pid: 2, isAlive: ({ pid }) => pid !== 1 });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const runtime = await createRuntime({ store, cwd: folder });
  onTestFinished(() => runtime.close());
  const run = runtime.workflows.start(findWorkflow(agent, 'outer'));
  const inner = `${run.id}.below`;
  const started = async () => (await runtime.workflows.state(inner)).steps.get('hold')?.status;
  await expect.poll(() => started().catch(() => undefined)).toBe('running');
  const taken = await other.acquire(inner);
  writeFileSync(gate, '');
  await new Promise((resolve) => setTimeout(resolve, 100)); // its first process finds out that it has lost it
  expect((await runtime.workflows.state(run.id)).status).toBe('running');
  await taken.release();
  expect(await run.result).toMatchObject({ status: 'completed', output: 'said' });
});

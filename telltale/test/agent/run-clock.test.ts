import { expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import { agentFolder } from './run-agent.ts';

it('the clock and the chance of a script step are those of its beginning on the log, in each try', async () => {
  const seen = '[Date.now(), new Date().toISOString(), Math.random()]';
  const folder = agentFolder('import: { workflows: [./flow.yml] }\n', {
    'flow.yml': `kind: Workflow
name: flow
steps:
  - name: tries
    type: script
    script: "throw new Error(JSON.stringify(${seen}))"
    retry: { max: 1, backoff: 20ms }
    on_error: continue
`,
  });
  const workflow = await loadWorkflow('agent.yml', { cwd: folder, workflow: 'flow' });
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  const run = runtime.workflows.start(workflow);
  await run.result;
  const events = await runtime.workflows.events(run.id);
  await runtime.close();
  const begun = events.find(({ type }) => type === 'step.started')?.at ?? 0;
  const said = events.flatMap((event) =>
    event.type === 'step.retrying' || event.type === 'step.failed' ? [event.error.message] : [],
  );
  expect(said).toHaveLength(2);
  expect(said[0]).toContain(`[${begun},"${new Date(begun).toISOString()}",0.`);
  expect(said[1]).toBe(said[0]);
});

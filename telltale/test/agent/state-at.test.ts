import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool, defineWorkflow } from '../../src/agent/define/definitions.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import { scripted } from '../../src/testing/scripted.ts';

const say = defineTool({ name: 'say', run: () => 'said' });
const flow = defineWorkflow({ name: 'flow', steps: [{ name: 'one', type: 'tool', target: 'say' }] });

async function scene() {
  const model = scripted(['<response>Done.</response>']);
  const agent = await defineAgent({ name: 'bot', model, tools: [say], workflows: [flow] });
  const runtime = await createRuntime({ store: 'memory' });
  onTestFinished(() => runtime.close());
  return { agent, runtime };
}

it('the state after an event that a session does not have is refused with the last that it has', async () => {
  const { agent, runtime } = await scene();
  const { session } = await runtime.start(agent, { input: 'Go.' }).result;
  const { seq: head } = await runtime.state(session);
  expect((await runtime.state(session, head)).seq).toBe(head);
  expect((await runtime.state(session, 2)).seq).toBe(2);
  for (const seq of [head + 1, -1, 1.5, Number.NaN])
    await expect(runtime.state(session, seq)).rejects.toMatchObject({
      code: 'event_unknown',
      message: `${session} has no event ${seq}. Its last event is ${head}.`,
    });
});

it('and so it is with a run', async () => {
  const { agent, runtime } = await scene();
  const { run } = await runtime.workflows.start(await findWorkflow(agent, flow)).result;
  const { seq: head } = await runtime.workflows.state(run);
  expect((await runtime.workflows.state(run, head)).status).toBe('completed');
  await expect(runtime.workflows.state(run, head + 1)).rejects.toMatchObject({ code: 'event_unknown' });
});

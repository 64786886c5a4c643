import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import { eventually } from '../store/eventually.ts';
import { agentFolder, tool } from './run-agent.ts';

const NOTES = 'The word was written down by the tool that does so, and it gave back what it had been told.';

const turns = (...texts: readonly string[]) =>
  `turns:\n${texts.map((text) => `  - ${JSON.stringify(text)}\n`).join('')}`;
const plan = (...actions: readonly object[]) => JSON.stringify(actions);

async function stage(flow: string, files: Readonly<Record<string, string>>, manifest = '', store = 'memory') {
  const folder = agentFolder(
    `import: { tools: [./tools/*.yml], agents: [./helper.yml], workflows: [./flow.yml, ./long.yml] }\n${manifest}`,
    {
      ...tool('echo', 'return { key: context.idempotencyKey, ...input };', 'description: Says it.\n'),
      'helper.yml':
        'kind: Agent\nname: helper\nmodel: scripted:helped.yml\nimport: { tools: [./tools/*.yml] }\n',
      'long.yml': 'kind: Workflow\nname: long\nsteps: [{ name: hour, type: wait, for: 1h }]\n',
      'flow.yml': `kind: Workflow\nname: flow\nsteps: [${flow}]\n`,
      ...files,
    },
  );
  const open = () => createRuntime({ store, durability: 'process', cwd: folder });
  return {
    runtime: await open(),
    again: open,
    flow: await loadWorkflow('agent.yml', { cwd: folder, workflow: 'flow' }),
  };
}

describe('a plan in a run', () => {
  it('is made and executed with another agent’s model and tools, under the hooks of the run', async () => {
    const { runtime, flow } = await stage(
      '{ name: say, type: plan, agent: helper, prompt: Say a word. }',
      { 'helped.yml': turns(plan({ action: 'echo', parameters: { word: 'ready' } }), NOTES) },
      'hooks: { before_action: [{ command: [node, -e, "process.exit(1)"], fallback: { parameters: { word: steady } } }] }\n',
    );
    const run = runtime.workflows.start(flow, { id: 'run_h' });
    expect(await run.result).toMatchObject({
      status: 'completed',
      output: {
        notes: NOTES,
        results: [{ action: 'echo', output: { word: 'steady', key: 'run_h:say/1.0' } }],
      },
    });
    const events = await runtime.workflows.events('run_h');
    expect(events.find(({ type }) => type === 'step.completed')).toMatchObject({ notes: NOTES });
    expect(events.find(({ type }) => type === 'hook.ran')).toMatchObject({
      action: 'say/1.0',
      outcome: 'changed',
    });
    expect(events.filter(({ type }) => type === 'model.used')).toHaveLength(2);
    expect((await runtime.workflows.state('run_h')).hooks).toEqual([]);
    await runtime.close();
  });

  it('waits for a person in no process, and goes on in another', async () => {
    const { runtime, again, flow } = await stage(
      '{ name: say, type: plan, prompt: Say a word., approval: always, tools: [echo] }',
      { 'none.yml': turns(plan({ action: 'echo', parameters: { word: 'go' } }), NOTES) },
      '',
      'sqlite:runs.db',
    );
    expect(await runtime.workflows.start(flow, { id: 'run_a' }).result).toMatchObject({ status: 'waiting' });
    const [review] = await runtime.reviews();
    expect(review?.what).toContain('1. echo {"word":"go"}');
    await runtime.close();
    const other = await again();
    await other.answer(review?.review ?? '', { approved: true, by: 'Ann' });
    const resumed = await other.workflows.resume('run_a', { workflow: flow });
    expect(await resumed.result).toMatchObject({ output: { results: [{ output: { word: 'go' } }] } });
    const made = (await other.workflows.events('run_a')).filter(({ type }) => type === 'plan.made');
    expect(made).toHaveLength(1);
    await other.close();
  });

  it('ends what its action called when it is cancelled', async () => {
    const { runtime, flow } = await stage('{ name: call, type: plan, prompt: Take an hour. }', {
      'none.yml': turns(plan({ action: 'long', parameters: {} }), NOTES),
    });
    const run = runtime.workflows.start(flow, { id: 'run_c' });
    expect(await run.result).toMatchObject({ status: 'waiting' });
    expect((await runtime.store.info('run_c.call/1.0'))?.status).toBe('waiting');
    await runtime.workflows.cancel('run_c', 'changed my mind');
    await eventually(async () =>
      expect((await runtime.store.info('run_c.call/1.0'))?.status).toBe('cancelled'),
    );
    await runtime.close();
  });
});

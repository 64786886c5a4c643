import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Model } from '../../src/models/model.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { agentFolder, runAgent } from './run-agent.ts';

const FIELDS = 'metadata: { fields: { status: { values: [A, B, C], default: A } } }\n';
const IMPORT = 'import: { workflows: [./flows/*.yml] }\n';
const WAITS = `kind: Workflow
name: waits
steps:
  - { name: wait, type: wait, event: metadata.changed, match: { changes.status.to: C } }
  - { name: say, type: script, script: "steps.wait.output.data.changes.status.to" }
`;
const call = (name: string) => `<action type="workflow" mode="background" id="w">{"name":"${name}"}</action>`;
const set = (status: string) => `<metadata>{"status":"${status}"}</metadata>`;

/** Says the turns, the second once as many runs wait as that. */
async function play(files: Readonly<Record<string, string>>, turns: readonly string[], waiting: number) {
  const folder = agentFolder(`${FIELDS}${IMPORT}`, files);
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const store = createMemoryStore();
  const runtime = await createRuntime({ store, cwd: folder });
  const runs = async (status: string) => (await store.list({ kind: 'run', status: [status] })).length;
  const until = async (isSo: () => Promise<boolean>) => {
    while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 2));
  };
  const model: Model = {
    id: 'test/waits',
    async stream({ turn }, sink) {
      if (turn === 2) await until(async () => (await runs('waiting')) === waiting);
      sink.text(turns[turn - 1] ?? '<response>Too far.</response>');
      return { finish: 'stop' };
    },
  };
  const session = runtime.start(agent, { input: 'Go.', model });
  const { result } = await session.result;
  await until(async () => (await runs('completed')) === waiting);
  const events = await runtime.events(session.id);
  await runtime.close();
  return { result, events };
}

describe('a step that waits for an event of the session', () => {
  it('hears of it in a run that an action calls, also one that comes as the run begins', async () => {
    const { result } = await runAgent({
      manifest: `${FIELDS}${IMPORT}`,
      files: { 'flows/waits.yml': WAITS },
      turns: [call('waits'), set('B') + set('C'), '<response>$w</response>'],
    });
    expect(result).toMatchObject({ status: 'completed', result: 'C' });
  });

  it('hears of it in the run that leads the session', async () => {
    const notes = 'I said what I am at, as I was asked to, and that is all there was to do here.';
    const complete = `<action type="internal" mode="sync">{"name":"complete_step","parameters":{"notes":"${notes}"}}</action>`;
    const lead = WAITS.replace(
      '  - { name: wait,',
      '  - name: both\n    type: parallel\n    branches:\n      - { name: work, type: task, prompt: Do it. }\n      - { name: wait,',
    );
    const { result, of } = await runAgent({
      manifest: `workflow: waits\n${FIELDS}${IMPORT}`,
      files: { 'flows/waits.yml': lead },
      turns: [set('C'), complete],
      after: async (id, runtime) => {
        expect(await runtime.workflows.state(`${id}~lead`)).toMatchObject({
          status: 'completed',
          output: 'C',
        });
      },
    });
    expect(result.status).toBe('completed');
    expect(of('metadata.changed')).toHaveLength(1);
  });

  it('hears of it in a run that a run calls which an action calls', async () => {
    const outer = 'kind: Workflow\nname: outer\nsteps: [{ name: below, type: workflow, target: waits }]\n';
    const files = { 'flows/waits.yml': WAITS, 'flows/outer.yml': outer };
    const { result } = await play(files, [call('outer'), set('B') + set('C'), '<response>$w</response>'], 2);
    expect(result).toBe('C');
  });

  it('hears of it in a run that a run calls which a trigger set off', async () => {
    const outer = `kind: Workflow
name: outer
trigger: { type: metadata_match, conditions: { status: B } }
steps: [{ name: below, type: workflow, target: waits }]
`;
    const files = { 'flows/waits.yml': WAITS, 'flows/outer.yml': outer };
    const { events } = await play(files, [set('B'), set('C'), '<response>Ok.</response>'], 2);
    expect(events.filter(({ type }) => type === 'trigger.fired')).toHaveLength(1);
  });
});

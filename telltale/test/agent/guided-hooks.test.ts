import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { crashAt } from '../../src/testing/crash.ts';
import { agentFolder, runAgent } from './run-agent.ts';

const NOTES = 'I called the tool once, as I was told, and read what it gave back.';
const complete = (id: string) =>
  `<action type="internal" id="${id}" mode="sync">{"name":"complete_step","parameters":{"notes":"${NOTES}"}}</action>`;
const call = (id: string) =>
  `<action id="${id}" mode="sync">{"name":"echo","parameters":{"text":"-"}}</action>`;

const hooks = (kind: string, method: string) =>
  `{ ${kind}: [{ invoke: guard, method: ${method}, fallback: { refuse: broken } }] }`;
const GUARD = `kind: Artifact
name: guard
source: |
  const only = (about, then) => (about.action.name === 'echo' ? then : true);
  const add = (about, word) => only(about, { parameters: { text: about.action.parameters.text + word } });
  export function agent(about) { return add(about, ' agent'); }
  export function workflow(about) { return add(about, ' workflow'); }
  export function step(about) { return add(about, ' step'); }
  export function no(about) { return only(about, { refuse: 'not in this step' }); }
  export function look() { return true; }
methods: { agent: {}, workflow: {}, step: {}, no: {}, look: {} }
`;
const ECHO = 'kind: Tool\nname: echo\nidempotent: true\nimplementation: { script: "parameters.text" }\n';
const files = (workflow: string) => ({ 'guard.yml': GUARD, 'echo.yml': ECHO, 'flow.yml': workflow });
const IMPORT = 'import: { tools: [./echo.yml], artifacts: [./guard.yml], workflows: [./flow.yml] }\n';
const task = (name: string, more = '') => `{ name: ${name}, type: task, prompt: Do it.${more} }`;
const flow = (steps: string, more = '') => `kind: Workflow\nname: flow\n${more}steps: [${steps}]\n`;

describe('hooks of a workflow that leads an agent', () => {
  it('are asked about its actions behind the agent’s own, those of a step while it is in hand', async () => {
    const ran = await runAgent({
      manifest: `workflow: flow\nhooks: ${hooks('before_action', 'agent')}\n${IMPORT}`,
      files: files(
        flow(
          `${task('one', `, hooks: ${hooks('before_action', 'step')}`)}, ${task('two')}, ${task('three', `, hooks: ${hooks('before_action', 'no')}`)}`,
          `hooks: ${hooks('before_action', 'workflow')}\n`,
        ),
      ),
      turns: [call('a'), complete('x'), call('b'), complete('y'), call('c'), complete('z')],
    });
    expect(ran.result.status).toBe('completed');
    const outputs = ran.of('action.completed').filter(({ id }) => id < 'd');
    expect(outputs.map(({ output }) => output)).toEqual(['- agent workflow step', '- agent workflow']);
    expect(ran.of('action.failed')).toMatchObject([{ id: 'c', error: { code: 'hook_refused' } }]);
    const about = ran.of('hook.ran').filter(({ action }) => action === 'a' || action === 'c');
    expect(about.map(({ of }) => of)).toEqual([
      'agent',
      'workflow',
      'step one',
      'agent',
      'workflow',
      'step three',
    ]);
  });

  it('are told of its turns', async () => {
    const ran = await runAgent({
      manifest: `workflow: flow\n${IMPORT}`,
      files: files(
        flow(
          `${task('one')}, ${task('two', `, hooks: ${hooks('after_turn', 'look')}`)}`,
          `hooks: ${hooks('before_turn', 'look')}\n`,
        ),
      ),
      turns: [complete('x'), complete('y')],
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.of('hook.ran').map(({ hook, of }) => `${hook} ${of}`)).toEqual([
      'before_turn workflow',
      'before_turn workflow',
      'after_turn step two',
    ]);
  });

  it('count for another agent that works on its task, and for no other session of that agent', async () => {
    const folder = agentFolder(`${IMPORT.replace('{ tools', '{ agents: [./helper.yml], tools')}`, {
      ...files(flow(task('one', `, agent: helper, hooks: ${hooks('before_action', 'no')}`))),
      'helper.yml': 'kind: Agent\nname: helper\nmodel: scripted:turns.yml\nimport: { tools: [./echo.yml] }\n',
      'turns.yml': JSON.stringify({ turns: [call('a'), complete('x')] }),
    });
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    const run = runtime.workflows.start(await loadWorkflow('agent.yml', { cwd: folder, workflow: 'flow' }));
    expect(await run.result).toMatchObject({ status: 'completed' });
    const led = await runtime.events(`${run.id}~helper`);
    expect(led.filter(({ type }) => type === 'action.failed')).toMatchObject([{ id: 'a' }]);
    const helper = await loadAgent('helper.yml', { cwd: folder });
    const model = createScriptedModel({ turns: [call('a'), '<response>$a</response>'] });
    expect((await runtime.start(helper, { input: 'Go.', model }).result).result).toBe('-');
    await runtime.close();
  });

  it('let nothing through where the process dies between the call and their answer', async () => {
    const folder = agentFolder(`workflow: flow\n${IMPORT}`, {
      ...files(flow(task('one', `, hooks: ${hooks('before_action', 'no')}`))),
      'none.yml': JSON.stringify({ turns: [call('a'), complete('x'), complete('y'), complete('z')] }),
    });
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const scenario = { input: 'Go.', setUp: async () => ({ agent }) };
    for (const point of ['committed:action.declared', 'append:invoke', 'committed:hook.ran']) {
      const { events, result } = await crashAt(scenario, { point, nth: 1 });
      expect(result.status, point).toBe('completed');
      const ended = events.filter((event) => 'id' in event && event.id === 'a').at(-1);
      expect(ended, point).toMatchObject({ type: 'action.failed', error: { code: 'hook_refused' } });
    }
  });
});

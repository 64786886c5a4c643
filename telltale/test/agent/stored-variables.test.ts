// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the manifests under test hold such references
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { agentFolder } from './run-agent.ts';

const NEXT = '{ name: next, type: script, script: "vars.n + 1" }';
const SET = '{ name: set, type: set_variable, values: { n: "${steps.next.output}" } }';
const SEE = '{ name: see, type: script, script: "vars.n" }';

const kept = (more = '') =>
  `context_variables: { defined: [{ name: n, type: number, key: agent, default: 0${more} }] }\n`;
const flow = (steps: string, variables = kept()) =>
  `kind: Workflow\nname: flow\n${variables}steps: [${steps}]\n`;

/** Runs the workflow as often as there are options, and gives what each run came to. */
async function outputs(
  text: string,
  starts: readonly { readonly vars?: JsonObject }[],
  { manifest = '', store = 'memory', user }: { manifest?: string; store?: string; user?: string } = {},
) {
  const folder = agentFolder(`${manifest}import: { workflows: [./flow.yml] }\n`, { 'flow.yml': text });
  const workflow = await loadWorkflow('agent.yml', { cwd: folder, workflow: 'flow' });
  const runtime = await createRuntime({ store, cwd: folder, ...(user === undefined ? {} : { user }) });
  const all: unknown[] = [];
  for (const start of starts) {
    const { status, output, error } = await runtime.workflows.start(workflow, start).result;
    all.push(status === 'completed' ? output : (error?.code ?? status));
  }
  await runtime.close();
  return all;
}

describe('a defined variable of a workflow', () => {
  it.each([
    ['a step sets', `${NEXT}, ${SET}, ${SEE}`],
    [
      'a step stores its result in',
      `{ name: next, type: script, script: "vars.n + 1", output_key: n }, ${SEE}`,
    ],
  ])('that %s is there in the next run, in memory and in a file', async (_, steps) => {
    expect(await outputs(flow(steps), [{}, {}, {}])).toEqual([1, 2, 3]);
    const store = join(mkdtempSync(join(tmpdir(), 'telltale-kept-')), 'kept.db');
    expect(await outputs(flow(steps), [{}, {}], { store })).toEqual([1, 2]);
    expect(await outputs(flow(steps), [{}], { store })).toEqual([3]);
  });

  it('is kept by what its key says: each user has one, and each run where that is its session', async () => {
    const store = join(mkdtempSync(join(tmpdir(), 'telltale-kept-')), 'kept.db');
    const steps = `${NEXT}, ${SET}, ${SEE}`;
    const of = (user: string) => outputs(flow(steps, kept().replace('agent', 'user')), [{}], { store, user });
    expect([...(await of('ann')), ...(await of('bob')), ...(await of('ann'))]).toEqual([1, 1, 2]);
    expect(await outputs(flow(steps, kept().replace('agent', 'session')), [{}, {}])).toEqual([1, 1]);
  });

  it('that is given to a run is kept where users may write it', async () => {
    expect(await outputs(flow(SEE), [{ vars: { n: 7 } }, {}])).toEqual([7, 7]);
    const not = flow(SEE, kept(', writers: [workflow]'));
    await expect(outputs(not, [{ vars: { n: 7 } }])).rejects.toMatchObject({ code: 'variable_denied' });
    await expect(outputs(flow(SEE), [{ vars: { n: 'x' } }])).rejects.toMatchObject({
      code: 'bad_parameters',
    });
    expect(await outputs(not, [{}])).toEqual([0]);
  });

  it('takes no value of another type, and none of a step where workflows may not write it', async () => {
    const wrong = '{ name: next, type: script, script: "\'x\'" }';
    expect(await outputs(flow(`${wrong}, ${SET}`), [{}])).toEqual(['bad_parameters']);
    const stored = '{ name: store, type: script, script: "\'x\'", output_key: n }';
    const both = '{ name: both, type: script, script: "[steps.see.output, vars.n]" }';
    expect(await outputs(flow(`${SEE}, ${stored}, ${both}`), [{}, {}])).toEqual([
      [0, 'x'],
      [0, 'x'],
    ]);
    const denied = flow(`${NEXT}, ${SET}`, kept(', writers: [user]'));
    expect(await outputs(denied, [{}])).toEqual(['variable_denied']);
  });

  it('set by one run to what it had wins over what another set meanwhile', async () => {
    const folder = agentFolder('import: { workflows: [./flow.yml] }\n', {
      'flow.yml': flow(
        `{ name: one, type: set_variable, values: { n: 1 } }, { name: hold, type: wait, event: custom, if: "input.wait" }, { name: again, type: set_variable, values: { n: "\${input.n}" } }`,
      ),
    });
    const workflow = await loadWorkflow('agent.yml', { cwd: folder, workflow: 'flow' });
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    const first = runtime.workflows.start(workflow, { input: { wait: true, n: 1 }, onWaiting: 'hold' });
    for await (const { type } of first.events) if (type === 'workflow.waiting') break;
    await runtime.workflows.start(workflow, { input: { wait: false, n: 2 } }).result;
    await runtime.workflows.signal(first.id, 'go');
    expect(await first.result).toMatchObject({ status: 'completed' });
    const last = runtime.workflows.start(workflow, { input: { wait: true, n: 1 } });
    await last.result;
    const [begun] = await runtime.workflows.events(last.id);
    expect(begun).toMatchObject({ type: 'workflow.started', vars: { n: 1 }, kept: { n: 'agent:tester' } });
    await runtime.close();
  });
});

describe('a run that belongs to no session', () => {
  const AGENT = `context_variables:
  defined: [{ name: n, type: number, key: agent, default: 0 }]
  runtime: [{ name: mood, type: string, default: calm }]
  derived: [{ name: calm, expression: 'mood == "calm"' }]
`;
  it('has the variables of its agent: what is kept, and else as a session would begin', async () => {
    const see = '{ name: see, type: script, script: "[vars.n, vars.mood, vars.calm]" }';
    const text = flow(`${NEXT}, ${SET}, ${see}`, '');
    expect(await outputs(text, [{}, {}], { manifest: AGENT })).toEqual([
      [1, 'calm', true],
      [2, 'calm', true],
    ]);
  });

  it('and a session of the agent have the same kept variables', async () => {
    const folder = agentFolder(`${AGENT}import: { workflows: [./flow.yml] }\n`, {
      'flow.yml': flow(`${NEXT}, ${SET}, ${SEE}`, kept()),
    });
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const workflow = await loadWorkflow('agent.yml', { cwd: folder, workflow: 'flow' });
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    await runtime.workflows.start(workflow).result;
    const call = '<action type="workflow" id="w" mode="sync">{"name":"flow","parameters":{}}</action>';
    const model = createScriptedModel({ turns: [call, '<response>$w $n</response>'] });
    expect((await runtime.start(agent, { input: 'Go.', model }).result).result).toBe('2 2');
    expect(await runtime.workflows.start(workflow).result).toMatchObject({ output: 3 });
    await runtime.close();
  });
});

import { expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { cancelUnowned } from '../../src/agent/ending/cancel-unowned.ts';
import { leadRun } from '../../src/agent/guided/guidance.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import type { Runtime, Session } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { createCaretaker } from '../../src/server/recovery/recovery-service.ts';
import { call } from './children/run-team.ts';
import { agentFolder, tool } from './run-agent.ts';

const clock = createSystemClock();
const ENDED = ['session.completed', 'session.cancelled'];

const says = (...turns: readonly string[]): Model => createScriptedModel({ id: 'scripted:x', turns, clock });

/** Begins a thought, and then says nothing more until it is stopped. */
const hanging: Model = {
  id: 'hanging',
  async stream({ signal }, sink) {
    await undefined;
    sink.text('<thought>I am at it.</thought>');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    throw modelCancelled('hanging');
  },
};

async function stageOf(manifest = '', files: Readonly<Record<string, string>> = {}) {
  const cwd = agentFolder(manifest, files);
  const runtime = await createRuntime({ store: 'memory', cwd });
  onTestFinished(() => runtime.close());
  return { cwd, runtime, agent: await loadAgent('agent.yml', { cwd }) };
}

const thinks = (session: Session) =>
  new Promise<void>((resolve) => {
    session.subscribe((event) => event.type === 'thought' && resolve());
  });

const ends = async (runtime: Runtime, session: string) =>
  (await runtime.events(session)).flatMap(({ type }) => (ENDED.includes(type) ? [type] : []));

async function interrupted(manifest?: string, files?: Readonly<Record<string, string>>) {
  const stage = await stageOf(manifest, files);
  const session = stage.runtime.start(stage.agent, { input: 'Go.', model: hanging });
  await thinks(session);
  await session.interrupt();
  return { ...stage, session, id: session.id };
}

it('one that was cancelled does not go on because somebody had found it alive', async () => {
  const { runtime, agent, id } = await interrupted();
  await runtime.cancel(id);
  const before = await runtime.events(id);
  const model = says('Well.', '<response>Done.</response>');
  await expect(runtime.resume(id, { agent, model, by: 'runtime' })).rejects.toMatchObject({
    code: 'session_ended',
    message: `${id} has ended (cancelled). It only continues if you resume it.`,
  });
  expect(await runtime.events(id)).toEqual(before);
  const resumed = await runtime.resume(id, { agent, model });
  expect(await resumed.result).toMatchObject({ status: 'completed' });
});

it('one that has ended since it was looked at is not ended once more', async () => {
  const { runtime, agent, id } = await interrupted();
  const given = { reason: 'enough', by: 'ann', clock };
  expect(await cancelUnowned(runtime, id, given)).toBe('ended');
  expect(await cancelUnowned(runtime, id, given)).toBe('ended_before');
  expect(await ends(runtime, id)).toEqual(['session.cancelled']);
  const other = runtime.start(agent, { input: 'Go.', model: says('<response>Done.</response>') });
  await other.result;
  expect(await cancelUnowned(runtime, other.id, given)).toBe('ended_before');
  expect(await ends(runtime, other.id)).toEqual(['session.completed']);
});

it('one that many cancel at once is cancelled once', async () => {
  const { runtime, session, id } = await interrupted();
  await Promise.all([runtime.cancel(id), session.cancel(), runtime.cancel(id), session.cancel()]);
  expect(await ends(runtime, id)).toEqual(['session.cancelled']);
});

it('a workflow run is none', async () => {
  const { runtime, cwd } = await stageOf('import: { workflows: [./flow.yml] }\n', {
    'flow.yml': 'kind: Workflow\nname: flow\nsteps: [{ name: w, type: wait, for: 1h }]\n',
  });
  const workflow = await loadWorkflow('agent.yml', { cwd, workflow: 'flow' });
  await runtime.workflows.start(workflow, { id: 'run_1', onWaiting: 'release' }).result;
  const before = await runtime.workflows.events('run_1');
  await expect(runtime.cancel('run_1')).rejects.toMatchObject({
    code: 'session_unknown',
    hint: 'End it with runtime.workflows.cancel("run_1").',
  });
  expect(await runtime.workflows.events('run_1')).toEqual(before);
});

it('one that a kill left empty is still taken by whoever starts under its id', async () => {
  const { runtime, agent } = await stageOf();
  const head = { kind: 'session', name: 'tester', status: 'running', title: 't' } as const;
  await (await runtime.store.create('ses_empty', head)).release();
  await expect(runtime.cancel('ses_empty')).rejects.toMatchObject({ code: 'session_empty' });
  const started = runtime.start(agent, {
    id: 'ses_empty',
    input: 'Go.',
    model: says('<response>Done.</response>'),
  });
  expect(await started.result).toMatchObject({ status: 'completed' });
});

const TEAM = 'permissions: { sandbox: "off" }\nimport: { agents: [./team/*.yml] }\n';
const HELPER = {
  'team/helper.yml':
    'kind: Agent\nname: helper\nmodel: scripted:./helper.json\npermissions: { sandbox: "off" }\nimport: { tools: ["../tools/*.yml"] }\n',
  'team/helper.json': JSON.stringify({
    turns: ['<action id="d">{"name":"deploy"}</action>', '<response>done</response>'],
  }),
  ...tool('deploy', 'return 1;', 'approval: always\n'),
};

it("a sub-agent's for which nobody waits any more ends at once", async () => {
  const { runtime, agent } = await stageOf(TEAM, HELPER);
  const model = says(call('a1', 'helper'), '<response>Done.</response>');
  const session = runtime.start(agent, { input: 'Go.', model, onWaiting: 'release' });
  expect((await session.result).status).toBe('waiting');
  const without = await loadAgent('agent.yml', { cwd: agentFolder('permissions: { sandbox: "off" }\n', {}) });
  const again = await runtime.resume(session.id, { agent: without, acceptChanges: true, model: hanging });
  await thinks(again as Session);
  await again.interrupt();
  await runtime.cancel(`${session.id}.a1`);
  expect(await ends(runtime, `${session.id}.a1`)).toEqual(['session.cancelled']);
});

it("a sub-agent's ends with its caller, which goes on for it", async () => {
  const { runtime, agent } = await stageOf(TEAM, HELPER);
  const model = says(call('a1', 'helper'), '<response>Done.</response>', '<response>Done.</response>');
  const session = runtime.start(agent, { input: 'Go.', model, onWaiting: 'release' });
  expect((await session.result).status).toBe('waiting');
  const resume: Runtime['resume'] = (id, options) =>
    runtime.resume(id, { ...options, agent, model } as never);
  const caretaker = createCaretaker({
    runtime: { ...runtime, resume },
    catalog: { list: () => [] },
    clock,
    onLeft: () => undefined,
  });
  onTestFinished(() => caretaker.close());
  await caretaker.recover();
  await runtime.cancel(`${session.id}.a1`, 'no more');
  await expect.poll(() => ends(runtime, session.id)).toEqual(['session.completed']);
  expect(await ends(runtime, `${session.id}.a1`)).toEqual(['session.cancelled']);
});

it('one that a run leads ends with that run, where it was interrupted', async () => {
  const { runtime, id } = await interrupted('import: { workflows: [./lead.yml] }\nworkflow: lead\n', {
    'lead.yml': 'kind: Workflow\nname: lead\nsteps: [{ name: one, type: task, prompt: "One." }]\n',
  });
  await runtime.cancel(id);
  expect(await ends(runtime, id)).toEqual(['session.cancelled']);
  const lead = await runtime.store.info(leadRun(id));
  expect(lead).toMatchObject({ status: 'cancelled' });
  expect(lead?.owner).toBeUndefined();
});

it('one whose runtime is closed stays interrupted, and nobody is told an error', async () => {
  const { runtime, session } = await interrupted();
  await runtime.close();
  await session.cancel();
  expect((await session.result).status).toBe('interrupted');
});

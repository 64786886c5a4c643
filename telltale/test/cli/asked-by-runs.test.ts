import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import type { AskRun, RunQuestion } from '../../src/agent/runs/run-questions.ts';
import type { Io } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';
import { signer } from '../../src/cli/program.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';
import { recordedIo } from './recorded-io.ts';

const DONE = '<response final="true">Done.</response>';

const project = (steps: string, agent = '', turns: readonly string[] = [DONE], trigger = '') =>
  agentFolder('', {
    'agent.yml': `kind: Agent\nname: worker\nmodel: scripted:turns.yml\npermissions: { sandbox: off }\nimport: { workflows: [./way.yml], tools: [./tools/*.yml] }\n${agent}`,
    'turns.yml': `turns: ${JSON.stringify(turns)}\n`,
    'way.yml': `kind: Workflow\nname: way\n${trigger}steps:\n${steps}`,
    ...tool('deploy', 'return "deployed";', 'approval: always\n'),
  });

/** A command on a terminal where a person types these lines, one whenever asked. */
async function typed(cwd: string, argv: readonly string[], lines: readonly string[]) {
  const recorded = recordedIo({ cwd, terminal: true, lines });
  const io: Io = { ...recorded, clock: createSystemClock() };
  const code = await main(argv, io);
  return { code, out: recorded.out(), err: recorded.err() };
}
const json = async (cwd: string, argv: readonly string[]) => {
  const io = recordedIo({ cwd });
  await main([...argv, '--json'], io);
  return JSON.parse(io.out());
};

const RUN = ['workflow', 'run', 'agent.yml', 'way'];
const SHIP = '  - { name: sure, type: approval, prompt: "Ship 1.2.0?", assignee: ann }\n';

describe('what a workflow asks on a terminal', () => {
  it('is answered there, with a note, and the run goes on', async () => {
    const cwd = project(SHIP);
    const { code, out, err } = await typed(cwd, RUN, ['maybe', 'y looks good']);
    expect({ code, done: out.includes('✓ completed') }).toEqual({ code: 0, done: true });
    expect(err).toContain(
      '? workflow way, step sure asks (for ann):\n    Ship 1.2.0?\n  Approve it? [y/n, with an optional note] (Enter: later): ',
    );
    expect(err).toContain('"maybe" is not an answer to the review');
    const [{ run }] = await json(cwd, ['workflow', 'list']).then((list) => list);
    expect((await json(cwd, ['show', run])).reviews).toMatchObject([
      { answer: 'approved', choice: 'approve', by: signer(), note: 'looks good' },
    ]);
  });

  it('is rejected there, and left for later with Enter', async () => {
    expect((await typed(project(SHIP), RUN, ['n'])).code).toBe(1);
    const cwd = project(SHIP);
    const { code, err } = await typed(cwd, RUN, ['']);
    expect(code).toBe(3);
    expect(err).toContain('waiting: The run is waiting for a person.\n');
    const [open] = await json(cwd, ['reviews']);
    expect(open).toMatchObject({ kind: 'approval', what: 'Ship 1.2.0?' });
    // Whoever goes on with it on a terminal is asked again.
    expect((await typed(cwd, ['workflow', 'resume', open.session], ['y'])).code).toBe(0);
  });

  it('is one of its options, by number or by name; and the parameters of a call are shown', async () => {
    const cwd = project(
      '  - { name: when, type: approval, prompt: "When?", options: [now, later, never] }\n  - { name: go, type: tool, target: deploy, parameters: { to: prod } }\n',
    );
    const { code, err } = await typed(cwd, RUN, ['2', 'y']);
    expect(code).toBe(0);
    expect(err).toContain('    When?\n  Choose 1 now, 2 later, 3 never (Enter: later): ');
    expect(err).toMatch(/step go asks to call tool "deploy":\n(.*\n)* {6}"to": "prod"\n/);
  });

  it('is asked by the workflow that leads a session, and by one that a session has triggered', async () => {
    const led = await typed(
      project('  - { name: sure, type: approval, prompt: "Sure?" }\n', 'workflow: way\n'),
      ['run', 'agent.yml', 'Go'],
      ['y'],
    );
    expect({ code: led.code, asked: led.err.includes('step sure asks') }).toEqual({ code: 0, asked: true });
    const metadata =
      'metadata: { fields: { status: { type: enum, values: [IDLE, SHIP], default: IDLE } } }\n';
    const trigger = 'trigger: { type: metadata_match, conditions: { status: SHIP } }\n';
    const turns = [`<metadata>{"status":"SHIP"}</metadata>${DONE}`];
    const triggered = await typed(project(SHIP, metadata, turns, trigger), ['run', 'agent.yml', 'Go'], ['y']);
    expect(triggered.err + triggered.out).toContain('way completed');
    expect(triggered.code).toBe(0);
  });
});

describe('createRuntime({ ask })', () => {
  async function begun(ask: AskRun) {
    const cwd = project(SHIP);
    const runtime = await createRuntime({ store: 'memory', cwd, ask });
    onTestFinished(() => runtime.close());
    const workflow = await loadWorkflow('agent.yml', { cwd, workflow: 'way' });
    return { runtime, run: runtime.workflows.start(workflow) };
  }

  it('answers what runs ask', async () => {
    const { run } = await begun(async () => ({ approved: true, by: 'ann' }));
    expect(await run.result).toMatchObject({ status: 'completed' });
  });

  it('lets the run wait where it gives no answer, and where its answer is none', async () => {
    for (const reply of [undefined, { choice: 'perhaps' }]) {
      const errors: unknown[] = [];
      const cwd = project(SHIP);
      const runtime = await createRuntime({
        store: 'memory',
        cwd,
        ask: async () => reply,
        onError: (thrown) => void errors.push(thrown),
      });
      onTestFinished(() => runtime.close());
      const run = runtime.workflows.start(await loadWorkflow('agent.yml', { cwd, workflow: 'way' }));
      expect(await run.result).toMatchObject({ status: 'waiting' });
      expect(await runtime.reviews()).toHaveLength(1);
      expect(errors).toHaveLength(reply === undefined ? 0 : 1);
    }
  });

  it('is told that its answer no longer matters, where somebody else answers', async () => {
    let asked: RunQuestion | undefined;
    const { runtime, run } = await begun((question) => {
      asked = question;
      return new Promise((resolve) => question.signal.addEventListener('abort', () => resolve(undefined)));
    });
    await expect.poll(() => runtime.reviews(), { interval: 5 }).toHaveLength(1);
    expect(asked).toMatchObject({ workflow: 'way', action: 'sure', assignee: 'ann', kind: 'approval' });
    await runtime.answer(asked?.review ?? '', { approved: true });
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(asked?.signal.aborted).toBe(true);
  });
});

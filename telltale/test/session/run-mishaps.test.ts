import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/session/create-runtime.ts';
import { loadWorkflow } from '../../src/session/runs/load-workflow.ts';
import type { Runtime, RuntimeOptions } from '../../src/session/runtime-types.ts';
import { eventually } from '../store/eventually.ts';
import { agentFolder, type RunOptions, runAgent, tool } from './run-agent.ts';

const IMPORTS = 'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\n';
const STATUS = 'metadata: { fields: { status: { values: [IDLE, CODING, DONE], default: IDLE } } }\n';

const TOOLS = {
  ...tool('slow', 'await new Promise((resolve) => setTimeout(resolve, 300)); return 1;'),
  ...tool(
    'note',
    `const { appendFileSync } = await import('node:fs');
     appendFileSync(new URL('../notes.txt', import.meta.url), input.text + '\\n');
     return input.text;`,
  ),
};

const notes = (folder: string): readonly string[] => {
  const file = join(folder, 'notes.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

const flow = (name: string, body: string) => ({
  [`flows/${name}.yml`]: `kind: Workflow\nname: ${name}\n${body}`,
});
const steps = (...lines: readonly string[]) => `steps:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
const says = (...states: readonly string[]) =>
  states.map((status) => `<metadata>{"status":"${status}"}</metadata>`).join('');
const SLOW = '<action mode="sync" id="s">{"name":"slow"}</action>';
const DONE = '<response final="true">done</response>';

/** An agent that says what states it is in, all in one go, then waits for a tool and ends. */
const goesThrough = (
  states: readonly string[],
  files: Readonly<Record<string, string>>,
  options: Partial<RunOptions> = {},
) =>
  runAgent({
    manifest: `${IMPORTS}${STATUS}`,
    files: { ...TOOLS, ...files },
    turns: [`${says(...states)}${SLOW}`, DONE],
    ...options,
  });

const onCoding = (pace: string, body: string) =>
  flow('auto', `trigger: { type: metadata_match, conditions: { status: CODING }${pace} }\n${body}`);

interface Stage {
  readonly folder: string;
  readonly runtime: Runtime;
  load(name: string): ReturnType<typeof loadWorkflow>;
  open(): Promise<Runtime>;
}

async function stage(files: Readonly<Record<string, string>>, options: RuntimeOptions = {}): Promise<Stage> {
  const folder = agentFolder(IMPORTS, { ...TOOLS, ...files });
  const open = () =>
    createRuntime({ store: 'sqlite:runs.db', durability: 'process', cwd: folder, ...options });
  return {
    folder,
    runtime: await open(),
    load: (workflow) => loadWorkflow('agent.yml', { cwd: folder, workflow }),
    open,
  };
}

const later = (ms: number) => new Promise((resolve) => setTimeout(() => resolve(`nothing for ${ms} ms`), ms));

describe('a run whose stream is not there yet', () => {
  it('is cancelled where its condition ends at once, and its session goes on', async () => {
    const { result, of } = await goesThrough(
      ['CODING', 'DONE'],
      onCoding(', cancel_on_exit: true', steps('{ name: a, type: tool, target: slow }')),
    );
    expect(result).toMatchObject({ status: 'completed' });
    expect(of('workflow.cancelled')).toHaveLength(1);
  });

  it('makes room for the next one where that is set off at once', async () => {
    const { result, of, folder } = await goesThrough(
      ['CODING', 'DONE', 'CODING'],
      onCoding(
        ', concurrency: { max: 1, when_busy: replace }',
        steps(
          '{ name: a, type: wait, for: 50ms }',
          '{ name: b, type: tool, target: note, parameters: { text: "${run.id}" } }',
        ),
      ),
      { after: (_session, runtime) => runtime.workflows.idle() },
    );
    expect(result).toMatchObject({ status: 'completed' });
    const [first, second] = of('trigger.fired').map(({ run }) => run);
    expect(of('workflow.cancelled').map(({ run }) => run)).toEqual([first]);
    expect(notes(folder)).toEqual([second]);
  });

  it('hears of an event that comes at once', async () => {
    const { result, of } = await goesThrough(
      ['CODING', 'DONE'],
      onCoding('', steps('{ name: a, type: wait, event: metadata.changed }')),
    );
    expect(result).toMatchObject({ status: 'completed' });
    expect(of('workflow.completed')).toMatchObject([
      { output: { data: { changes: { status: { to: 'DONE' } } } } },
    ]);
  });
});

describe('a run that cannot be worked on', () => {
  it('fails where its steps cannot be run yet, and its session goes on', async () => {
    const { result, of } = await goesThrough(
      ['CODING'],
      onCoding('', steps('{ name: a, type: task, prompt: Think. }')),
    );
    expect(result).toMatchObject({ status: 'completed' });
    expect(of('workflow.failed')).toMatchObject([{ error: { code: 'not_built' } }]);
  });

  it('fails the step that called it, and nothing beside', async () => {
    const { runtime, load } = await stage({
      ...flow('outer', steps('{ name: call, type: workflow, target: inner }')),
      ...flow('inner', steps('{ name: a, type: task, prompt: Think. }')),
    });
    const result = await runtime.workflows.start(await load('outer'), { id: 'run_o' }).result;
    expect(result).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('inner') } });
    expect(await runtime.workflows.state('run_o.call')).toMatchObject({ status: 'failed' });
    await runtime.close();
  });
});

describe('a run that calls another', () => {
  it('tells its session of its end once', async () => {
    const { of } = await goesThrough(['CODING'], {
      ...onCoding('', steps('{ name: call, type: workflow, target: inner }')),
      ...flow('inner', steps('{ name: a, type: set_metadata, values: { status: IDLE } }')),
    });
    expect(of('workflow.completed')).toHaveLength(1);
    expect(of('audit')).toEqual([]);
  });
});

describe('a run that asks a person', () => {
  it('withdraws its question where it is cancelled while it waits', async () => {
    const { runtime, load } = await stage(
      flow('ask', steps('{ name: ok, type: approval, prompt: "Ship it?" }')),
    );
    await runtime.workflows.start(await load('ask'), { id: 'run_a' }).result;
    expect(await runtime.reviews()).toHaveLength(1);
    await runtime.workflows.cancel('run_a');
    await runtime.workflows.idle();
    expect(await runtime.workflows.state('run_a')).toMatchObject({ status: 'cancelled' });
    expect(await runtime.reviews()).toEqual([]);
    await runtime.close();
  });
});

describe('two processes', () => {
  const ASKS = flow(
    'inner',
    steps('{ name: ok, type: approval, prompt: "Ship it?" }', '{ name: s, type: tool, target: slow }'),
  );

  it('share a run and the one that it called: what one brings to its end the other hears of', async () => {
    const { runtime, load, open } = await stage({
      ...ASKS,
      ...flow(
        'outer',
        `steps:
  - name: both
    type: parallel
    branches:
      - [{ name: call, type: workflow, target: inner }]
      - [{ name: busy, type: script, command: [sleep, "1"] }]
`,
      ),
    });
    const run = runtime.workflows.start(await load('outer'), { id: 'run_o', onWaiting: 'hold' });
    const other = await open();
    await eventually(async () => expect(await other.reviews()).toHaveLength(1));
    const [review] = await other.reviews();
    await other.answer(review?.review ?? '', { approved: true, by: 'Ann' });
    await other.workflows.idle();
    expect(await other.workflows.state('run_o.both/call')).toMatchObject({ status: 'completed' });
    expect(await run.result).toMatchObject({ status: 'completed' });
    await other.close();
    await runtime.close();
  });

  it('wait for each other: a run that another one works on is no failure of its caller', async () => {
    const { runtime, load, open } = await stage({
      ...ASKS,
      ...flow('outer', steps('{ name: call, type: workflow, target: inner }')),
    });
    await runtime.workflows.start(await load('outer'), { id: 'run_o' }).result;
    const other = await open();
    const [review] = await other.reviews();
    await other.answer(review?.review ?? '', { approved: true, by: 'Ann' });
    await eventually(async () =>
      expect((await runtime.workflows.state('run_o.call')).steps.get('s')?.status).toBe('running'),
    );
    const run = await runtime.workflows.resume('run_o', { onWaiting: 'hold' });
    expect(await run.result).toMatchObject({ status: 'completed' });
    await other.close();
    await runtime.close();
  });

  it('do not lose a signal that comes while one lets go of the run', async () => {
    const { runtime, load, open } = await stage(
      flow('early', steps('{ name: go, type: wait, event: custom }')),
    );
    const other = await open();
    const workflow = await load('early');
    const signalled = async (id: string) => {
      const run = runtime.workflows.start(workflow, { id, onWaiting: 'hold' });
      await eventually(async () => expect(await other.store.info(id)).toMatchObject({ kind: 'run' }));
      await other.workflows.signal(id, 'custom');
      expect(await Promise.race([run.result, later(4_000)])).toMatchObject({ run: id, status: 'completed' });
    };
    await Promise.all(Array.from({ length: 12 }, (_, at) => signalled(`run_${at}`)));
    await other.close();
    await runtime.close();
  });
});

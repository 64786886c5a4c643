import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import type { Runtime, RuntimeOptions } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store, StreamWriter } from '../../src/store/store.ts';
import { eventually, PATIENT } from '../store/eventually.ts';
import { agentFolder, type RunOptions, runAgent, tool } from './run-agent.ts';

const IMPORTS = 'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\n';
const STATUS = 'metadata: { fields: { status: { values: [IDLE, CODING, DONE], default: IDLE } } }\n';

const TOOLS = {
  ...tool('slow', 'await new Promise((resolve) => setTimeout(resolve, 300)); return 1;'),
  // Until a run's end is on the session's log; not for ever, where there is none.
  ...tool(
    'until_ended',
    `for (let left = 200; left > 0 && globalThis.isRunEnded !== true; left--)
       await new Promise((resolve) => setTimeout(resolve, 10));
     return 1;`,
  ),
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
const UNTIL_ENDED = '<action mode="sync" id="s">{"name":"until_ended"}</action>';
const DONE = '<response final="true">done</response>';

/** An agent that says what states it is in, all in one go, and ends when it has heard of the end of a run. */
const goesThrough = (
  states: readonly string[],
  files: Readonly<Record<string, string>>,
  options: Partial<RunOptions> = {},
) =>
  runAgent({
    manifest: `${IMPORTS}${STATUS}`,
    files: { ...TOOLS, ...files },
    turns: [`${says(...states)}${UNTIL_ENDED}`, DONE],
    during(session) {
      const seen = globalThis as { isRunEnded?: boolean };
      seen.isRunEnded = false;
      session.subscribe(({ type }) => {
        if (/^workflow\.(completed|failed|cancelled)$/.test(type)) seen.isRunEnded = true;
      });
    },
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
  it('fails the step that called it, and nothing beside', async () => {
    const { runtime, load } = await stage({
      ...flow('outer', steps('{ name: call, type: workflow, target: inner }')),
      ...flow('inner', steps('{ name: a, type: plan, prompt: Think. }')),
    });
    const result = await runtime.workflows.start(await load('outer'), { id: 'run_o' }).result;
    expect(result).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('inner') } });
    expect(await runtime.workflows.state('run_o.call')).toMatchObject({ status: 'failed' });
    await runtime.close();
  });
});

describe('a store that fails', PATIENT, () => {
  /** Refuses what `isRefused` says of the streams of runs. */
  const failing = (store: Store, isRefused: (line: string) => boolean): Store => {
    const around = (writer: StreamWriter): StreamWriter => ({
      ...writer,
      append(append, settled) {
        if (writer.stream.startsWith('run_') && append.events.some(isRefused))
          queueMicrotask(() => settled(new RuntimeError('store_full', 'No space.', { retryable: true })));
        else writer.append(append, settled);
      },
    });
    return {
      ...store,
      create: async (...given) => around(await store.create(...given)),
      begin(...given) {
        const { writer, made } = store.begin(...given);
        return { writer: around(writer), made };
      },
      acquire: async (...given) => around(await store.acquire(...given)),
    };
  };

  it('lets go of a run wherever it is, and neither its session nor its process ends with it', async () => {
    for (const type of ['workflow.started', 'step.started', 'workflow.completed']) {
      const store = await openStore('memory', {
        cwd: '.',
        clock: createSystemClock(),
        durability: 'process',
      });
      const { result } = await goesThrough(
        ['CODING'],
        onCoding('', steps('{ name: a, type: tool, target: slow }')),
        {
          turns: [`${says('CODING')}${SLOW}`, DONE],
          runtime: { store: failing(store, (line) => line.includes(`"${type}"`)) },
          after: (_session, runtime) => runtime.workflows.idle(),
        },
      );
      expect(result).toMatchObject({ status: 'completed' });
      expect(await store.list({ kind: 'run' })).toMatchObject([{ status: 'running' }]);
      await store.close();
    }
  });

  it('leaves a run to the session that set it off, also where another was forked from it before it began', async () => {
    const folder = agentFolder(`${IMPORTS}${STATUS}`, {
      ...TOOLS,
      'script.yml': JSON.stringify({
        turns: [`${says('CODING')}${SLOW}`, DONE],
      }),
      ...onCoding('', steps('{ name: a, type: script, script: "1" }')),
    });
    const clock = createSystemClock();
    const store = await openStore('memory', { cwd: folder, clock, durability: 'process' });
    // As if it were killed between `trigger.fired` and the run's stream.
    const dying: Store = {
      ...store,
      begin(stream, head) {
        if (head.kind === 'run') throw new Error('dead');
        return store.begin(stream, head);
      },
    };
    const model = 'scripted:script.yml';
    const first = await createRuntime({ store: dying, cwd: folder });
    const session = first.start(await loadAgent('agent.yml', { cwd: folder }), { input: 'x', model });
    expect(await session.result).toMatchObject({ status: 'interrupted' });
    await first.close();
    const runtime = await createRuntime({ store, cwd: folder });
    const fired = (await runtime.events(session.id)).find(({ type }) => type === 'trigger.fired');
    const forked = await runtime.fork(session.id, fired?.seq ?? 0);
    await (await runtime.resume(forked, { model })).result;
    expect(await store.list({ kind: 'run' })).toEqual([]);
    await (await runtime.resume(session.id, { model })).result;
    await runtime.workflows.idle();
    expect(await store.list({ kind: 'run' })).toMatchObject([{ parent: session.id, status: 'completed' }]);
    await runtime.close();
  });
});

describe('a run that is started wrongly', PATIENT, () => {
  const TIMED = flow(
    'timed',
    `input: { type: object, required: [n], properties: { n: { type: number } } }
trigger: { type: schedule, every: 10m }
${steps('{ name: a, type: script, script: "parameters.n", parameters: { n: "${input.n}" } }')}`,
  );

  it('fails on its log where time starts it without the input that it needs', async () => {
    const clock = createSimulatedClock();
    const { runtime, load } = await stage(TIMED, { clock, store: 'memory' });
    const due: string[] = [];
    const { agent } = await load('timed');
    runtime.workflows.listen(agent, { onDue: (_trigger, { kind }) => due.push(kind) });
    await clock.advance(11 * 60_000);
    expect(due).toEqual(['started']);
    await runtime.workflows.idle();
    await eventually(async () =>
      expect(await runtime.store.list({ kind: 'run' })).toMatchObject([{ status: 'failed' }]),
    );
    await runtime.close();
  });

  it('is refused under an id that is taken, also where it is cancelled at once', async () => {
    const { runtime, load } = await stage(flow('long', steps('{ name: a, type: wait, for: 1h }')));
    const workflow = await load('long');
    await runtime.workflows.start(workflow, { id: 'run_l' }).result;
    const control = new AbortController();
    const second = runtime.workflows.start(workflow, { id: 'run_l', signal: control.signal });
    control.abort();
    await expect(second.result).rejects.toMatchObject({ code: 'stream_exists' });
    expect(await runtime.workflows.state('run_l')).toMatchObject({ status: 'waiting' });
    await runtime.close();
  });

  it('is on the log together with the start of its first step, and its stream is never empty', async () => {
    const { runtime, load, folder } = await stage(
      flow('short', steps('{ name: a, type: tool, target: note, parameters: { text: "a" } }')),
    );
    const workflow = await load('short');
    await runtime.workflows.start(workflow).result;
    const { id, result } = runtime.workflows.start(workflow);
    expect(await result).toMatchObject({ status: 'completed' });
    await runtime.workflows.start(workflow, { id: 'run_given' }).result;
    await runtime.close();
    const db = new DatabaseSync(join(folder, 'runs.db'), { readOnly: true });
    const firstRow = db.prepare(
      'SELECT l.count, l.body FROM log l JOIN streams s ON s.id = l.stream WHERE s.stream = ? AND l.first = 1',
    );
    expect(firstRow.get(id)).toMatchObject({ count: 2, body: expect.stringMatching(/"step\.started".*"a"/) });
    expect(firstRow.get('run_given')).toMatchObject({ count: 1 });
    db.close();
  });

  it('does nothing and says why where its stream cannot be made', async () => {
    const store = await openStore('memory', { clock: createSystemClock() });
    await store.create('taken', { kind: 'run', name: 'other', status: 'running', title: '' });
    const { runtime, load, folder } = await stage(
      flow('short', steps('{ name: a, type: tool, target: note, parameters: { text: "a" } }')),
      { store: { ...store, begin: (_stream, head) => store.begin('taken', head) } },
    );
    const run = runtime.workflows.start(await load('short'));
    await expect(run.result).rejects.toMatchObject({ code: 'stream_exists' });
    await expect(run.cancel()).rejects.toMatchObject({ code: 'stream_exists' });
    await runtime.workflows.idle();
    expect(notes(folder)).toEqual([]);
    expect(await store.read('taken')).toEqual([]);
    await runtime.close();
  });

  it('is left as it is where its manifest is another one, and whoever signals it is none the worse', async () => {
    const { runtime, load, open, folder } = await stage(
      flow('ask', steps('{ name: a, type: approval, prompt: ok }')),
    );
    await runtime.workflows.start(await load('ask'), { id: 'run_a' }).result;
    await runtime.close();
    appendFileSync(join(folder, 'flows/ask.yml'), '  - { name: b, type: wait, for: 1h }\n');
    const other = await open();
    await other.workflows.signal('run_a', 'custom');
    await other.workflows.idle();
    const events = await other.workflows.events('run_a');
    expect(events.at(-1)).toMatchObject({
      type: 'audit',
      what: expect.stringContaining('--accept-changes'),
    });
    expect(await other.workflows.state('run_a')).toMatchObject({ status: 'waiting' });
    await other.close();
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

describe('a run that is held', PATIENT, () => {
  it('says that it waits to whoever takes it up again where nothing has come', async () => {
    const { runtime, load } = await stage({
      ...flow('outer', steps('{ name: call, type: workflow, target: inner }')),
      ...flow('inner', steps('{ name: a, type: wait, event: custom }')),
    });
    const started = await runtime.workflows.start(await load('outer'), { id: 'run_h' }).result;
    const resumed = await (await runtime.workflows.resume('run_h')).result;
    expect(resumed).toEqual(started);
    await runtime.workflows.signal('run_h', 'custom', { name: 'another' });
    await runtime.workflows.idle();
    expect(await runtime.workflows.state('run_h')).toMatchObject({ status: 'waiting' });
    await runtime.workflows.signal('run_h.call', 'custom');
    await eventually(async () =>
      expect(await runtime.workflows.state('run_h')).toMatchObject({ status: 'completed' }),
    );
    await runtime.close();
  });

  it('is let go of when its runtime is closed while it only waits', async () => {
    const { runtime, load } = await stage(flow('long', steps('{ name: a, type: wait, event: custom }')));
    const run = runtime.workflows.start(await load('long'), { id: 'run_h', onWaiting: 'hold' });
    await eventually(async () => expect((await runtime.store.info('run_h'))?.status).toBe('waiting'));
    await runtime.close();
    expect(await run.result).toMatchObject({ status: 'interrupted' });
  });

  it('keeps its process, and goes on with a signal that another one leaves in its inbox', async () => {
    const { folder, runtime } = await stage(
      flow(
        'long',
        steps('{ name: a, type: wait, event: custom }', '{ name: b, type: script, script: "42" }'),
      ),
    );
    const module = (path: string) => JSON.stringify(join(import.meta.dirname, '../../src', path));
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { createRuntime } from ${module('agent/create-runtime.ts')};
         import { loadWorkflow } from ${module('agent/runs/load-workflow.ts')};
         const runtime = await createRuntime({ store: 'sqlite:runs.db', durability: 'process' });
         const workflow = await loadWorkflow('agent.yml', { workflow: 'long' });
         const run = runtime.workflows.start(workflow, { id: 'run_h', onWaiting: 'hold' });
         console.log(JSON.stringify(await run.result));
         await runtime.close();`,
      ],
      { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    const { store } = runtime;
    await eventually(async () => expect((await store.info('run_h'))?.status).toBe('waiting'));
    await eventually(async () => expect((await store.info('run_h'))?.owner).toBeUndefined());
    await store.send('run_h', { kind: 'signal', from: 'user', body: { event: 'custom', data: {} } });
    expect(await ended).toBe(0);
    expect(JSON.parse(said)).toMatchObject({ status: 'completed', output: 42 });
    await runtime.close();
  });
});

describe('two processes', PATIENT, () => {
  /** Asks a person, and then goes on until there is a file. */
  const ASKS = flow(
    'inner',
    steps(
      '{ name: ok, type: approval, prompt: "Ship it?" }',
      '{ name: s, type: script, command: [sh, -c, "until [ -f go ]; do sleep 0.05; done"] }',
    ),
  );
  const letGo = (folder: string) => writeFileSync(join(folder, 'go'), '');

  it('share a run and the one that it called: what one brings to its end the other hears of', async () => {
    const { runtime, load, open, folder } = await stage({
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
    letGo(folder);
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
    const { runtime, load, open, folder } = await stage({
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
    await runtime.workflows.signal('run_o', 'custom'); // it has to look
    await eventually(async () => expect((await other.store.info('run_o'))?.status).toBe('running'));
    letGo(folder);
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
    const signalled = async (id: string, status: RegExp) => {
      const run = runtime.workflows.start(workflow, { id, onWaiting: 'hold' });
      await eventually(async () => expect((await other.store.info(id))?.status).toMatch(status));
      await other.workflows.signal(id, 'custom');
      expect(await Promise.race([run.result, later(4_000)])).toMatchObject({ run: id, status: 'completed' });
    };
    await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        signalled(`run_${at}`, at % 2 === 0 ? /running|waiting/ : /waiting/),
      ),
    );
    await other.close();
    await runtime.close();
  });
});

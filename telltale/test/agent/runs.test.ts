import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { openSessions } from '../../src/agent/open-sessions.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import { postToRun } from '../../src/agent/runs/run-inbox.ts';
import { RUN_SIGNAL } from '../../src/agent/runs/run-messages.ts';
import type { Runtime, RuntimeOptions } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../store/eventually.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const IMPORTS = 'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\n';

/** Writes down each call with its key. */
const note = tool(
  'note',
  `const { appendFileSync } = await import('node:fs');
   appendFileSync(new URL('../notes.txt', import.meta.url), context.idempotencyKey + ' ' + input.text + '\\n');
   if (input.fail) throw new Error('no ink');
   return { noted: input.text };`,
);

const notes = (folder: string): readonly string[] => {
  const file = join(folder, 'notes.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

const flow = (name: string, body: string) => ({
  [`flows/${name}.yml`]: `kind: Workflow\nname: ${name}\n${body}`,
});

const steps = (...lines: readonly string[]) => `steps:\n${lines.map((line) => `  - ${line}\n`).join('')}`;

interface Stage {
  readonly folder: string;
  readonly runtime: Runtime;
  load(name: string): ReturnType<typeof loadWorkflow>;
  /** Another process's runtime on the same store, once this one is closed. */
  again(): Promise<Runtime>;
}

async function stage(
  files: Readonly<Record<string, string>>,
  manifest = '',
  options: RuntimeOptions = {},
): Promise<Stage> {
  const folder = agentFolder(`${IMPORTS}${manifest}`, { ...note, ...files });
  const open = () =>
    createRuntime({ store: 'sqlite:runs.db', durability: 'process', cwd: folder, ...options });
  return {
    folder,
    runtime: await open(),
    load: (workflow) => loadWorkflow('agent.yml', { cwd: folder, workflow }),
    again: open,
  };
}

const types = (events: readonly RunEvent[]) => events.map(({ type }) => type);

describe('a workflow on its own', () => {
  it('runs its steps in order, and its result is the last one’s', async () => {
    const { runtime, load, folder } = await stage(
      flow(
        'greet',
        steps(
          '{ name: words, type: script, script: "parameters.who + \'!\'", parameters: { who: "${input.who}" } }',
          '{ name: write, type: tool, target: note, parameters: { text: "${steps.words.output}" } }',
        ),
      ),
    );
    const run = runtime.workflows.start(await load('greet'), { input: { who: 'Ann' }, id: 'run_greet' });
    expect(await run.result).toEqual({ run: 'run_greet', status: 'completed', output: { noted: 'Ann!' } });
    expect(notes(folder)).toEqual(['run_greet:write Ann!']);
    const seen: RunEvent[] = [];
    for await (const event of run.events) seen.push(event);
    expect(types(seen)).toEqual([
      'workflow.started',
      'step.started',
      'step.completed',
      'step.started',
      'step.completed',
      'workflow.completed',
    ]);
    expect(await runtime.workflows.events('run_greet')).toEqual(seen);
    expect((await runtime.store.info('run_greet'))?.status).toBe('completed');
    await runtime.close();
  });

  it('refuses an input that its schema does not allow, with the path, and starts nothing', async () => {
    const { runtime, load } = await stage(
      flow(
        'strict',
        `input: { type: object, properties: { n: { type: number } }, required: [n] }\n${steps('{ name: one, type: script, script: "1" }')}`,
      ),
    );
    const workflow = await load('strict');
    expect(() => runtime.workflows.start(workflow, { input: { n: 'three' }, id: 'run_s' })).toThrow(
      /"strict" does not fit/,
    );
    expect(await runtime.store.info('run_s')).toBeUndefined();
    await runtime.close();
  });

  it('fails with the step that failed, and says so in its status', async () => {
    const { runtime, load } = await stage(
      flow(
        'bad',
        steps(
          '{ name: write, type: tool, target: note, parameters: { text: a, fail: true } }',
          '{ name: after, type: script, script: "1" }',
        ),
      ),
    );
    const result = await runtime.workflows.start(await load('bad')).result;
    expect(result).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('no ink') } });
    expect((await runtime.workflows.state(result.run)).steps.get('after')?.status).not.toBe('completed');
    await runtime.close();
  });

  it.each([
    ['fail: true }', 'step.failed', 'b'],
    ['fail: true }, on_error: continue', 'step.completed', 'c'],
    ['fail: false }', 'step.completed', 'c'],
  ])('comes to its end by the step that failed it, or by its last (%s)', async (how, type, step) => {
    const { runtime, load } = await stage(
      flow(
        'three',
        steps(
          '{ name: a, type: script, script: "1" }',
          `{ name: b, type: tool, target: note, parameters: { text: b, ${how} }`,
          '{ name: c, type: script, script: "2" }',
        ),
      ),
    );
    const { run } = await runtime.workflows.start(await load('three')).result;
    const events = await runtime.workflows.events(run);
    const { cause, seq } = events.at(-1) as RunEvent;
    const by = events[cause.seq - 1];
    expect(by).toMatchObject({ type, step });
    expect(cause).toEqual({ stream: run, seq: by?.seq, depth: (by?.cause.depth ?? 0) + 1 });
    const { ended } = await runtime.workflows.state(run);
    expect(ended).toEqual({ stream: run, seq, depth: cause.depth + 1 });
    await runtime.close();
  });

  it('names the workflows there are where one is not', async () => {
    const { load, runtime } = await stage({
      ...flow('one', steps('{ name: a, type: script, script: "1" }')),
      ...flow('two', steps('{ name: a, type: script, script: "1" }')),
    });
    await expect(load('onee')).rejects.toMatchObject({
      code: 'no_workflow',
      hint: expect.stringContaining('one'),
    });
    await runtime.close();
  });

  it('holds no process while it waits, and goes on at its time in another one', async () => {
    const { runtime, load, again, folder } = await stage(
      flow(
        'slow',
        steps(
          '{ name: before, type: tool, target: note, parameters: { text: before } }',
          '{ name: pause, type: wait, for: 1500ms }',
          '{ name: after, type: tool, target: note, parameters: { text: after } }',
        ),
      ),
    );
    const waiting = await runtime.workflows.start(await load('slow'), { id: 'run_slow' }).result;
    expect(waiting).toMatchObject({ status: 'waiting', waiting: { due: expect.any(Number) } });
    expect((await runtime.store.info('run_slow'))?.owner).toBeUndefined();
    await runtime.close();
    const other = await again();
    const run = await other.workflows.resume('run_slow', { onWaiting: 'hold' });
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(notes(folder)).toEqual(['run_slow:before before', 'run_slow:after after']);
    const events = await other.workflows.events('run_slow');
    expect(events.filter(({ type }) => type === 'timer.fired')).toHaveLength(1);
    const due = events.flatMap((event) => (event.type === 'timer.set' ? [event.due] : []));
    expect(due).toEqual([waiting.waiting?.due]);
    await other.close();
  });

  it('parks with a workflow that it called and that only waits', async () => {
    const { runtime, load } = await stage({
      ...flow('outer', steps('{ name: call, type: workflow, target: inner }')),
      ...flow('inner', steps('{ name: signal, type: wait, event: custom, match: { name: go } }')),
    });
    const result = await runtime.workflows.start(await load('outer'), { id: 'run_o' }).result;
    expect(result).toMatchObject({ status: 'waiting', waiting: { for: expect.stringContaining('inner') } });
    const resumed = await runtime.workflows.resume('run_o', { onWaiting: 'hold' });
    await runtime.workflows.signal('run_o.call', 'custom', { name: 'go' });
    expect(await resumed.result).toMatchObject({ status: 'completed' });
    await runtime.close();
  });

  it('keeps a signal that comes before its wait', async () => {
    const { runtime, load } = await stage(
      flow(
        'early',
        steps(
          '{ name: pause, type: wait, for: 300ms }',
          '{ name: go, type: wait, event: custom, match: { name: go } }',
        ),
      ),
    );
    const run = runtime.workflows.start(await load('early'), { id: 'run_e', onWaiting: 'hold' });
    await eventually(async () => expect((await runtime.store.info('run_e'))?.status).toBe('waiting'));
    await runtime.workflows.signal('run_e', 'custom', { name: 'go' });
    expect(await run.result).toMatchObject({ status: 'completed' });
    await runtime.close();
  });

  it('goes on where it is waited for, whoever writes to it meanwhile', async () => {
    const { runtime, load, again } = await stage(
      flow(
        'asks',
        steps(
          '{ name: go, type: wait, event: custom, match: { name: go } }',
          '{ name: ok, type: approval, prompt: "Ship it?" }',
        ),
      ),
    );
    const run = runtime.workflows.start(await load('asks'), { id: 'run_w', onWaiting: 'hold' });
    const isParked = async () => {
      const info = await runtime.store.info('run_w');
      expect([info?.status, info?.owner]).toEqual(['waiting', undefined]);
    };
    await eventually(isParked);
    const other = await again();
    const clock = createSystemClock();
    const go = { kind: RUN_SIGNAL, from: 'other', body: { event: 'custom', data: { name: 'go' } } };
    expect(await postToRun({ store: other.store, clock }, 'run_w', go)).toBe('kept');
    await eventually(async () => expect(await other.reviews()).toHaveLength(1));
    await eventually(isParked);
    const sessions = await openSessions({ store: other.store.location, cwd: other.store.location });
    await sessions.answer((await other.reviews())[0]?.review ?? '', { approved: true, by: 'Ann' });
    expect(await run.result).toMatchObject({ status: 'completed', output: { choice: 'approve', by: 'Ann' } });
    await sessions.close();
    await other.close();
    await runtime.close();
  });

  it('is cancelled from anywhere, and what it called with it', async () => {
    const { runtime, load } = await stage({
      ...flow('outer', steps('{ name: call, type: workflow, target: inner }')),
      ...flow('inner', steps('{ name: hour, type: wait, for: 1h }')),
    });
    const run = runtime.workflows.start(await load('outer'), { id: 'run_c', onWaiting: 'hold' });
    await eventually(async () => expect((await runtime.store.info('run_c'))?.status).toBe('waiting'));
    await runtime.workflows.cancel('run_c', 'changed my mind');
    expect(await run.result).toMatchObject({ status: 'cancelled', error: { message: 'changed my mind' } });
    await eventually(async () => expect((await runtime.store.info('run_c.call'))?.status).toBe('cancelled'));
    await runtime.close();
  });

  it('goes on after its process let go of it, without doing anything twice', async () => {
    const { runtime, load, again, folder } = await stage(
      {
        ...flow(
          'long',
          steps(
            '{ name: a, type: tool, target: note, parameters: { text: a } }',
            '{ name: hang, type: script, command: [sleep, "0.4"], on_error: continue }',
            '{ name: b, type: tool, target: note, parameters: { text: b } }',
          ),
        ),
      },
      'permissions: { shell: allow }\n',
    );
    const run = runtime.workflows.start(await load('long'), { id: 'run_l' });
    await eventually(async () =>
      expect((await runtime.workflows.state('run_l')).steps.get('hang')?.status).toBe('running'),
    );
    await run.interrupt();
    expect(await run.result).toMatchObject({ status: 'interrupted' });
    await runtime.close();
    const other = await again();
    const resumed = await other.workflows.resume('run_l');
    expect(await resumed.result).toMatchObject({ status: 'completed' });
    expect(notes(folder)).toEqual(['run_l:a a', 'run_l:b b']);
    await expect(other.workflows.resume('run_l')).rejects.toMatchObject({ code: 'run_ended' });
    await other.close();
  });

  it('asks a person, and goes on with the answer', async () => {
    const { runtime, load } = await stage(
      flow('ask', steps('{ name: ok, type: approval, prompt: "Ship it?", options: [ship, wait, stop] }')),
    );
    const run = runtime.workflows.start(await load('ask'), { id: 'run_a', onWaiting: 'hold' });
    await eventually(async () => expect(await runtime.reviews()).toHaveLength(1));
    const [review] = await runtime.reviews();
    expect(review).toMatchObject({ session: 'run_a', what: 'Ship it?', options: ['ship', 'wait', 'stop'] });
    const id = review?.review ?? '';
    await expect(runtime.answer(id, { approved: true, choice: 'shipp' })).rejects.toMatchObject({
      code: 'bad_option',
      hint: expect.stringContaining('ship'),
    });
    await runtime.answer(id, { approved: true, choice: 'wait', by: 'Ann' });
    expect(await run.result).toMatchObject({ status: 'completed', output: { choice: 'wait', by: 'Ann' } });
    expect(await runtime.reviews()).toEqual([]);
    await expect(runtime.answer(id, { approved: true })).rejects.toMatchObject({ code: 'review_answered' });
    await runtime.close();
  });

  it('lets go of a call that a person has to approve, and makes it once when they have', async () => {
    const asked = { ...note, 'tools/note.yml': `${note['tools/note.yml']}approval: always\n` };
    const { runtime, load, folder, again } = await stage({
      ...asked,
      ...flow('ask', steps('{ name: write, type: tool, target: note, parameters: { text: hello } }')),
    });
    const workflow = await load('ask');
    const run = runtime.workflows.start(workflow, { id: 'run_t' });
    expect(await run.result).toMatchObject({ status: 'waiting' });
    expect(notes(folder)).toEqual([]);
    const [review] = await runtime.reviews();
    expect(review).toMatchObject({ session: 'run_t', target: 'tool "note"' });
    await runtime.close();
    const other = await again();
    await other.answer(review?.review ?? '', { approved: true, by: 'Ann' });
    const resumed = await other.workflows.resume('run_t', { workflow });
    expect(await resumed.result).toMatchObject({ status: 'completed', output: { noted: 'hello' } });
    expect(notes(folder)).toEqual(['run_t:write hello']);
    expect(await other.reviews()).toEqual([]);
    const started = (await other.workflows.events('run_t')).filter(({ type }) => type === 'step.started');
    expect(started).toMatchObject([{ repeatable: true }, { repeatable: false }]);
    await other.close();
  });
});

describe('a run that waits, whose manifest is another by now', () => {
  const HOLD = '{ name: hold, type: wait, event: custom }';
  const WRITE = '{ name: write, type: tool, target: note, parameters: { text: x } }';

  async function stranded(...lines: readonly string[]) {
    const { runtime, load, folder, again } = await stage(flow('w', steps(...lines)));
    const run = runtime.workflows.start(await load('w'));
    expect(await run.result).toMatchObject({ status: 'waiting' });
    await runtime.close();
    const change = (text: string) => writeFileSync(join(folder, 'flows/w.yml'), text);
    const before = readFileSync(join(folder, 'flows/w.yml'), 'utf8');
    change(`${before}description: another\n`);
    return { id: run.id, next: await again(), putBack: () => change(before) };
  }

  it('is cancelled at once where no step has completed, and says by whom', async () => {
    const { id, next } = await stranded(HOLD);
    await next.workflows.cancel(id, 'no longer', 'ann');
    expect((await next.workflows.events(id)).slice(-2)).toMatchObject([
      { type: 'step.cancelled', step: 'hold' },
      { type: 'workflow.cancelled', reason: 'no longer', by: 'ann' },
    ]);
    await next.close();
  });

  it('is not cancelled where a step may have to be undone, and says what to do; with it put back it is', async () => {
    const { id, next, putBack } = await stranded(WRITE, HOLD);
    const { seq } = await next.workflows.state(id);
    await expect(next.workflows.cancel(id)).rejects.toMatchObject({
      code: 'manifest_changed',
      message: expect.stringContaining('may have to be undone'),
      hint: expect.stringContaining(`telltale cancel ${id} --force`),
    });
    expect(await next.workflows.state(id)).toMatchObject({ seq, status: 'waiting' });
    expect((await next.store.info(id))?.messages).toBeUndefined();
    putBack();
    await next.workflows.cancel(id);
    await eventually(async () => expect((await next.workflows.state(id)).status).toBe('cancelled'));
    await next.close();
  });
});

describe('a workflow as an action', () => {
  const double = flow(
    'double',
    `trigger: { type: manual }\n${steps('{ name: twice, type: script, script: "parameters.n * 2", parameters: { n: "${input.n}" } }')}`,
  );
  const call = (name: string, parameters: object) =>
    `<action type="workflow" id="w" mode="sync">${JSON.stringify({ name, parameters })}</action>`;

  it('gives its output to the model', async () => {
    const { of, prompts } = await runAgent({
      manifest: IMPORTS,
      files: { ...note, ...double },
      turns: [call('double', { n: 21 }), '<response final="true">done</response>'],
    });
    expect(of('action.completed')).toMatchObject([{ id: 'w', output: 42 }]);
    expect(prompts[1]).toContain('42');
  });

  it('sees the session as of its start, and acts on it once', async () => {
    const { of, result } = await runAgent({
      manifest: `${IMPORTS}metadata: { fields: { status: { values: [IDLE, BUSY, DONE], default: IDLE } } }\n`,
      files: {
        ...note,
        ...flow(
          'finish',
          steps(
            '{ name: look, type: script, script: "parameters.was", parameters: { was: "${agent.metadata.status}" } }',
            '{ name: set, type: set_metadata, values: { status: DONE } }',
          ),
        ),
      },
      turns: [
        `<metadata>{"status":"BUSY"}</metadata>${call('finish', {})}`,
        '<response final="true">done</response>',
      ],
    });
    expect(result.status).toBe('completed');
    expect(of('metadata.changed').map(({ changes, by }) => [changes.status?.to, by])).toEqual([
      ['BUSY', 'model'],
      ['DONE', 'workflow:finish'],
    ]);
    expect(of('workflow.asked')).toMatchObject([{ what: 'set_metadata', workflow: 'finish' }]);
  });

  it('fails with what failed in it', async () => {
    const { of } = await runAgent({
      manifest: IMPORTS,
      files: {
        ...note,
        ...flow('bad', steps('{ name: w, type: tool, target: note, parameters: { text: a, fail: true } }')),
      },
      turns: [call('bad', {}), '<response final="true">done</response>'],
    });
    expect(of('action.failed')).toMatchObject([
      { error: { code: 'workflow_failed', message: expect.stringContaining('no ink') } },
    ]);
  });

  it('is not offered where only triggers start it', async () => {
    const { of } = await runAgent({
      manifest: `${IMPORTS}metadata: { fields: { status: { values: [IDLE, BUSY], default: IDLE } } }\n`,
      files: {
        ...note,
        ...flow(
          'auto',
          `trigger: { type: metadata_match, conditions: { status: BUSY } }\n${steps('{ name: a, type: script, script: "1" }')}`,
        ),
      },
      turns: [call('auto', {}), '<response final="true">done</response>'],
    });
    expect(of('action.failed')).toMatchObject([{ error: { code: 'target_unknown' } }]);
  });
});

describe('a workflow that a trigger starts', () => {
  const STATUS = 'metadata: { fields: { status: { values: [IDLE, CODING, DONE], default: IDLE } } }\n';
  const onCoding = (body: string, extra = '') =>
    flow('auto', `trigger: { type: metadata_match, conditions: { status: CODING } }\n${extra}${body}`);

  it('runs beside the agent, knows what set it off, and its end is on the session’s log', async () => {
    const { of, folder } = await runAgent({
      manifest: `${IMPORTS}${STATUS}`,
      files: {
        ...note,
        ...onCoding(
          steps(
            '{ name: write, type: tool, target: note, parameters: { text: "${trigger.fields.status.from} ${agent.metadata.status}" } }',
          ),
        ),
      },
      turns: ['<metadata>{"status":"CODING"}</metadata>', '<response final="true">done</response>'],
      async after(_session, runtime) {
        await runtime.workflows.idle();
      },
    });
    const [fired] = of('trigger.fired');
    expect(fired).toMatchObject({ trigger: 'auto#0', workflow: 'auto', chain: ['auto'] });
    expect(notes(folder)).toEqual([`${fired?.run}:write IDLE CODING`]);
  });

  it.each([
    ['fire: on_update', 8, 'depth'],
    ['fire: on_update, concurrency: { max: 1 }', 1, 'busy'],
    ['fire: on_change', 1, undefined],
  ])('that sets what is so already is set off by that as its trigger says (%s)', async (how, runs, why) => {
    const end = why === undefined ? 'workflow.completed' : 'trigger.suppressed';
    const { of } = await runAgent({
      manifest: `${IMPORTS}${STATUS}`,
      files: flow(
        'auto',
        `trigger: { type: metadata_match, conditions: { status: CODING }, ${how} }\n${steps(
          '{ name: again, type: set_metadata, values: { status: CODING } }',
        )}`,
      ),
      turns: ['<metadata>{"status":"CODING"}</metadata><response>done</response>'],
      start: { chat: true },
      during: (session) => void session.subscribe(({ type }) => type === end && session.finish()),
    });
    expect(of('trigger.fired')).toHaveLength(runs);
    expect(of('trigger.suppressed').map(({ reason }) => reason)).toEqual(why === undefined ? [] : [why]);
  });

  it('fails alone where nobody can work on its task: the agent goes on', async () => {
    const { of, result } = await runAgent({
      manifest: `${IMPORTS}${STATUS}`,
      files: onCoding(steps('{ name: think, type: task, prompt: "Think." }')),
      turns: [
        '<metadata>{"status":"CODING"}</metadata><response final="false">wait</response>',
        '<response final="true">done</response>',
      ],
      async after(_session, runtime) {
        await runtime.workflows.idle();
        const [run] = await runtime.store.list({ kind: 'run' });
        const { status, error } = await runtime.workflows.state(run?.stream ?? '');
        expect([status, error?.code]).toEqual(['failed', 'file_missing']);
      },
    });
    expect(result.status).toBe('completed');
    expect(of('trigger.fired')).toHaveLength(1);
  });

  it('is there when the session that set it off in its last words has ended, however slow the store', async () => {
    const store = createMemoryStore({ clock: createSystemClock() });
    const slow: Store = {
      ...store,
      async create(stream, about) {
        if (about.kind === 'run') await new Promise((resolve) => setTimeout(resolve, 50));
        return store.create(stream, about);
      },
    };
    const { of, folder, result } = await runAgent({
      manifest: `${IMPORTS}${STATUS}`,
      files: {
        ...note,
        ...onCoding(steps('{ name: write, type: tool, target: note, parameters: { text: a } }')),
      },
      runtime: { store: slow },
      turns: ['<metadata>{"status":"CODING"}</metadata><response final="true">done</response>'],
      async after(_session, runtime) {
        expect(runtime.workflows.active()).toHaveLength(1);
        await runtime.workflows.idle();
      },
    });
    expect(result.status).toBe('completed');
    expect(notes(folder)).toEqual([`${of('trigger.fired')[0]?.run}:write a`]);
  });

  it('can be cancelled in the same breath that sets it off', async () => {
    const { of, result } = await runAgent({
      manifest: `${IMPORTS}${STATUS}`,
      files: {
        ...note,
        ...flow(
          'auto',
          `trigger: { type: metadata_match, conditions: { status: CODING }, cancel_on_exit: true }\n${steps('{ name: hour, type: wait, for: 1h }')}`,
        ),
      },
      runtime: { store: 'sqlite:runs.db' },
      turns: [
        '<metadata>{"status":"CODING"}</metadata><metadata>{"status":"DONE"}</metadata><response final="true">done</response>',
      ],
      async after(session, runtime) {
        await runtime.workflows.idle();
        const run = (await runtime.state(session)).runs[0]?.run ?? '';
        expect((await runtime.store.info(run))?.status).toBe('cancelled');
      },
    });
    expect(of('trigger.fired')).toHaveLength(1);
    expect(result).toMatchObject({ status: 'completed', result: 'done' });
  });

  it('has the agent hear of its failure in the next turn, where the workflow says so', async () => {
    const { prompts, of, result } = await runAgent({
      manifest: `${IMPORTS}${STATUS}`,
      files: {
        ...note,
        ...tool('slow', 'await new Promise((resolve) => setTimeout(resolve, 600)); return 1;'),
        ...onCoding(
          steps('{ name: write, type: tool, target: note, parameters: { text: a, fail: true } }'),
          'news: failures\n',
        ),
      },
      turns: [
        '<metadata>{"status":"CODING"}</metadata><action mode="sync" id="s">{"name":"slow"}</action>',
        '<thought>next</thought><response final="true">done</response>',
      ],
    });
    expect(result.status).toBe('completed');
    expect(of('workflow.failed')).toMatchObject([{ workflow: 'auto', told: true }]);
    expect(prompts[1]).toContain('auto failed');
    expect(prompts[1]).toContain('no ink');
  });
});

describe('a workflow that time or a hook starts', () => {
  const timed = flow(
    'timed',
    `triggers:
  - { type: schedule, every: 10m }
  - { type: webhook, hook: pushed, secret: s3cret, concurrency: { max: 1, when_busy: skip } }
${steps('{ name: write, type: tool, target: note, parameters: { text: "${trigger.type} ${trigger.body.ref ?? none}" } }', '{ name: hold, type: wait, event: custom }')}`,
  );

  it('starts at each due time, until nobody listens any more', async () => {
    const clock = createSimulatedClock();
    const { runtime, load, folder } = await stage(timed, '', { clock, store: 'memory' });
    const due: string[] = [];
    const { agent } = await load('timed');
    const listening = runtime.workflows.listen(agent, {
      onDue: (trigger, { kind }) => due.push(`${trigger} ${kind}`),
    });
    await clock.advance(25 * 60_000);
    expect(due).toEqual(['timed#0 started', 'timed#0 started']);
    listening.close();
    await clock.advance(60 * 60_000);
    expect(due).toHaveLength(2);
    await eventually(() =>
      expect(notes(folder).map((line) => line.split(' ')[1])).toEqual(['schedule', 'schedule']),
    );
    await runtime.close();
  });

  it('is refused where two wait for the same hook: one of them would never be started', async () => {
    const { runtime, load } = await stage({
      ...timed,
      ...flow(
        'second',
        `trigger: { type: webhook, hook: pushed, secret: other }\n${steps('{ name: hold, type: wait, event: custom }')}`,
      ),
    });
    const { agent } = await load('timed');
    expect(() => runtime.workflows.listen(agent)).toThrow(/Two triggers listen to the hook "pushed"/);
    await runtime.close();
  });

  it('shows its steps the manifest without the environment of hooks', async () => {
    const looks = flow(
      'looks',
      `trigger: { type: manual }\n${steps('{ name: look, type: script, script: "Object.keys(agent.manifest)" }')}`,
    );
    const { runtime, load } = await stage(
      looks,
      'hooks: { on_error: [{ command: [tell], env: { KEY: hunter2 }, fallback: null }] }\n',
    );
    const run = runtime.workflows.start(await load('looks'));
    const { output } = (await run.result) as { output?: unknown };
    expect(output).toContain('name');
    expect(output).not.toContain('hooks');
    await runtime.close();
  });
});

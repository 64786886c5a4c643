import { describe, expect, it, onTestFinished } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { mortal } from '../../src/testing/crash.ts';
import { eventually } from '../store/eventually.ts';
import {
  createStage,
  FILES,
  folderOf,
  HOLDS,
  IMPORT,
  notes,
  runtimeOf,
  starterOf,
  waitsFor,
} from './by-hand-stage.ts';
import { agentFolder, runAgent } from './run-agent.ts';
import { speak } from './speak.ts';

describe('a workflow that is started by hand', () => {
  it('is refused while as many are under way as its trigger allows, and leaves nothing behind', async () => {
    const { store, start, go, reaches, folder } = await createStage('{ max: 2 }');
    const [a, b] = [start('a'), start('b')];
    await reaches(a, HOLDS);
    await reaches(b, HOLDS);
    const c = start('c');
    await expect(c.result).rejects.toMatchObject({
      code: 'workflow_busy',
      retryable: true,
      message: expect.stringContaining(a.id),
      hint: expect.stringContaining(`telltale cancel ${a.id}`),
    });
    expect(await store.info(c.id)).toBeUndefined();
    await go(a);
    expect(await a.result).toMatchObject({ status: 'completed' });
    await reaches(start('d'), HOLDS);
    expect(notes(folder).toSorted()).toEqual(['a', 'b', 'd']);
  });

  it('waits for its turn on its log, in the order in which they came', async () => {
    const { start, go, reaches, folder } = await createStage('{ max: 1, when_busy: queue }');
    const a = start('a');
    await reaches(a, HOLDS);
    const b = start('b', { onWaiting: 'release' });
    await reaches(b, 'its turn');
    const c = start('c');
    await reaches(c, 'its turn');
    expect(notes(folder)).toEqual(['a']);
    await go(a);
    await reaches(b, HOLDS);
    await reaches(c, 'its turn');
    // It was waited for although its starter leaves what only waits.
    expect(await b.result).toMatchObject({ status: 'waiting', waiting: { for: HOLDS } });
    await go(b);
    await reaches(c, HOLDS);
    expect(notes(folder)).toEqual(['a', 'b', 'c']);
  });

  it('takes the place of the oldest, which is cancelled, and of those that waited', async () => {
    const { start, reaches, folder } = await createStage('{ max: 1, when_busy: replace }');
    const a = start('a');
    await reaches(a, HOLDS);
    const b = start('b');
    expect(await a.result).toMatchObject({
      status: 'cancelled',
      error: { message: expect.stringContaining('started again by hand') },
    });
    await reaches(b, HOLDS);
    expect(notes(folder)).toEqual(['a', 'b']);
  });

  it('counts over all processes of a store, and one that waits goes on where it was started', async () => {
    const folder = folderOf('{ max: 1, when_busy: queue }');
    const options = { cwd: folder, clock: createSystemClock(), durability: 'process' } as const;
    const stores = [
      await openStore('sqlite:shared.db', options),
      await openStore('sqlite:shared.db', options),
    ] as const;
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
    const runtimes = [
      await runtimeOf({ store: stores[0], cwd: folder }),
      await runtimeOf({ store: stores[1], cwd: folder }),
    ] as const;
    const first = (await starterOf(runtimes[0], folder))('first');
    await waitsFor(stores[0], runtimes[0], first.id, HOLDS);
    const second = (await starterOf(runtimes[1], folder))('second');
    await waitsFor(stores[1], runtimes[1], second.id, 'its turn');
    await runtimes[0].workflows.signal(first.id, 'custom');
    await first.result;
    await waitsFor(stores[1], runtimes[1], second.id, HOLDS);
    expect(notes(folder)).toEqual(['first', 'second']);
    await runtimes[1].workflows.signal(second.id, 'custom');
    expect(await second.result).toMatchObject({ status: 'completed' });
  });

  it('that waits and is cancelled is passed over', async () => {
    const { start, go, reaches, folder } = await createStage('{ max: 1, when_busy: queue }');
    const a = start('a');
    await reaches(a, HOLDS);
    const b = start('b');
    await reaches(b, 'its turn');
    const c = start('c');
    await reaches(c, 'its turn');
    await b.cancel('no more');
    expect(await b.result).toMatchObject({ status: 'cancelled' });
    await go(a);
    await reaches(c, HOLDS);
    expect(notes(folder)).toEqual(['a', 'c']);
  });

  it('counts while nobody works on it, and those behind it go on after a restart', async () => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    const folder = folderOf('{ max: 1, when_busy: queue }');
    const before = await runtimeOf({ store, clock, cwd: folder });
    const start = await starterOf(before, folder);
    const [a, b] = [start('a'), start('b')];
    await waitsFor(store, before, a.id, HOLDS);
    await waitsFor(store, before, b.id, 'its turn');
    await before.close();
    const after = await runtimeOf({ store, clock, cwd: folder });
    await after.workflows.recover();
    await waitsFor(store, after, b.id, 'its turn');
    await after.workflows.signal(a.id, 'custom');
    await waitsFor(store, after, b.id, HOLDS);
    expect(notes(folder)).toEqual(['a', 'b']);
  });

  it('is let in by a look of its own where nobody told it that its turn had come', async () => {
    const clock = createSimulatedClock();
    const real = createMemoryStore({ clock });
    const lost: string[] = [];
    const store: Store = {
      ...real,
      async send(stream, message, ...more) {
        if (message.kind !== 'turn') return real.send(stream, message, ...more);
        lost.push(stream);
        return 0;
      },
    };
    const folder = folderOf('{ max: 1, when_busy: queue }');
    const runtime = await runtimeOf({ store, clock, cwd: folder });
    const start = await starterOf(runtime, folder);
    const a = start('a');
    await waitsFor(store, runtime, a.id, HOLDS);
    const b = start('b');
    await waitsFor(store, runtime, b.id, 'its turn');
    await runtime.workflows.signal(a.id, 'custom');
    await eventually(() => expect(lost).toEqual([b.id]));
    expect(notes(folder)).toEqual(['a']);
    await clock.advance(60_000);
    await waitsFor(store, runtime, b.id, HOLDS);
    expect(notes(folder)).toEqual(['a', 'b']);
  });

  it('holds no place for half a minute longer than a process that died before its log was there', async () => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    const folder = folderOf('{ max: 1 }');
    const dying = mortal(store);
    const crashed = await runtimeOf({
      store: dying,
      clock,
      cwd: folder,
      crashPoint(name) {
        if (name === 'hand:asked') dying.die();
      },
    });
    const lost = (await starterOf(crashed, folder))('lost');
    lost.result.catch(() => undefined);
    await eventually(async () =>
      expect(await store.tables.get('gates', 'by hand tester:w')).toMatchObject({
        under: [{ run: lost.id }],
      }),
    );
    const runtime = await runtimeOf({ store, clock, cwd: folder });
    const start = await starterOf(runtime, folder);
    await expect(start('early').result).rejects.toMatchObject({ code: 'workflow_busy' });
    await clock.advance(30_000);
    await waitsFor(store, runtime, start('late').id, HOLDS);
    expect(notes(folder)).toEqual(['late']);
  });

  it('is the same run when it is asked for twice under one id, also where the workflow is busy by then', async () => {
    const { start, go, reaches } = await createStage('{ max: 1 }');
    const a = start('a', { id: 'run_mine' });
    await reaches(a, HOLDS);
    await expect(start('a', { id: 'run_mine' }).result).rejects.toMatchObject({ code: 'stream_exists' });
    await go(a);
    await a.result;
    await reaches(start('b'), HOLDS);
    await expect(start('a', { id: 'run_mine' }).result).rejects.toMatchObject({ code: 'stream_exists' });
  });

  it('is not counted where its trigger says nothing, or where a step calls it', async () => {
    const { start, reaches } = await createStage('{ max: 1 }');
    await reaches(start('a'), HOLDS);
    const folder = agentFolder(IMPORT, {
      ...FILES('{ max: 1 }'),
      'flows/outer.yml':
        'kind: Workflow\nname: outer\nsteps:\n  - { name: both, type: parallel, branches: [[{ name: one, type: workflow, target: w }], [{ name: two, type: workflow, target: w }]] }\n',
    });
    const runtime = await runtimeOf({ store: 'memory', cwd: folder });
    const outer = findWorkflow(await loadAgent('agent.yml', { cwd: folder }), 'outer');
    runtime.workflows.start(outer, { onWaiting: 'hold' });
    await eventually(() => expect(notes(folder)).toEqual(['nobody', 'nobody']));
  });
});

describe('an action that calls a workflow', () => {
  const twice = ['one', 'two']
    .map(
      (who) =>
        `<action type="workflow" mode="async" id="${who}">{"name":"w","parameters":{"who":"${who}"}}</action>`,
    )
    .join('');

  it('fails softly where it is busy, and the model is told which run is under way', async () => {
    const ran = await runAgent({
      manifest: IMPORT,
      files: FILES('{ max: 1 }'),
      turns: [twice, '<response final="true">Done.</response>'],
      async during(_session, { workflows, store }) {
        await eventually(async () => {
          const [run] = await store.list({ kind: 'run', status: ['waiting'] });
          await workflows.signal(run?.stream ?? 'none', 'custom');
        });
      },
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.of('action.failed').map(({ error }) => error.code)).toEqual(['workflow_busy']);
    expect(ran.prompts.join('\n')).toContain('is already running, and its manual trigger allows 1 at a time');
  });

  it('waits for its turn where its trigger says so', async () => {
    const ran = await runAgent({
      manifest: IMPORT,
      files: FILES('{ max: 1, when_busy: queue }'),
      turns: [twice, '<response final="true">Done.</response>'],
      async during(_session, { workflows, store }) {
        for (let ended = 0; ended < 2; ended++)
          await eventually(async () => {
            const waiting = await store.list({ kind: 'run', status: ['waiting'] });
            const states = await Promise.all(waiting.map(({ stream }) => workflows.state(stream)));
            const holding = states.filter(({ waiting }) => waiting?.for === HOLDS);
            expect(states.length + ended).toBe(2);
            expect(holding).toHaveLength(1);
            await workflows.signal(holding[0]?.id ?? '', 'custom');
            await eventually(async () =>
              expect(await store.list({ kind: 'run', status: ['completed'] })).toHaveLength(ended + 1),
            );
          });
      },
    });
    expect(ran.result.status).toBe('completed');
    expect(ran.of('action.failed')).toEqual([]);
    expect(notes(ran.folder)).toEqual(['one', 'two']);
  });

  it('is refused where it would wait for the run that it is called from', async () => {
    const again = '<action type="workflow" id="again" mode="sync">{"name":"w","parameters":{}}</action>';
    const notes = 'I called the workflow again, as I was told to, and wrote down what came of it.';
    const folder = agentFolder('import: { workflows: [./flows/*.yml] }\n', {
      'flows/w.yml': `kind: Workflow
name: w
trigger: { type: manual, concurrency: { max: 1, when_busy: queue } }
steps: [{ name: work, type: task, prompt: Call it again. }]
`,
      'none.yml': JSON.stringify({ turns: [again, speak('tags', [{ complete: notes }])] }),
    });
    const runtime = await runtimeOf({ store: 'memory', cwd: folder });
    const workflow = findWorkflow(await loadAgent('agent.yml', { cwd: folder }), 'w');
    const run = runtime.workflows.start(workflow, { id: 'run_w' });
    expect(await run.result).toMatchObject({ status: 'completed', output: { notes } });
    const [led] = await runtime.store.list({ kind: 'session' });
    const failed = (await runtime.events(led?.stream ?? '')).find(({ type }) => type === 'action.failed');
    expect(failed).toMatchObject({
      error: { code: 'workflow_busy', message: expect.stringContaining('its own run run_w') },
    });
  });
});

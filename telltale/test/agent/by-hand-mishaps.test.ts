import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineWorkflow } from '../../src/agent/define/definitions.ts';
import { cancelUnownedRun } from '../../src/agent/ending/cancel-unowned.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { findWorkflow } from '../../src/agent/runs/find-workflow.ts';
import type { WorkflowRun } from '../../src/agent/runs/run-types.ts';
import { readLimitRow } from '../../src/agent/triggers/concurrency-limit.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Model } from '../../src/models/model.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../store/eventually.ts';
import { createStage, folderOf, HOLDS, notes, runtimeOf, starterOf, waitsFor } from './by-hand-stage.ts';
import { agentFolder } from './run-agent.ts';
import { speak } from './speak.ts';

const TURN = 'its turn behind run_';

describe('a run that is ended at the moment in which it is let go of', () => {
  const PLAIN = {
    'w.yml': 'kind: Workflow\nname: w\nsteps: [{ name: hold, type: wait, event: custom }]\n',
  };

  it.each(['cancel', 'interrupt'] as const)('hears of it (%s)', async (how) => {
    const folder = agentFolder('import: { workflows: [./w.yml] }\n', PLAIN);
    let run: WorkflowRun | undefined;
    let over: Promise<void> | undefined;
    const runtime = await runtimeOf({
      store: 'memory',
      cwd: folder,
      crashPoint(name) {
        if (name === 'append:workflow.waiting') over ??= run?.[how]();
      },
    });
    const workflow = findWorkflow(await loadAgent('agent.yml', { cwd: folder }), 'w');
    run = runtime.workflows.start(workflow, { onWaiting: 'hold' });
    expect((await run.result).status).toBe(how === 'cancel' ? 'cancelled' : 'interrupted');
    await over;
  });
});

describe('a run that waits for its turn', () => {
  it.each(['cancel', 'interrupt'] as const)(
    'hears of its end while it is being asked for (%s)',
    async (how) => {
      const clock = createSimulatedClock();
      let held: (() => void) | undefined;
      let isSlow = false;
      const { start, reaches } = await createStage('{ max: 1, when_busy: queue }', { clock }, (store) => ({
        ...store,
        tables: {
          ...store.tables,
          async exchange(...asked) {
            const done = await store.tables.exchange(...asked);
            if (isSlow)
              await new Promise<void>((resolve) => {
                held = resolve;
              });
            return done;
          },
        },
      }));
      await reaches(start('a'), HOLDS);
      isSlow = true;
      const b = start('b');
      await eventually(() => expect(held).toBeDefined());
      const over = b[how]();
      isSlow = false;
      held?.();
      await over;
      expect((await b.result).status).toBe(how === 'cancel' ? 'cancelled' : 'interrupted');
    },
  );

  it('writes little, however long it waits', async () => {
    const clock = createSimulatedClock();
    const { start, reaches, runtime } = await createStage('{ max: 1, when_busy: queue }', { clock });
    await reaches(start('a'), HOLDS);
    const b = start('b');
    await reaches(b, TURN);
    for (let minutes = 0; minutes < 240; minutes++) {
      await clock.advance(60_000);
      await eventually(async () => expect((await runtime.store.info(b.id))?.status).toBe('waiting'));
    }
    expect((await runtime.workflows.events(b.id)).length).toBeLessThan(30);
    expect((await runtime.workflows.state(b.id)).waiting?.for).toContain(TURN);
  });

  it('asks again where the store could not say, and keeps what it was let in for', async () => {
    const clock = createSimulatedClock();
    let reads = 0;
    const locked = new RuntimeError('store_locked', 'Locked.', { retryable: true });
    const { start, reaches, folder } = await createStage('{ max: 1 }', { clock }, (store) => ({
      ...store,
      tables: {
        ...store.tables,
        async get(table, key) {
          if (table === 'gates' && ++reads === 2) throw locked; // the first is before it is made
          return store.tables.get(table, key);
        },
      },
    }));
    const a = start('a');
    await reaches(a, 'its turn');
    expect(notes(folder)).toEqual([]);
    await clock.advance(10_000);
    await reaches(a, HOLDS);
    expect(notes(folder)).toEqual(['a']);
  });

  it('has it at once when who had it is cancelled although nobody works on it', async () => {
    const store = createMemoryStore({ clock: createSystemClock() });
    const folder = folderOf('{ max: 1, when_busy: queue }');
    const dead = await runtimeOf({ store, cwd: folder });
    const a = (await starterOf(dead, folder))('a', { onWaiting: 'release' });
    await a.result;
    await dead.close();
    const runtime = await runtimeOf({ store, cwd: folder });
    const b = (await starterOf(runtime, folder))('b');
    await waitsFor(store, runtime, b.id, TURN);
    const asked = { reason: 'no more', by: 'ann', clock: createSystemClock() };
    expect(await cancelUnownedRun(store, a.id, asked)).toBe('ended');
    await waitsFor(store, runtime, b.id, HOLDS);
    expect(notes(folder)).toEqual(['a', 'b']);
  });

  it('has been given up when its end is heard of', async () => {
    const { start, go, reaches, store } = await createStage('{ max: 1, when_busy: queue }');
    const a = start('a');
    await reaches(a, HOLDS);
    const under = async () => readLimitRow(await store.tables.get('gates', 'by hand tester:w')).under;
    expect(await under()).toMatchObject([{ run: a.id }]);
    const over = a.result.then(under);
    await go(a);
    expect(await over).toEqual([]);
  });
});

describe('a start that is refused', () => {
  it('writes nothing', async () => {
    let writes = 0;
    const { start, reaches } = await createStage('{ max: 1 }', {}, (store) => ({
      ...store,
      tables: {
        ...store.tables,
        exchange(...asked) {
          writes++;
          return store.tables.exchange(...asked);
        },
      },
    }));
    await reaches(start('a'), HOLDS);
    const before = writes;
    for (const who of ['b', 'c'])
      await expect(start(who).result).rejects.toMatchObject({ code: 'workflow_busy' });
    expect(writes).toBe(before);
  });
});

describe('a run that takes the place of another', () => {
  it('is not cancelled for one that was dropped and did not hear of it', async () => {
    const clock = createSimulatedClock();
    let isLost = false;
    const lossy = (store: Store): Store => ({
      ...store,
      send: async (stream, message, ...more) =>
        isLost && message.kind === 'cancel' ? 0 : store.send(stream, message, ...more),
    });
    const { start, reaches } = await createStage('{ max: 1, when_busy: replace }', { clock }, lossy);
    await reaches(start('a'), HOLDS);
    isLost = true; // whoever was to send it died before
    const b = start('b');
    await reaches(b, TURN);
    const c = start('c');
    await reaches(c, TURN);
    isLost = false;
    await eventually(async () => {
      await clock.advance(60_000);
      await reaches(c, HOLDS);
    });
    expect(await b.result).toMatchObject({ status: 'cancelled' });
  });

  it('has it although the manifest has changed since', async () => {
    const store = createMemoryStore({ clock: createSystemClock() });
    const folder = agentFolder('import: { workflows: [./w.yml] }\n', {
      'w.yml':
        'kind: Workflow\nname: w\ntrigger: { type: manual, concurrency: { when_busy: replace } }\nsteps: [{ name: hold, type: wait, event: custom }]\n',
    });
    const before = await runtimeOf({ store, cwd: folder });
    const a = (await starterOf(before, folder))('a', { onWaiting: 'release' });
    await a.result;
    await before.close();
    const file = join(folder, 'w.yml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}description: Another.\n`);
    const runtime = await runtimeOf({ store, cwd: folder });
    const b = (await starterOf(runtime, folder))('b');
    await waitsFor(store, runtime, b.id, HOLDS);
    expect((await store.info(a.id))?.status).toBe('cancelled');
  });
});

describe('a call of a workflow from within one of its runs', () => {
  it('waits where another run can make room for it', async () => {
    const again = '<action type="workflow" id="again" mode="sync">{"name":"w","parameters":{}}</action>';
    const told = 'I called the workflow again, as I was told to, and wrote down what came of it.';
    const folder = agentFolder('import: { workflows: [./w.yml] }\n', {
      'w.yml': `kind: Workflow
name: w
trigger: { type: manual, concurrency: { max: 2, when_busy: queue } }
steps:
  - { name: hold, type: wait, event: custom, if: "has(input.hold)" }
  - { name: work, type: task, prompt: Call it again., if: "has(input.lead)" }
`,
      'none.yml': JSON.stringify({ turns: [again, speak('tags', [{ complete: told }])] }),
    });
    const runtime = await runtimeOf({ store: 'memory', cwd: folder });
    const { store, workflows } = runtime;
    const workflow = findWorkflow(await loadAgent('agent.yml', { cwd: folder }), 'w');
    const other = workflows.start(workflow, { input: { hold: true }, onWaiting: 'hold' });
    await waitsFor(store, runtime, other.id, HOLDS);
    const lead = workflows.start(workflow, { input: { lead: true }, onWaiting: 'hold' });
    await eventually(async () =>
      expect(await store.list({ kind: 'run', status: ['waiting'] })).toHaveLength(2),
    );
    await workflows.signal(other.id, 'custom');
    expect(await lead.result).toMatchObject({ status: 'completed', output: { notes: told } });
    const [led] = await store.list({ kind: 'session' });
    const events = await runtime.events(led?.stream ?? '');
    expect(events.filter(({ type }) => type === 'action.failed')).toEqual([]);
  });
});

describe('two workflows that call each other', () => {
  const NOTES = 'I called the other workflow, as I was told to, and wrote down what came of it.';
  const queued = (name: string, other: string, max = 1) =>
    defineWorkflow({
      name,
      trigger: { type: 'manual', concurrency: { max, when_busy: 'queue' } },
      steps: [{ name: 'work', type: 'task', prompt: `Call "${other}" now.`, if: 'has(input.lead)' }],
    });

  /** Both are under way before either calls the other. */
  async function scene(mode: 'sync' | 'async' | 'fire_and_forget', max = 1) {
    let asked = 0;
    let begin = () => {};
    const both = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const model: Model = {
      id: 'caller',
      async stream({ messages, turn }, sink) {
        const other = /Call "(\w)" now/.exec(JSON.stringify(messages).replaceAll('\\', ''))?.[1];
        if (turn === 1) {
          if (++asked === 2) begin();
          await both;
          sink.text(
            `<action type="workflow" id="call" mode="${mode}">{"name":"${other}","parameters":{}}</action>`,
          );
        } else sink.text(speak('tags', [{ complete: NOTES }]));
        return { finish: 'stop' };
      },
    };
    const agent = await defineAgent({
      name: 'caller',
      model,
      workflows: [queued('a', 'b', max), queued('b', 'a')],
    });
    const runtime = await runtimeOf({ store: 'memory' });
    const start = (name: string) =>
      runtime.workflows.start(findWorkflow(agent, name), { id: `run_${name}`, input: { lead: true } });
    const results = await Promise.all([start('a').result, start('b').result]);
    const sessions = await runtime.store.list({ kind: 'session' });
    const events = await Promise.all(sessions.map(({ stream }) => runtime.events(stream)));
    return { results, failed: events.flat().filter((event) => event.type === 'action.failed') };
  }

  it.each(['sync', 'async'] as const)('and wait for each other are found out (%s)', async (mode) => {
    const { results, failed } = await scene(mode);
    expect(results).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
    expect(failed.length).toBeGreaterThan(0);
    for (const { error } of failed)
      expect(error).toMatchObject({
        code: 'workflow_failed',
        cause: { code: 'workflow_deadlock', hint: expect.stringContaining('"max"') },
        message: expect.stringMatching(/would wait for ever: its turn comes behind run_[ab]; run_[ab] waits/),
      });
  });

  it('wait where one of them has room, or where nobody waits for the call', async () => {
    expect((await scene('sync', 2)).failed).toEqual([]);
    expect((await scene('fire_and_forget')).failed).toEqual([]);
  });
});

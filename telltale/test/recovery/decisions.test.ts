import { describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createArtifacts } from '../../src/tools/artifacts/create-artifacts.ts';
import {
  finish,
  normalizeRun,
  ofType,
  openExample,
  path,
  type WorkflowExample,
} from '../examples/workflow-example.ts';

const clock = createSystemClock();
const BOOK = { book: 'The Lamp', chapters: ['Fog', 'Ice', 'Light'] };

/** What a process has left that died after so many events of a run. */
async function leave(store: Store, id: string, lines: readonly string[]): Promise<void> {
  const writer = await store.create(id, { kind: 'run', name: 'left', status: 'running', title: 'left' });
  await new Promise<void>((resolve, reject) => {
    writer.append({ expectedSeq: 0, events: lines }, (error) =>
      error === undefined ? resolve() : reject(error),
    );
  });
  await writer.release();
}

async function goOn({ runtime }: WorkflowExample, id: string): Promise<readonly RunEvent[]> {
  const run = await runtime.workflows.resume(id);
  expect((await run.result).status).toBe('completed');
  return runtime.workflows.events(id);
}

/** The places where a log can end: a paid answer and its price are written as one. */
const cuts = (events: readonly RunEvent[]): readonly number[] =>
  events
    .flatMap((_, index) => (events[index + 1]?.type === 'budget.charged' ? [] : [index + 1]))
    .slice(0, -1);

const asked = (events: readonly RunEvent[]) =>
  ofType(events, 'invoke').map(({ where, version, result }) => [where, version, result]);

/** Of what is done again after a crash: not what a model was asked, nor that the run was resumed. */
const decided = (events: readonly RunEvent[]) =>
  normalizeRun(events.filter(({ type }) => type !== 'workflow.resumed' && type !== 'model.used'));

describe('a run that is resumed', { timeout: 30_000 }, () => {
  it('takes the same path by chance from wherever its log ends', async () => {
    const first = await openExample('random-transition');
    const { events } = await finish(first, { id: 'april' });
    const lines = await first.runtime.store.read('april');
    await first.close();
    // Behind an answer, before it has had any effect: the seed of the next one is the number of those on the log.
    const answered = events.flatMap(({ type }, index) => (type === 'invoke' ? [index + 1] : []));
    expect(answered.length).toBeGreaterThan(5);
    for (const cut of answered.filter((_, index) => index % 2 === 0)) {
      const store = createMemoryStore({ clock });
      await leave(store, 'april', lines.slice(0, cut));
      const example = await openExample('random-transition', { store });
      const resumed = await goOn(example, 'april');
      expect(path(resumed), `after event ${cut}`).toEqual(path(events));
      expect(decided(resumed)).toBe(decided(events));
      await example.close();
      await store.close();
    }
  });

  it('asks about no place twice, pays for nothing twice, and has what joined a prompt on its log once', async () => {
    const example = await openExample('guarded-injection');
    const { store } = example.runtime;
    const { events } = await finish(example, { id: 'whole', input: BOOK });
    const lines = await store.read('whole');
    for (const cut of cuts(events)) {
      await leave(store, `cut-${cut}`, lines.slice(0, cut));
      expect(decided(await goOn(example, `cut-${cut}`)), `after event ${cut}`).toBe(decided(events));
    }
    await example.close();
  });

  it('stays by what was decided, whatever the artifact has become since', async () => {
    const example = await openExample('guarded-injection');
    const { store } = example.runtime;
    const { events } = await finish(example, { id: 'whole', input: BOOK });
    const lines = await store.read('whole');
    const artifacts = createArtifacts({ tables: store.tables, clock, check: async () => {} });
    const source = 'export const prompt_for = () => { throw new Error("no more"); };';
    await artifacts.write({ name: 'reader', source, methods: ['prompt_for'] }, 'user');
    const second = events.findIndex(
      (event) => event.type === 'invoke' && event.where === 'step chapters[1]/read: prompt',
    );
    await leave(store, 'later', lines.slice(0, second + 2));
    const resumed = await goOn(example, 'later');
    expect(asked(resumed).filter(([where]) => String(where).endsWith('read: prompt'))).toEqual([
      ['step chapters[0]/read: prompt', 1, expect.stringContaining('It is the first one.')],
      ['step chapters[1]/read: prompt', 1, expect.stringContaining('You have read 1 before it.')],
      ['step chapters[2]/read: prompt', 2, 'Read the chapter "Light" and note what is wrong with it.'],
    ]);
    await example.close();
  });

  it('was let go of by its process: the same', async () => {
    const example = await openExample('guarded-injection');
    const { workflows } = example.runtime;
    const { events } = await finish(example, { id: 'whole', input: BOOK });
    const run = workflows.start(example.workflow, { id: 'let-go', input: BOOK });
    const stop = run.subscribe((event) => {
      if (event.type === 'component.injected' && event.step === 'chapters[0]/read') void run.interrupt();
    });
    expect((await run.result).status).toBe('interrupted');
    stop();
    const before = await workflows.events('let-go');
    expect(before.length).toBeLessThan(events.length);
    const after = await goOn(example, 'let-go');
    expect(after.slice(0, before.length)).toEqual(before);
    expect(asked(after)).toEqual(asked(events));
    expect(decided(after)).toBe(decided(events));
    await example.close();
  });
});

import { describe, expect, it } from 'vitest';
import { readRun, readRunEvents } from '../../src/engine/read-run.ts';
import { createRunLog } from '../../src/engine/run-log.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { foldRun } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventBody } from '../../src/log/run-event.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { createMemoryHome } from '../../src/store/memory/memory-tables.ts';
import type { Append, StreamWriter } from '../../src/store/store.ts';

const RUN = 'run_1';
const STARTED: RunEventBody = {
  type: 'workflow.started',
  workflow: 'deploy',
  manifest: { path: 'deploy.yml', hash: 'h', agent: 'ops' },
  input: { to: 'staging' },
  origin: { chain: ['deploy'], agents: [] },
  vars: { tries: 0 },
};
const begun = (step: string): RunEventBody => ({
  type: 'step.started',
  step,
  attempt: 1,
  input: {},
  repeatable: true,
});
const completed = (step: string): RunEventBody => ({
  type: 'step.completed',
  step,
  output: `${step} done`,
  ms: 1,
  attempts: 1,
});

async function open() {
  const clock = createSimulatedClock();
  const home = createMemoryHome();
  const store = createMemoryStore({ clock, home, isAlive: () => false });
  const writer = await store.create(RUN, { kind: 'run', name: 'deploy', status: 'running', title: '' });
  const appends: Append[] = [];
  const noted: StreamWriter = {
    ...writer,
    append(append, settled) {
      appends.push(append);
      writer.append(append, settled);
    },
  };
  const lost: string[] = [];
  const points: string[] = [];
  const log = createRunLog({
    writer: noted,
    state: emptyRun(),
    clock,
    onLost: (error) => lost.push(error.code),
    crashPoint: (name) => points.push(name),
  });
  return { clock, store, writer, appends, lost, points, log };
}

describe('the log of a run', () => {
  it('folds an event at once, and has it on the store once flushed', async () => {
    const { log, store } = await open();
    log.append(STARTED);
    expect(log.state).toMatchObject({ id: RUN, workflow: 'deploy', seq: 1, status: 'running' });
    expect(await store.read(RUN)).toEqual([]);
    await log.flushed();
    expect(await readRunEvents(store, RUN)).toMatchObject([{ ...STARTED, seq: 1, run: RUN }]);
  });

  it('has a run that waits be due when whoever writes says so, whatever it waits for', async () => {
    const { log, store, writer, clock } = await open();
    log.append(STARTED);
    log.append({ type: 'workflow.waiting', for: 'review', due: clock.now() + 1_000 });
    await log.flushed();
    expect((await store.info(RUN))?.due).toBe(clock.now() + 1_000);
    const state = await readRun(store, RUN);
    const other = createRunLog({ writer, state, clock, forOthers: true, onLost: () => undefined });
    other.append({ type: 'signal.received', event: 'custom', data: {}, from: 'ann' });
    await other.flushed();
    expect((await store.info(RUN))?.due).toBe(0);
  });

  it('writes what is appended in one go as one append, in order, and what comes later as another', async () => {
    const { log, appends, store } = await open();
    log.append(STARTED);
    log.append(begun('a'));
    log.append(completed('a'));
    await log.flushed();
    log.append(begun('b'));
    await log.flushed();
    expect(appends.map(({ expectedSeq, events }) => [expectedSeq, events.length])).toEqual([
      [0, 3],
      [3, 1],
    ]);
    expect((await readRunEvents(store, RUN)).map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'workflow.started'],
      [2, 'step.started'],
      [3, 'step.completed'],
      [4, 'step.started'],
    ]);
  });

  it('tells the store how the run stands when that changes, and then only', async () => {
    const { log, appends, store } = await open();
    for (const body of [
      STARTED,
      begun('a'),
      { type: 'workflow.waiting', for: 'a day' } as const,
      { type: 'workflow.resumed', by: 'timer' } as const,
      { type: 'workflow.completed', output: null } as const,
    ]) {
      log.append(body);
      await log.flushed();
    }
    expect(appends.map(({ status }) => status)).toEqual([
      'running',
      undefined,
      'waiting',
      'running',
      'completed',
    ]);
    expect((await store.info(RUN))?.status).toBe('completed');
  });

  it('names the start as the cause of what has no nearer one, one step further down', async () => {
    const { log } = await open();
    const start = log.append(STARTED, { stream: 'ses_1', seq: 7, depth: 3 });
    expect(start).toEqual({ stream: RUN, seq: 1, depth: 4 });
    const step = log.append(begun('a'));
    expect(step).toEqual({ stream: RUN, seq: 2, depth: 5 });
    expect(log.append(completed('a'), step)).toEqual({ stream: RUN, seq: 3, depth: 6 });
  });

  it('begins its own chain of causes where nothing else brought it about', async () => {
    const { log, store } = await open();
    expect(log.append(STARTED)).toEqual({ stream: RUN, seq: 1, depth: 1 });
    await log.flushed();
    expect((await readRunEvents(store, RUN))[0]?.cause).toEqual({ stream: RUN, seq: 0, depth: 0 });
  });

  it('removes a message from the inbox and writes tables together with the event that stands for it', async () => {
    const { log, store, writer } = await open();
    log.append(STARTED);
    const id = await store.send(RUN, { kind: 'signal', from: 'user', body: { event: 'go' } });
    log.append({ type: 'signal.received', event: 'go', data: {}, from: 'user' }, undefined, {
      consumed: [id],
      writes: [{ table: 'seen', key: 'go', value: true }],
    });
    await log.flushed();
    expect(await writer.inbox()).toEqual([]);
    expect(await store.tables.get('seen', 'go')).toBe(true);
  });

  it('shows events after their commit, in order, and to nobody who has left', async () => {
    const { log } = await open();
    const seen: RunEvent[] = [];
    const leave = log.subscribe((event) => seen.push(event));
    log.append(STARTED);
    log.append(begun('a'));
    expect(seen).toEqual([]);
    await log.flushed();
    expect(seen.map(({ type }) => type)).toEqual(['workflow.started', 'step.started']);
    leave();
    log.append(completed('a'));
    await log.flushed();
    expect(seen).toHaveLength(2);
  });

  it('passes a named point before each write and after each commit', async () => {
    const { log, points } = await open();
    log.append(STARTED);
    log.append(begun('a'));
    await log.flushed();
    expect(points).toEqual([
      'append:workflow.started',
      'append:step.started',
      'committed:workflow.started',
      'committed:step.started',
    ]);
  });

  it('takes nothing once it is sealed, but writes what came before', async () => {
    const { log, store } = await open();
    log.append(STARTED);
    log.seal();
    log.append(begun('a'));
    expect(log.state.steps.size).toBe(0);
    await log.flushed();
    expect(await readRunEvents(store, RUN)).toHaveLength(1);
  });

  it('says once that its stream is lost, rejects who waits, and changes nothing afterwards', async () => {
    const { log, store, lost } = await open();
    log.append(STARTED);
    await log.flushed();
    const thief = await store.acquire(RUN);
    log.append(begun('a'));
    await expect(log.flushed()).rejects.toMatchObject({ code: 'stream_lost' });
    log.append(begun('b'));
    await expect(log.flushed()).rejects.toMatchObject({ code: 'stream_lost' });
    expect(lost).toEqual(['stream_lost']);
    expect(log.state.steps.has('b')).toBe(false);
    expect(thief.head).toBe(1);
  });

  it('goes on where another process stopped', async () => {
    const { log, store, clock } = await open();
    log.append(STARTED);
    log.append(begun('a'));
    await log.flushed();
    const writer = await store.acquire(RUN);
    const again = createRunLog({
      writer,
      state: await readRun(store, RUN),
      clock,
      onLost: () => expect.unreachable(),
    });
    expect(again.append(completed('a'))).toEqual({ stream: RUN, seq: 3, depth: 2 });
    await again.flushed();
    expect(await readRun(store, RUN)).toEqual(again.state);
  });
});

describe('reading a run', () => {
  it('gives the state as of any event, over more than one page', async () => {
    const { log, store } = await open();
    log.append(STARTED);
    for (let n = 0; n < 4_500; n += 1) log.append({ type: 'custom', name: 'note', data: n });
    log.append(begun('late'));
    await log.flushed();
    const events = await readRunEvents(store, RUN);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(await readRun(store, RUN)).toEqual(log.state);
    expect(await readRun(store, RUN, 2_001)).toEqual(foldRun(events.slice(0, 2_001)));
    expect(await readRun(store, RUN, 3)).toEqual(foldRun(events.slice(0, 3)));
    expect((await readRunEvents(store, RUN, 4_501)).map(({ seq }) => seq)).toEqual([4_501, 4_502]);
  });

  it('refuses what is not there, and what is no run', async () => {
    const { store } = await open();
    await store.create('ses_1', { kind: 'session', name: 'a', status: 'running', title: '' });
    await expect(readRun(store, 'run_2')).rejects.toMatchObject({
      code: 'run_unknown',
      message: 'No workflow run "run_2" is in memory.',
    });
    await expect(readRunEvents(store, 'ses_1')).rejects.toMatchObject({ code: 'run_unknown' });
    await expect(readRun(store, RUN, undefined, AbortSignal.abort())).rejects.toMatchObject({
      name: 'AbortError',
    });
  });
});

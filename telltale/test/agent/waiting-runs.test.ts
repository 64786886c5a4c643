import { describe, expect, it } from 'vitest';
import type { LoadedAgent } from '../../src/agent/loaded-agent.ts';
import type { HeldRun } from '../../src/agent/runs/open-run.ts';
import { postToRun } from '../../src/agent/runs/run-inbox.ts';
import { createRunRegistry, type RunListener } from '../../src/agent/runs/run-registry.ts';
import { keepWaiting, stillWaits, watchWaitingRun } from '../../src/agent/runs/waiting-runs.ts';
import { createRunLog } from '../../src/engine/run-log.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';

const LISTENER: RunListener = { onEnd: () => undefined, onError: () => undefined };

function createStage(remembers: 'here' | 'fleet', inCode = false) {
  const clock = createSimulatedClock();
  const store = createMemoryStore({ clock });
  const watched = new Set<string>();
  const placed: string[] = [];
  const registry = createRunRegistry();
  const deps = {
    clock,
    registry,
    engine: { remembers, place: (_kind: string, run: string) => placed.push(run) } as never,
    store: {
      ...store,
      watch(run: string, moved: () => void) {
        watched.add(run);
        const end = store.watch(run, moved);
        return () => {
          watched.delete(run);
          end();
        };
      },
    },
  };
  const state = { ...emptyRun(), manifest: { ...(inCode ? { code: true as const } : {}) } };
  const held = { journal: { state } } as unknown as HeldRun;
  const parkOne = (run: string, due?: number, listener?: RunListener) => {
    const entry = registry.entry(run);
    if (listener !== undefined) entry.listeners.add(listener);
    registry.suspend(entry, { seq: 3 });
    const end = { kind: 'waiting' as const, ...(due === undefined ? {} : { due }) };
    return { entry, end: keepWaiting(deps, entry, held, end) };
  };
  return { clock, store, deps, registry, watched, placed, parkOne };
}

describe('a run that waits', () => {
  it('is forgotten at once where a fleet remembers it, but for what is due in a moment', () => {
    const { clock, registry, watched, parkOne } = createStage('fleet');
    expect(parkOne('a', clock.now() + 86_400_000).end).toEqual({ kind: 'waiting' });
    expect(parkOne('b').end).toEqual({ kind: 'waiting' });
    const soon = clock.now() + 5_000;
    expect(parkOne('c', soon).end).toEqual({ kind: 'waiting', due: soon });
    expect(['a', 'b', 'c'].map((run) => registry.find(run))).toEqual([undefined, undefined, undefined]);
    expect([watched.size, registry.suspended()]).toEqual([0, 0]);
  });

  it('is kept in mind by a process of a fleet in which somebody waits for it, or which alone has its agent', () => {
    const heard = createStage('fleet');
    const due = heard.clock.now() + 86_400_000;
    expect(heard.parkOne('a', due, LISTENER).end).toEqual({ kind: 'waiting', due });
    expect(heard.watched).toEqual(new Set(['a']));
    const coded = createStage('fleet', true);
    expect(coded.parkOne('a', due).end).toEqual({ kind: 'waiting', due });
    expect(coded.watched).toEqual(new Set(['a']));
  });

  it('is watched by a process alone, up to a thousand of them, and wakes it at its time all the same', () => {
    const { clock, registry, watched, parkOne } = createStage('here');
    const due = clock.now() + 86_400_000;
    for (let n = 0; n < 1_200; n += 1) expect(parkOne(`run_${n}`, due).end).toEqual({ kind: 'waiting', due });
    expect([watched.size, registry.suspended()]).toEqual([1_000, 1_000]);
  });

  it('keeps no agent that was read for it, and the one that it was begun with', () => {
    const { registry, parkOne } = createStage('here');
    const agentSource = { agent: {} as LoadedAgent<unknown> };
    Object.assign(registry.entry('read'), { agentSource, isSourceRead: true });
    Object.assign(registry.entry('given'), { agentSource });
    expect(parkOne('read').entry.agentSource).toBeUndefined();
    expect(parkOne('given').entry.agentSource).toBe(agentSource);
  });

  it('and was found in the store is watched as if it had been parked here, and not in a fleet', async () => {
    for (const [remembers, count] of [
      ['here', 1_000],
      ['fleet', 0],
    ] as const) {
      const { deps, watched } = createStage(remembers);
      for (let n = 0; n < 1_100; n += 1) watchWaitingRun(deps, { stream: `run_${n}`, head: 2 });
      expect(watched.size).toBe(count);
    }
  });

  describe('and is offered by a fleet', () => {
    async function offered(remembers: 'here' | 'fleet', dueInMs: number, waitsFor = 'a time') {
      const { clock, store, deps, registry } = createStage(remembers);
      const writer = await store.create('run_1', { kind: 'run', name: 'w', status: 'running', title: '' });
      const journal = createRunLog({
        writer,
        clock,
        onLost: () => undefined,
        state: { ...emptyRun(), id: 'run_1' },
      });
      journal.append({ type: 'audit', who: 'test', what: 'begun' });
      const due = clock.now() + dueInMs;
      journal.append({ type: 'workflow.waiting', for: waitsFor, due });
      await journal.flushed();
      const entry = registry.entry('run_1');
      const look = () => stillWaits(deps, entry, { journal, writer } as unknown as HeldRun);
      return { store, registry, entry, journal, due, look };
    }

    it('ahead of its time is let go of again without a word, and kept in mind only for a moment', async () => {
      const later = await offered('fleet', 86_400_000);
      expect(await later.look()).toEqual({ kind: 'waiting' });
      expect(later.registry.find('run_1')).toBeUndefined();
      const soon = await offered('fleet', 5_000);
      expect(await soon.look()).toEqual({ kind: 'waiting', due: soon.due });
    });

    it('goes on at its time, with a message, with news on its log, where somebody wants it or waits for it, or for an agent', async () => {
      expect(await (await offered('fleet', 0)).look()).toBeUndefined();
      const mail = await offered('fleet', 5_000);
      await mail.store.send('run_1', { kind: 'signal', from: 'user', body: {} });
      expect(await mail.look()).toBeUndefined();
      const news = await offered('fleet', 5_000);
      news.journal.append({ type: 'audit', who: 'test', what: 'news' });
      await news.journal.flushed();
      expect(await news.look()).toBeUndefined();
      const heard = await offered('fleet', 5_000);
      heard.entry.listeners.add(LISTENER);
      expect(await heard.look()).toBeUndefined();
      const asked = await offered('fleet', 5_000);
      asked.entry.isRequested = true;
      expect(await asked.look()).toBeUndefined();
      expect(await (await offered('fleet', 5_000, 'agent run_1.ops')).look()).toBeUndefined();
      expect(await (await offered('here', 5_000)).look()).toBeUndefined();
    });
  });

  it('and is sent something while nobody works on it is due at once, whatever it waits for', async () => {
    const { clock, store } = createStage('here');
    const writer = await store.create('run_1', { kind: 'run', name: 'w', status: 'running', title: '' });
    const log = createRunLog({ writer, state: emptyRun(), clock, onLost: () => undefined });
    log.append({ type: 'audit', who: 'test', what: 'begun' });
    log.append({ type: 'workflow.waiting', for: 'a time', due: clock.now() + 86_400_000 });
    await log.flushed();
    await writer.release();
    await clock.advance(1_000);
    const message = { kind: 'signal', from: 'user', body: { event: 'go', data: {} } };
    expect(await postToRun({ store, clock }, 'run_1', message)).toBe('kept');
    const { status, due = Number.NaN } = (await store.info('run_1')) ?? {};
    expect([status, due <= clock.now()]).toEqual(['waiting', true]);
  });
});

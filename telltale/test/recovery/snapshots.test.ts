import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Runtime } from '../../src/agent/runtime-types.ts';
import { fold } from '../../src/log/reduce.ts';
import type { Model } from '../../src/models/model.ts';
import { type SpiedStore, spyOn } from '../../src/testing/crash.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';
import { action, text } from './say.ts';

const ID = 'ses_long';
const TIMEOUT_MS = 60_000;
const TOOLS = 'import: { tools: [./tools/*.yml] }\nlimits: { turns: 5000 }\n';

/** Ten actions a turn: some forty events. */
const busyTurn = (turn: number) =>
  Array.from({ length: 10 }, (_, n) =>
    action(`t${turn}_${n}`, 'echo', { ...text(`${turn}`), output_key: `last_${n}` }),
  ).join('');

interface Long {
  readonly runtime: Runtime;
  readonly store: SpiedStore;
  readonly folder: string;
  /** Works on the session for so many turns, then lets go of it. */
  work(turns: number): Promise<void>;
}

async function longSession(): Promise<Long> {
  const folder = agentFolder(TOOLS, tool('echo', 'return input.text;'));
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const store = spyOn(createMemoryStore());
  const runtime = await createRuntime({ store, cwd: folder });
  return {
    runtime,
    store,
    folder,
    async work(turns) {
      let left = turns;
      let enough: () => void = () => undefined;
      const done = new Promise<void>((resolve) => {
        enough = resolve;
      });
      const model: Model = {
        id: 'busy',
        async stream({ turn, signal }, sink) {
          if (left-- > 0) sink.text(busyTurn(turn));
          else {
            enough();
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
          }
          return { finish: 'stop' };
        },
      };
      const known = await store.info(ID);
      const session =
        known === undefined
          ? runtime.start(agent, { input: 'Go on and on.', id: ID, model })
          : await runtime.resume(ID, { agent, model });
      await done;
      await session.interrupt();
    },
  };
}

describe('a long session', { timeout: TIMEOUT_MS }, () => {
  it('is taken up from its last snapshot, not from its first event', async () => {
    const { runtime, store, folder, work } = await longSession();
    await work(70);
    const events = await runtime.events(ID);
    expect(events.length).toBeGreaterThan(2_500);
    store.reads.length = 0;
    const state = await runtime.state(ID);
    const read = store.reads.reduce((sum, { count }) => sum + count, 0);
    expect(read).toBeLessThan(1_100);
    expect(state).toEqual(fold(events));
    store.reads.length = 0;
    await work(1);
    for (const { from, count } of store.reads) expect(from > 1_500 ? 0 : count).toBe(0);
    await runtime.close();
    rmSync(folder, { recursive: true });
  });

  it('that is let go of and taken up again and again has snapshots that stand for all of it', async () => {
    const { runtime, store, folder, work } = await longSession();
    // Never a thousand events in one go.
    for (let life = 0; life < 6; life++) await work(15);
    const events = await runtime.events(ID);
    expect(events.length).toBeGreaterThan(2_500);
    const snapshots = await store.snapshots(ID);
    expect(snapshots.length).toBeGreaterThanOrEqual(2);
    store.reads.length = 0;
    const state = await runtime.state(ID);
    expect(store.reads.reduce((sum, { count }) => sum + count, 0)).toBeLessThan(1_100);
    expect(state).toEqual(fold(events));
    for (const { seq } of snapshots) expect(await runtime.state(ID, seq)).toEqual(fold(events.slice(0, seq)));
    await runtime.close();
    rmSync(folder, { recursive: true });
  });
});

import { expect, it } from 'vitest';
import { fold } from '../../src/events/reduce.ts';
import type { Model } from '../../src/models/model.ts';
import { readEvents, readSession } from '../../src/session/read-session.ts';
import { runAgent, tool } from './run-agent.ts';

it('a session of many snapshots is the same from them as from its whole log', async () => {
  const TURNS = 1_600;
  const model: Model = {
    id: 'scripted:long',
    async stream({ turn }, sink) {
      await undefined;
      const key = `k${turn % 7}`;
      sink.text(
        turn <= TURNS
          ? `<action id="e${turn}" mode="sync">{"name":"echo","output_key":"${key}","parameters":{"n":${turn}}}</action>`
          : '<response>Done.</response>',
      );
      return { finish: 'stop', usage: { input: 1, output: 1 } };
    },
  };
  let parts = 0;
  const { events } = await runAgent({
    manifest: `import: { tools: [./tools/*.yml] }\nlimits: { turns: 5000 }\n`,
    files: tool('echo', 'return input.n;', 'idempotent: true\n'),
    turns: [],
    model,
    after: async (session, { store }) => {
      parts = (await store.snapshots(session)).length;
      const read: number[] = [];
      const spied = {
        ...store,
        read: (stream: string, options?: { from?: number; limit?: number }) => {
          read.push(options?.from ?? 1);
          return store.read(stream, options);
        },
      };
      const state = await readSession(spied, session);
      const whole = fold(await runtimeEvents(store, session));
      expect(state).toEqual(whole);
      expect(Math.min(...read)).toBeGreaterThan(whole.seq - 1_100);
    },
  });
  expect(events.length).toBeGreaterThan(9_000);
  expect(parts).toBeGreaterThan(8);
}, 60_000);

const runtimeEvents = (store: Parameters<typeof readSession>[0], session: string) =>
  readEvents(store, session);

import { expect, it } from 'vitest';
import { readEvents, readSession } from '../../src/agent/read-session.ts';
import { fold } from '../../src/log/reduce.ts';
import type { Model } from '../../src/models/model.ts';
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
      const snapshots = await store.snapshots(session);
      parts = snapshots.length;
      const read: number[] = [];
      const spied = {
        ...store,
        read: (stream: string, options?: { from?: number; limit?: number }) => {
          read.push(options?.from ?? 1);
          return store.read(stream, options);
        },
      };
      const state = await readSession(spied, session);
      const log = await readEvents(store, session);
      const whole = fold(log);
      expect(state).toEqual(whole);
      // No action waits for one: it is taken when the model has just been asked.
      expect(new Set(snapshots.map(({ seq }) => log[seq - 1]?.type))).toEqual(new Set(['turn.started']));
      expect(Math.min(...read)).toBeGreaterThan(whole.seq - 1_000);
    },
  });
  expect(events.length).toBeGreaterThan(9_000);
  expect(parts).toBeGreaterThan(8);
}, 60_000);

it('a turn of many actions does not put the next snapshot off', async () => {
  const ACTIONS = 600;
  const said = Array.from(
    { length: ACTIONS },
    (_, n) => `<action id="e${n}">{"name":"echo","parameters":{"n":${n}}}</action>`,
  ).join('');
  const { events } = await runAgent({
    manifest: `import: { tools: [./tools/*.yml] }\n`,
    files: tool('echo', 'return input.n;', 'idempotent: true\n'),
    turns: [said, '<response>Done.</response>'],
    after: async (session, { store }) => {
      const log = await readEvents(store, session);
      const [first] = await store.snapshots(session);
      expect(log[(first?.seq ?? 0) - 1]?.turn).toBe(1);
      expect(await readSession(store, session)).toEqual(fold(log));
    },
  });
  expect(events.filter(({ type }) => type === 'action.completed')).toHaveLength(ACTIONS);
}, 60_000);

import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Append, Store, StreamWriter } from '../../src/store/store.ts';
import { agentFolder, tool } from './run-agent.ts';

const full = () => new RuntimeError('store_full', 'The disk is full.');

/** A store that has no room from the first event of `type` on, for as long as this is set. */
function fillingStore(store: Store, room: { until: string | undefined }): Store {
  const filling = (writer: StreamWriter): StreamWriter => {
    let dead = false;
    return {
      ...writer,
      append(append: Append, settled) {
        dead ||= append.events.some((line) => line.includes(`"type":"${room.until}"`));
        if (dead) queueMicrotask(() => settled(full()));
        else writer.append(append, settled);
      },
      release: async () => {
        await writer.release();
        if (dead && room.until !== undefined) throw full(); // a real one is tried again by itself
      },
    };
  };
  return {
    ...store,
    create: async (stream, head) => filling(await store.create(stream, head)),
    begin(stream, head) {
      const { writer, made } = store.begin(stream, head);
      return { writer: filling(writer), made };
    },
    acquire: async (stream) => filling(await store.acquire(stream)),
  };
}

describe('a store that is full', () => {
  const ends = [
    'action.started',
    'action.completed',
    'turn.completed',
    'session.completed',
    'session.failed',
  ];
  it.each(ends)('from %s on: the session is interrupted, says why, and can be resumed', async (until) => {
    const folder = agentFolder(
      `import: { tools: [./tools/*.yml] }\n${until === 'session.failed' ? 'limits: { turns: 1 }\n' : ''}`,
      tool('echo', 'return "echo";'),
    );
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const store = await openStore('memory', {
      cwd: folder,
      clock: createSystemClock(),
      durability: 'process',
    });
    const room: { until: string | undefined } = { until };
    const runtime = await createRuntime({ store: fillingStore(store, room), cwd: folder });
    const model = createScriptedModel({
      turns: ['<action id="a" mode="sync">{"name":"echo"}</action>', '<response>Done.</response>'],
    });
    const session = runtime.start(agent, { input: 'Go.', model });
    const result = await session.result;
    expect(result).toMatchObject({ status: 'interrupted', error: { code: 'store_full' } });
    expect(result).not.toHaveProperty('result');
    const onLog = await runtime.events(session.id);
    const started = onLog.some(({ type }) => type === 'action.started');
    expect(result.turns).toBe(onLog.filter(({ type }) => type === 'turn.completed').length);
    room.until = undefined;
    const again = await runtime.resume(session.id, { agent, model });
    expect((await again.result).status).toBe(until === 'session.failed' ? 'failed' : 'completed');
    const starts = (await runtime.events(session.id)).filter(({ type }) => type === 'action.started');
    expect(starts).toHaveLength(1);
    expect(started).toBe(until !== 'action.started');
    await runtime.close();
    await store.close();
  });

  it('when it is let go of: a session that was interrupted says so, one that has ended keeps its result', async () => {
    const folder = agentFolder('import: { tools: [./tools/*.yml] }\n', tool('echo', 'return "echo";'));
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const clock = createSystemClock();
    const store = await openStore('memory', { cwd: folder, clock, durability: 'process' });
    const noRoom = (writer: StreamWriter): StreamWriter => ({
      ...writer,
      release: async () => {
        await writer.release();
        throw full();
      },
    });
    const runtime = await createRuntime({
      store: {
        ...store,
        begin(stream, head) {
          const { writer, made } = store.begin(stream, head);
          return { writer: noRoom(writer), made };
        },
      },
      cwd: folder,
    });
    const model = createScriptedModel({ turns: ['<response>Done.</response>'] });
    expect(await runtime.start(agent, { input: 'Go.', model }).result).toMatchObject({
      status: 'completed',
      result: 'Done.',
    });
    const slow = createScriptedModel({ turns: [{ text: '<response>Done.</response>', delayMs: 60_000 }] });
    const session = runtime.start(agent, { input: 'Go.', model: slow });
    for await (const { type } of session.events) if (type === 'turn.started') void session.interrupt();
    expect(await session.result).toMatchObject({ status: 'interrupted', error: { code: 'store_full' } });
    await runtime.close();
    await store.close();
  });
});

import { describe, expect, it } from 'vitest';
import type { Session } from '../../../src/agent/runtime-types.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import type { Model, ModelRequest } from '../../../src/models/model.ts';
import { modelCancelled } from '../../../src/models/model-errors.ts';
import { createRecordingStore } from './recording-store.ts';
import { call, calls, runTeam } from './run-team.ts';

const nextOf = (request: ModelRequest) => calls(request, 'mid', 'leaf');

/** The caller says `turns`, `mid` calls `leaf`, and `leaf` speaks until it is stopped. */
const hanging = (turns: readonly string[]): Model => ({
  id: 'scripted:hanging',
  async stream(request, sink) {
    await undefined;
    const next = nextOf(request);
    if (next === 'mid') sink.text(turns[request.turn - 1] ?? '<response>Ok.</response>');
    else if (next === 'leaf') sink.text(`${call('b1', 'leaf')}<response>$b1</response>`);
    else {
      sink.text('<thought>I am at it.');
      await new Promise((resolve) => request.signal.addEventListener('abort', resolve, { once: true }));
      throw modelCancelled('scripted:hanging');
    }
    return { finish: 'stop' };
  },
});

const team = { mid: { manifest: 'import: { agents: [./low/leaf.yml] }\n' } };
const files = { 'team/low/leaf.yml': 'kind: Agent\nname: leaf\n' };
const CALL = `${call('a1', 'mid')}<response>$a1</response>`;

/** Resolves when the innermost agent speaks. */
async function deepAtWork(
  session: Session,
  runtime: { events(id: string): Promise<readonly { type: string }[]> },
) {
  for (;;) {
    const events = await runtime.events(`${session.id}.a1.b1`).catch(() => []);
    if (events.some(({ type }) => type === 'turn.started')) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const ends = (written: readonly { stream: string; type: string }[]) =>
  written.flatMap(({ stream, type }) => {
    const level = stream.split('.').length - 1;
    return /^session\.(?!started|resumed)/.test(type) ? [`${level} ${type}`] : [];
  });

describe('a sub-agent, and those below it', () => {
  it('are cancelled with their caller, before it is', async () => {
    const store = createRecordingStore();
    const ran = await runTeam(team, {
      files,
      turns: [],
      model: hanging([CALL]),
      runtime: { store },
      async during(session, runtime) {
        await deepAtWork(session, runtime);
        await session.cancel('enough');
      },
    });
    expect(ends(store.written)).toEqual([
      '2 session.cancelled',
      '1 session.cancelled',
      '0 session.cancelled',
    ]);
    expect(ran.childOf('a1.b1', 'session.cancelled')).toMatchObject([
      { by: 'parent', reason: expect.stringContaining('enough') },
    ]);
    expect(ran.of('action.cancelled')).toMatchObject([{ id: 'a1' }]);
  });

  it('are cancelled when another action ends the session, before it has failed', async () => {
    const store = createRecordingStore();
    const model = hanging([
      call('a1', 'mid', {}, 'background'),
      '<action id="x">{"name":"none","on_error":"fail"}</action>',
    ]);
    let speaks = () => {};
    const spoken = new Promise<void>((resolve) => {
      speaks = resolve;
    });
    const ran = await runTeam(team, {
      files,
      turns: [],
      model: {
        ...model,
        async stream(request, sink) {
          const next = nextOf(request);
          if (next === undefined) speaks();
          if (next === 'mid' && request.turn === 2) await spoken;
          return model.stream(request, sink);
        },
      },
      runtime: { store },
    });
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'action_failed' } });
    expect(ends(store.written)).toEqual(['2 session.cancelled', '1 session.cancelled', '0 session.failed']);
  });

  it('are let go of with their caller, and go on with it', async () => {
    const store = createRecordingStore();
    const model = hanging([CALL]);
    const patient: Model = {
      ...model,
      async stream(request, sink) {
        if (nextOf(request) !== undefined) return model.stream(request, sink);
        sink.text('</thought><response>At last.</response>');
        return { finish: 'stop' };
      },
    };
    await runTeam(team, {
      files,
      turns: [],
      model,
      runtime: { store },
      async during(session, runtime) {
        await deepAtWork(session, runtime);
        await session.interrupt();
      },
      async after(session, runtime) {
        expect(ends(store.written)).toEqual([]);
        for (const id of [session, `${session}.a1`, `${session}.a1.b1`])
          expect(await runtime.store.info(id)).toMatchObject({ status: 'running' });
        const resumed = await runtime.resume(session, { model: patient });
        expect(await resumed.result).toMatchObject({ status: 'completed', result: 'At last.' });
        const deep = await runtime.events(`${session}.a1.b1`);
        expect(deep.filter(({ type }) => type === 'session.resumed')).toMatchObject([{ by: 'parent' }]);
        const copied = (await runtime.events(`${session}.a1`)).flatMap((event) =>
          'child' in event ? [event.child.seq] : [],
        );
        expect(copied).toEqual([...new Set(copied)].toSorted((a, b) => a - b));
      },
    });
  });

  it('are let go of when the runtime is closed', async () => {
    const store = createRecordingStore();
    await runTeam(team, {
      files,
      turns: [],
      model: hanging([CALL]),
      runtime: { store },
      async during(session, runtime) {
        await deepAtWork(session, runtime);
        await runtime.close();
        expect(await session.result).toMatchObject({ status: 'interrupted' });
        expect(await store.info(`${session.id}.a1.b1`)).not.toHaveProperty('owner');
      },
    });
    expect(ends(store.written)).toEqual([]);
  });

  it('are cancelled when the time of the action is over', async () => {
    const clock = createSimulatedClock();
    const ran = await runTeam(team, {
      files,
      clock,
      turns: [],
      model: hanging([call('a1', 'mid', { timeout: 20 }, 'sync')]),
      async during(session, runtime) {
        await deepAtWork(session, runtime);
        await clock.advance(20_000);
      },
    });
    expect(ran.of('action.failed')).toMatchObject([{ id: 'a1', error: { code: 'timeout' } }]);
    expect(ran.childOf('a1', 'session.cancelled')).toMatchObject([
      { by: 'parent', reason: expect.stringContaining('took longer') },
    ]);
    expect(ran.childOf('a1.b1', 'session.cancelled')).toHaveLength(1);
    expect(ran.result.status).toBe('completed');
  });

  it('are cancelled when the time of the caller is over', async () => {
    const clock = createSimulatedClock();
    const store = createRecordingStore();
    const ran = await runTeam(team, {
      files,
      clock,
      manifest: 'limits: { wall: 60s }\n',
      turns: [],
      model: hanging([CALL]),
      runtime: { store },
      async during(session, runtime) {
        await deepAtWork(session, runtime);
        await clock.advance(60_000);
      },
    });
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'limit_wall' } });
    expect(ends(store.written)).toEqual(['2 session.cancelled', '1 session.cancelled', '0 session.failed']);
  });

  it('that nobody waits for get five seconds at the end, and are then cancelled', async () => {
    const clock = createSimulatedClock();
    const store = createRecordingStore();
    const ran = await runTeam(team, {
      files,
      clock,
      turns: [],
      model: hanging([`${call('a1', 'mid', {}, 'fire_and_forget')}<response>Bye.</response>`]),
      runtime: { store },
      async during(session, runtime) {
        await deepAtWork(session, runtime);
        await clock.advance(4_900);
        expect(ends(store.written)).toEqual([]);
        await clock.advance(200);
        await session.result;
      },
    });
    expect(ran.result).toMatchObject({ status: 'completed', result: 'Bye.' });
    expect(ends(store.written)).toEqual([
      '2 session.cancelled',
      '1 session.cancelled',
      '0 session.completed',
    ]);
  });
});

describe('a sub-agent that is cancelled by itself', () => {
  it('fails the action that called it', async () => {
    const ran = await runTeam(team, {
      files,
      turns: [],
      model: hanging([call('a1', 'mid', {}, 'sync')]),
      async during(session, runtime) {
        await deepAtWork(session, runtime);
        await runtime.cancel(`${session.id}.a1`, 'not that one');
      },
    });
    expect(ran.of('action.failed')).toMatchObject([{ id: 'a1', error: { code: 'agent_cancelled' } }]);
    expect(ran.childOf('a1', 'session.cancelled')).toMatchObject([{ by: 'user', reason: 'not that one' }]);
    expect(ran.result.status).toBe('completed');
  });
});

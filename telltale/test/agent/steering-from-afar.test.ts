import { describe, expect, it } from 'vitest';
import { steerSession } from '../../src/agent/messages.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { encodeEvent } from '../../src/log/codec.ts';
import type { EventBody } from '../../src/log/event.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { eventually } from '../store/eventually.ts';

const STARTED: EventBody = {
  type: 'session.started',
  agent: 'a',
  input: 'Go.',
  model: 'none',
  manifest: { path: '', hash: '' },
};
const FINAL: EventBody = { type: 'response', text: 'Done.', final: true };
const COMPLETED: EventBody = { type: 'session.completed', result: 'Done.' };

/** A session that another process works on, which writes what it is told to and reads its inbox when it is told to. */
async function scene(clock = createSystemClock()) {
  const store = createMemoryStore({ clock });
  const writer = await store.create('s', { kind: 'session', name: 'a', status: 'running', title: '' });
  let head = 0;
  const write = (bodies: readonly EventBody[], extra: { status?: string; consumed?: number[] } = {}) => {
    const expectedSeq = head;
    const front = { at: 0, session: 's', turn: 0, cause: { stream: 's', seq: 0, depth: 0 } };
    const events = bodies.map((body) => encodeEvent({ ...front, seq: ++head }, body));
    return new Promise<void>((resolve, reject) =>
      writer.append({ expectedSeq, events, ...extra }, (error) =>
        error === undefined ? resolve() : reject(error),
      ),
    );
  };
  await write([STARTED]);
  /** The steer, and the number that it has once it lies in the inbox. */
  const steer = async () => {
    const steered = steerSession({ store, clock }, 's', 'Wait.').then(
      () => 'told',
      (error: unknown) => error,
    );
    await eventually(async () => expect(await writer.inbox()).toHaveLength(1));
    const [message] = await writer.inbox();
    return { steered, id: message?.id ?? 0 };
  };
  return { writer, write, steer, clock };
}

describe('a message that another process sends in the last moments of a session', () => {
  const refused = { code: 'session_completed' };

  it('is refused where the final response comes onto the log without it', async () => {
    const { write, steer } = await scene();
    const { steered } = await steer();
    await write([FINAL]);
    expect(await steered).toMatchObject(refused);
  });

  it('is refused where the session completes and is let go of without it', async () => {
    const { writer, write, steer } = await scene();
    const { steered } = await steer();
    await write([FINAL, COMPLETED], { status: 'completed' });
    await writer.release();
    expect(await steered).toMatchObject(refused);
  });

  it('is taken where it is on the log before the end', async () => {
    const { writer, write, steer } = await scene();
    const { steered, id } = await steer();
    await write([{ type: 'message.received', from: 'steer', text: 'Wait.' }], { consumed: [id] });
    await write([FINAL, COMPLETED], { status: 'completed' });
    await writer.release();
    expect(await steered).toBe('told');
  });

  it('is taken where the session is let go of before its end: it waits for the resume', async () => {
    const { writer, steer } = await scene();
    const { steered } = await steer();
    await writer.release();
    expect(await steered).toBe('told');
  });

  it('keeps its sender no longer than two seconds where the owner does nothing', async () => {
    const clock = createSimulatedClock();
    const { steer } = await scene(clock);
    const { steered } = await steer();
    let isOver = false;
    void steered.then(() => {
      isOver = true;
    });
    await clock.advance(1_500);
    expect(isOver).toBe(false);
    await clock.advance(600);
    expect(await steered).toBe('told');
  });
});

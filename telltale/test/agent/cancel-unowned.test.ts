import { expect, it } from 'vitest';
import { cancelUnowned } from '../../src/agent/ending/cancel-unowned.ts';
import type { Session } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { EventOf, SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { modelCancelled } from '../../src/models/model-errors.ts';
import { modelFacts } from '../../src/models/prices.ts';
import { call, calls, runTeam } from './children/run-team.ts';
import { runAgent } from './run-agent.ts';

const PRICED = 'anthropic/claude-opus-5';
const price = modelFacts(PRICED)?.price ?? { input: 0, output: 0 };
const ends = { reason: 'enough', by: 'ann', clock: createSystemClock() };

/** Says what `say` gives, and then nothing more until it is stopped. */
const hanging = (say: (system: string, turn: number) => string): Model => ({
  id: PRICED,
  price,
  async stream({ system, turn, signal }, sink) {
    await undefined;
    const text = say(system, turn);
    sink.text(text);
    if (text.endsWith('</action>')) return { finish: 'stop' };
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    throw modelCancelled(PRICED);
  },
});

const written = (session: Session, is: (event: SessionEvent) => boolean) =>
  new Promise<void>((resolve) => {
    const forget = session.subscribe((event) => {
      if (!('seq' in event) || !is(event)) return;
      forget();
      resolve();
    });
  });

const lastOf = <Type extends SessionEvent['type']>(events: readonly SessionEvent[], type: Type) =>
  events.findLast((event): event is EventOf<Type> & SessionEvent => event.type === type);

it('a session that nobody works on is cancelled in mid-turn with what that turn had used', async () => {
  expect.hasAssertions();
  const thoughts = Array.from({ length: 600 }, (_, n) => `<thought>${n}</thought>`).join('');
  const ran = await runAgent({
    turns: [],
    model: hanging((_system, turn) => (turn === 1 ? '<action id="a">{"name":"echo"}</action>' : thoughts)),
    async during(session) {
      await written(session, (event) => event.type === 'thought' && event.text === '599');
      await session.interrupt();
    },
    async after(session, runtime) {
      expect(await cancelUnowned(runtime, session, ends)).toBe('ended');
      const events = await runtime.events(session);
      const { prompt } = lastOf(events, 'turn.started') ?? {};
      const said = events.flatMap((event) =>
        event.type === 'model.output' && event.turn === 2 ? event.text : [],
      );
      const usage = lastOf(events, 'turn.failed')?.usage;
      expect(usage).toMatchObject({ input: prompt?.tokens, estimated: true });
      expect(said.join('')).toBe(thoughts);
      expect(usage?.output).toBeGreaterThan(thoughts.length / 10);
      const { totals, status } = await runtime.state(session);
      expect(status).toBe('cancelled');
      const before = lastOf(events, 'turn.completed');
      expect(totals.input).toBe((before?.usage.input ?? 0) + (usage?.input ?? 0));
      expect(totals.output).toBe((before?.usage.output ?? 0) + (usage?.output ?? 0));
      expect(totals.cost_usd).toBeCloseTo(
        (totals.input * price.input + totals.output * price.output) / 1_000_000,
        9,
      );
    },
  });
  expect(ran.result.status).toBe('interrupted');
});

it('what a sub-agent had used that is cancelled with it counts for its caller', async () => {
  expect.hasAssertions();
  await runTeam(
    { helper: {} },
    {
      turns: [],
      model: hanging((system) =>
        calls({ system }, 'helper') ? call('a1', 'helper') : '<thought>I am at it.</thought>',
      ),
      async during(session, runtime) {
        await expect
          .poll(() => runtime.events(`${session.id}.a1`).catch(() => []))
          .toContainEqual(expect.objectContaining({ type: 'thought' }));
        await session.interrupt();
      },
      async after(session, runtime) {
        const before = (await runtime.state(session)).totals;
        expect(await cancelUnowned(runtime, session, ends)).toBe('ended');
        const child = (await runtime.state(`${session}.a1`)).totals;
        const { totals, status } = await runtime.state(session);
        expect(status).toBe('cancelled');
        expect(child.input).toBeGreaterThan(0);
        expect(totals).toMatchObject({
          input: before.input + child.input,
          output: before.output + child.output,
        });
        expect(totals.cost_usd).toBeCloseTo(before.cost_usd + child.cost_usd, 9);
      },
    },
  );
});

it('session.cancel ends a session that was let go of by then', async () => {
  expect.hasAssertions();
  let held: Session | undefined;
  await runAgent({
    turns: [],
    model: hanging(() => '<thought>I am at it.</thought>'),
    async during(session) {
      held = session;
      await written(session, ({ type }) => type === 'thought');
      await session.interrupt();
    },
    async after(session, runtime) {
      await held?.cancel('not needed');
      const events = await runtime.events(session);
      expect(events.at(-1)).toMatchObject({ type: 'session.cancelled', reason: 'not needed', by: 'user' });
      await held?.cancel('once more');
      expect(await runtime.events(session)).toEqual(events);
    },
  });
});

it('runtime.cancel ends a session that nobody works on at once', async () => {
  expect.hasAssertions();
  await runAgent({
    turns: [],
    model: hanging(() => '<thought>I am at it.</thought>'),
    async during(session) {
      await written(session, ({ type }) => type === 'thought');
      await session.interrupt();
    },
    async after(session, runtime) {
      await runtime.cancel(session, 'not needed', 'ann');
      expect((await runtime.store.info(session))?.status).toBe('cancelled');
      expect(await runtime.state(session)).toMatchObject({ status: 'cancelled' });
      const events = await runtime.events(session);
      expect(events.at(-1)).toMatchObject({ type: 'session.cancelled', reason: 'not needed', by: 'ann' });
      // One that has ended stays as it is, and nothing lies in wait for who resumes it.
      await runtime.cancel(session, 'once more');
      expect(await runtime.events(session)).toEqual(events);
      expect(await runtime.store.upkeep.inbox(session)).toEqual([]);
      await expect(runtime.cancel('ses_none')).rejects.toMatchObject({ code: 'session_unknown' });
    },
  });
});

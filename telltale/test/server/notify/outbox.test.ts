import { expect, it } from 'vitest';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { createOutbox, type OutboxRow, outboxId } from '../../../src/server/notify/outbox.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';

it('of what was sent and of what was given up the newest thousand are kept, whichever come in between', async () => {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  const outbox = createOutbox(tables);
  const row = (n: number) =>
    ({
      id: outboxId(n, 'a', 'a', 'c', n),
      agent: 'a',
      channel: 'c',
      at: n,
      message: `${n}`,
      data: {},
      tries: 0,
      about: 'notify',
      of: 'session',
      stream: 's',
      seq: n,
      nextAt: 0,
    }) as unknown as OutboxRow;
  for (let n = 0; n < 2_600; n += 2) {
    await outbox.add(row(n));
    await outbox.move(row(n), 'waiting', row(n), 'sent');
    await outbox.add(row(n + 1), 'dead');
  }
  for (const [status, newest] of [
    ['sent', 2_598],
    ['dead', 2_599],
  ] as const) {
    const kept = await outbox.list(status, undefined, 2_000);
    expect(kept.length).toBeLessThanOrEqual(1_100);
    expect(kept.length).toBeGreaterThanOrEqual(1_000);
    expect(kept[0]).toMatchObject({ message: `${newest}` });
  }
  expect(await outbox.waiting(10)).toEqual([]);
});

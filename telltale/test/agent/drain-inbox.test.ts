import { expect, it } from 'vitest';
import { drainWhenWoken } from '../../src/agent/inbox.ts';
import type { InboxMessage } from '../../src/store/store.ts';

/** More than a reading takes. */
const STEPS = 12;

it('a message is read at whatever step of the reading of another it comes', async () => {
  for (let step = 0; step < STEPS; step++) {
    const inbox: InboxMessage[] = [];
    const read: number[] = [];
    let wake = () => {};
    drainWhenWoken({
      writer: {
        inbox: async () => [...inbox],
        onWake(then) {
          wake = then;
          return () => undefined;
        },
      },
      receive: ({ id }) => void read.push(id),
      onError(thrown) {
        throw thrown;
      },
      handled: 0,
      draining: undefined,
      again: false,
      closed: false,
    });
    const send = (id: number) => {
      inbox.push({ id, at: 0, kind: 'steer', from: 'user', body: '' });
      wake();
    };
    send(1);
    for (let passed = 0; passed < step; passed++) await undefined;
    send(2);
    await new Promise(setImmediate);
    expect({ step, read }).toEqual({ step, read: [1, 2] });
  }
});

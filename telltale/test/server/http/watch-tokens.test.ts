import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { createTokenWatch } from '../../../src/server/http/access.ts';

const CALLER = { name: 'ann', by: 'token:ann', role: 'read' } as const;

/** An answer that is being written, as far as a watch knows it. */
function openAnswer() {
  const answer = Object.assign(new EventEmitter(), {
    destroyed: false,
    destroy() {
      answer.destroyed = true;
      answer.emit('close');
    },
  });
  return answer as unknown as ServerResponse;
}

function watching(check: (token: string) => Promise<typeof CALLER | undefined>) {
  const clock = createSimulatedClock();
  const looked: string[] = [];
  const watch = createTokenWatch(
    {
      check(token) {
        looked.push(token);
        return check(token);
      },
    },
    clock,
  );
  return { clock, watch, looked };
}

it('the tokens of open answers are looked up every five seconds, each once, and no longer than one is open', async () => {
  const { clock, watch, looked } = watching(async () => CALLER);
  const answers = [openAnswer(), openAnswer(), openAnswer()] as const;
  watch.add('a', answers[0]);
  watch.add('a', answers[1]);
  watch.add('b', answers[2]);
  await clock.advance(4_999);
  expect(looked).toEqual([]);
  await clock.advance(1);
  expect(looked).toEqual(['a', 'b']);
  answers[0].destroy();
  answers[2].destroy();
  await clock.advance(5_000);
  expect(looked).toEqual(['a', 'b', 'a']);
  answers[1].destroy();
  await clock.advance(60_000);
  expect(looked).toHaveLength(3);
});

it('an answer that is over already is not watched', async () => {
  const { clock, watch, looked } = watching(async () => undefined);
  const answer = openAnswer();
  answer.destroy();
  watch.add('a', answer);
  await clock.advance(60_000);
  expect(looked).toEqual([]);
});

it('a store that does not answer has revoked nothing, and is asked again', async () => {
  let fails = true;
  const { clock, watch, looked } = watching(async () => {
    if (fails) throw new Error('of the store');
    return undefined;
  });
  const answer = openAnswer();
  watch.add('a', answer);
  await clock.advance(5_000);
  expect([looked.length, answer.destroyed]).toEqual([1, false]);
  fails = false;
  await clock.advance(5_000);
  expect([looked.length, answer.destroyed]).toEqual([2, true]);
});

it('what is opened while tokens are looked up, all others gone, is looked up as often as any', async () => {
  let answered = (): void => undefined;
  const { clock, watch, looked } = watching(
    () =>
      new Promise((resolve) => {
        answered = () => resolve(CALLER);
      }),
  );
  const first = openAnswer();
  watch.add('a', first);
  await clock.advance(5_000);
  first.destroy();
  watch.add('b', openAnswer());
  answered();
  await clock.advance(5_000);
  answered();
  await clock.advance(5_000);
  answered();
  await clock.advance(5_000);
  expect(looked).toEqual(['a', 'b', 'b', 'b']);
});

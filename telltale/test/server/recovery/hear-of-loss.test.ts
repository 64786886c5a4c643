import { expect, it } from 'vitest';
import type { SessionResult } from '../../../src/agent/runtime-types.ts';
import { RuntimeError } from '../../../src/lib/errors.ts';
import { hearOfLoss } from '../../../src/server/recovery/pick-up.ts';

const ended = (end: Pick<SessionResult, 'status' | 'error'>): Promise<SessionResult> =>
  Promise.resolve({ session: 'ses_a', turns: 0, usage: { input: 0, output: 0 }, cost_usd: 0, ...end });

async function heard(result: Promise<SessionResult>): Promise<readonly unknown[]> {
  const told: unknown[] = [];
  hearOfLoss({ result }, (thrown) => told.push(thrown));
  await result.catch(() => undefined);
  await Promise.resolve();
  return told;
}

const error = (code: string) =>
  new RuntimeError(code, 'It went wrong.', { hint: 'Mend it.', retryable: true });

it('a session whose log cannot be written, or that could not begin, is told of', async () => {
  const full = error('store_full');
  expect(await heard(ended({ status: 'interrupted', error: full.toJSON() }))).toEqual([full]);
  const [told] = await heard(ended({ status: 'interrupted', error: full.toJSON() }));
  expect(told).toMatchObject({ code: 'store_full', hint: 'Mend it.', retryable: true });
  expect(await heard(Promise.reject(full))).toEqual([full]);
});

it('one that was let go of, that another took, or whose log says how it ended, is not', async () => {
  expect(await heard(ended({ status: 'interrupted' }))).toEqual([]);
  expect(await heard(ended({ status: 'interrupted', error: error('stream_lost').toJSON() }))).toEqual([]);
  expect(await heard(ended({ status: 'failed', error: error('store_full').toJSON() }))).toEqual([]);
});

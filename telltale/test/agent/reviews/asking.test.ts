import { describe, expect, it } from 'vitest';
import type { PermissionRequestsDeps } from '../../../src/agent/reviews/ask-people.ts';
import { createPermissionRequests } from '../../../src/agent/reviews/ask-people.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { Cause, EventBody, EventOf } from '../../../src/log/event.ts';
import { openReviews, reviewOf } from '../../../src/log/reviews.ts';
import type { Review } from '../../../src/log/state.ts';
import type { TableWrite } from '../../../src/store/store.ts';
import { createFolding, declared, STARTED, TURN } from '../../log/fold-bodies.ts';

type Beside = { readonly writes?: readonly TableWrite[]; readonly consumed?: readonly number[] };
type Call = Parameters<ReturnType<typeof createPermissionRequests>['ask']>[0];

const NEED = { target: 'tool "pay"', what: 'pay 3', because: 'approval: always', grants: ['call pay'] };
const OUTSIDE = { stream: 'ses_test', seq: 0, depth: 0 };

/** Questions on a log without a session: what is appended is folded. */
function stage(approve?: PermissionRequestsDeps['approve']) {
  const { state, fold } = createFolding();
  fold(STARTED, TURN, declared('a', { name: 'pay' }));
  const appended: { readonly body: EventBody; readonly cause?: Cause; readonly beside?: Beside }[] = [];
  let changes = 0;
  const log = {
    state,
    append(body: EventBody, cause?: Cause, beside?: Beside) {
      appended.push({ body, ...(cause && { cause }), ...(beside && { beside }) });
      fold(body);
      return OUTSIDE;
    },
  };
  const asking = createPermissionRequests({
    log: log as never,
    clock: createSystemClock(),
    agent: () => ({}),
    approve,
    changed: () => changes++,
  });
  const control = new AbortController();
  const target = { needs: async () => NEED as typeof NEED | undefined, definition: () => 'v1' };
  const call = (input: object = { amount: 3 }, more: object = {}): Call =>
    ({
      action: state.actions.get('a')?.action,
      input,
      signal: control.signal,
      target: { ...target, ...more },
    }) as never;
  const bodies = (type: EventBody['type']) =>
    appended.flatMap(({ body }) => (body.type === type ? [body] : []));
  const only = (): Review => openReviews(state)[0] as Review;
  return { asking, call, state, appended, bodies, only, control, changes: () => changes };
}

const asked = async (given = stage()) => {
  const answer = given.asking.ask(given.call(), NEED);
  await expect.poll(() => openReviews(given.state).length).toBe(1);
  return { ...given, answer, review: given.only().review };
};

describe('a question to a person', () => {
  it('is on the log with what is asked and why, and in the table of those that are open', async () => {
    const { appended, review } = await asked();
    expect(appended).toMatchObject([
      {
        body: {
          type: 'review.requested',
          review,
          action: 'a',
          target: 'tool "pay"',
          what: 'pay 3',
          because: 'approval: always',
          input: { amount: 3 },
          grants: ['call pay'],
          definition: 'v1',
        },
        beside: { writes: [{ table: 'reviews', key: review }] },
      },
    ]);
  });

  it.each([
    ['approved', undefined],
    ['rejected', { code: 'not_permitted', message: expect.stringContaining('(ann): No') }],
  ] as const)('is answered once: %s', async (said, error) => {
    const { asking, answer, review, appended } = await asked();
    expect(asking.decide('rev_other', { answer: said, by: 'ann' })).toBe(false);
    expect(asking.decide(review, { answer: said, by: 'ann', note: 'No.', key: 'k' }, [7])).toBe(true);
    expect(asking.decide(review, { answer: 'rejected', by: 'bob' })).toBe(false);
    if (error === undefined) expect(await answer).toBeUndefined();
    else expect(await answer).toMatchObject(error);
    expect(appended.slice(1)).toMatchObject([
      {
        body: { type: 'review.resolved', review, answer: said, by: 'ann', note: 'No.', key: 'k' },
        cause: OUTSIDE,
        beside: { consumed: [7], writes: expect.arrayContaining([expect.objectContaining({ key: review })]) },
      },
    ]);
  });

  it('is withdrawn with its action, which comes of what withdrew it', async () => {
    const { answer, control, appended } = await asked();
    control.abort();
    expect(await answer).toMatchObject({ code: 'cancelled' });
    expect(appended[1]).toMatchObject({ body: { answer: 'withdrawn', by: 'runtime' } });
    expect(appended[1]).not.toHaveProperty('cause');
  });

  it('is not put where nobody has to be asked, or the action is cancelled by then', async () => {
    const free = stage();
    expect(await free.asking.ask(free.call(), Promise.resolve(undefined))).toBeUndefined();
    const late = stage();
    late.control.abort();
    expect(await late.asking.ask(late.call(), NEED)).toBeUndefined();
    expect([...free.appended, ...late.appended]).toEqual([]);
    expect([free.asking.isBusy(), free.changes() > 0]).toEqual([false, true]);
  });
});

describe('a person who is asked in this process', () => {
  it.each([
    [true, { answer: 'approved', by: 'approve' }],
    [false, { answer: 'rejected', by: 'approve' }],
    [
      { approved: false, by: 'ann', note: 'No.' },
      { answer: 'rejected', by: 'ann', note: 'No.' },
    ],
  ] as const)('decides: %o', async (said, decided) => {
    const { asking, call, bodies } = stage(async () => said as never);
    await asking.ask(call(), NEED);
    expect(bodies('review.resolved')).toMatchObject([decided]);
    await expect.poll(() => asking.isBusy()).toBe(false);
  });

  it('who cannot be asked has refused, and the log says why', async () => {
    const { asking, call, bodies } = stage(async () => {
      throw new Error('The line is dead.');
    });
    expect(await asking.ask(call(), NEED)).toMatchObject({ code: 'not_permitted' });
    expect(bodies('review.resolved')).toMatchObject([
      { answer: 'rejected', by: 'runtime', note: 'it was not possible to ask a person: The line is dead.' },
    ]);
  });

  it.each([undefined, null, 'yes', {}])(
    'who answers with %o has refused, and the log says why',
    async (said) => {
      const { asking, call, bodies } = stage(async () => said as never);
      await asking.ask(call(), NEED);
      expect(bodies('review.resolved')).toMatchObject([
        { answer: 'rejected', by: 'runtime', note: expect.stringContaining('"approve" gave no answer') },
      ]);
    },
  );

  it('is not asked any more once another has answered, and what they say then does not count', async () => {
    let said: (approved: boolean) => void = () => {};
    const given = stage(
      ({ signal }) =>
        new Promise((resolve) => {
          said = resolve;
          signal.addEventListener('abort', () => resolve(false));
        }),
    );
    const { asking, answer, review, bodies } = await asked(given);
    expect(asking.isBusy()).toBe(true);
    asking.decide(review, { answer: 'approved', by: 'ann' });
    expect(await answer).toBeUndefined();
    said(false);
    await expect.poll(() => asking.isBusy()).toBe(false);
    expect(bodies('review.resolved')).toMatchObject([{ answer: 'approved', by: 'ann' }]);
  });
});

describe('a question that was put before a restart', () => {
  const before = async (answered?: 'approved' | 'rejected') => {
    const given = await asked();
    if (answered !== undefined) given.asking.decide(given.review, { answer: answered, by: 'ann' });
    given.appended.splice(0);
    return { ...given, known: given.state.reviews[0] as Review };
  };

  it('is the same where the call is: it waits on, or its answer counts', async () => {
    const open = await before();
    const again = open.asking.askAgain(open.known, open.call());
    await expect.poll(() => open.asking.isBusy()).toBe(false);
    open.asking.decide(open.review, { answer: 'approved', by: 'ann' });
    expect(await again).toBeUndefined();
    expect(open.bodies('review.requested')).toEqual([]);
    const approved = await before('approved');
    expect(await approved.asking.askAgain(approved.known, approved.call())).toBeUndefined();
    expect(approved.appended).toEqual([]);
    const rejected = await before('rejected');
    expect(await rejected.asking.askAgain(rejected.known, rejected.call())).toMatchObject({
      code: 'not_permitted',
    });
  });

  it.each([
    [undefined, 'review.resolved', { answer: 'withdrawn', by: 'runtime' }],
    ['approved', 'review.voided', { changed: ['"amount" is 300, and was 3'] }],
  ] as const)('is asked anew where the call is another: %s', async (answer, type, how) => {
    const { asking, known, call, review, bodies, state, control } = await before(answer);
    const again = asking.askAgain(known, call({ amount: 300 }));
    await expect.poll(() => bodies('review.requested').length).toBe(1);
    expect(bodies(type)).toMatchObject([{ review, ...how }]);
    const [request] = bodies('review.requested') as EventOf<'review.requested'>[];
    expect(request).toMatchObject({ input: { amount: 300 }, replaces: { review } });
    expect(openReviews(state).map(({ review: id }) => id)).toEqual([request?.review]);
    expect(reviewOf(state, 'a')?.review).toBe(request?.review);
    control.abort();
    expect(await again).toMatchObject({ code: 'cancelled' });
  });

  it('is withdrawn where no approval is needed any more, or where nobody can tell', async () => {
    const free = await before();
    const none = free.call({ amount: 3 }, { needs: async () => undefined });
    expect(await free.asking.askAgain(free.known, none)).toBeUndefined();
    expect(free.bodies('review.resolved')).toMatchObject([
      { answer: 'withdrawn', note: 'no approval is needed any more' },
    ]);
    const broken = await before();
    const throws = broken.call({ amount: 3 }, { needs: () => Promise.reject(new Error('No such path.')) });
    await expect(broken.asking.askAgain(broken.known, throws)).rejects.toThrow('No such path.');
    expect(broken.bodies('review.resolved')).toMatchObject([{ answer: 'withdrawn', note: 'No such path.' }]);
    expect(broken.asking.isBusy()).toBe(false);
  });

  it('counts for what was approved and for nothing else when the call is about to be made', async () => {
    const { asking, known, call, bodies, review } = await before('approved');
    expect(await asking.confirm(known, call())).toEqual(['call pay']);
    await expect(
      asking.confirm(known, call({ amount: 3 }, { definition: () => 'v2' })),
    ).rejects.toMatchObject({
      code: 'approval_void',
    });
    expect(bodies('review.voided')).toMatchObject([{ review }]);
  });
});

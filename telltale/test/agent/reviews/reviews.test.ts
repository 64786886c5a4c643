import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import type { RuntimeOptions, StartOptions } from '../../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { EventOf, EventType, SessionEvent } from '../../../src/log/event.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { agentFolder, tool } from '../run-agent.ts';

const MANIFEST = 'import: { tools: ["./tools/*.yml"] }\n';
const FILES = {
  ...tool('deploy', 'return `deployed ${input.to}`;', 'approval: always\n'),
  ...tool('look', 'return "seen";'),
};
const DEPLOY = '<action id="d">{"name":"deploy","parameters":{"to":"prod"}}</action>';
const DONE = '<response>Done.</response>';

/** An agent, a store, and runtimes on it one after the other. */
async function scene(turns: readonly string[], manifest = MANIFEST) {
  const folder = agentFolder(manifest, FILES);
  const store = createMemoryStore({ clock: createSystemClock() });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const open = async (options: RuntimeOptions = {}) => {
    const runtime = await createRuntime({ store, cwd: folder, ...options });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const model = createScriptedModel({ id: 'scripted:test', turns, clock: createSystemClock() });
  const start: StartOptions = { input: 'Go.', model, id: 'ses_test' };
  const resume = { agent, model };
  return { agent, open, start, resume };
}

const of = <Type extends EventType>(events: readonly SessionEvent[], type: Type) =>
  events.filter((event) => event.type === type) as unknown as readonly EventOf<Type>[];

const briefly = (events: readonly SessionEvent[]) =>
  events.flatMap((event) =>
    /^(action|review|session)\./.test(event.type)
      ? [event.type === 'review.resolved' ? `review.${event.answer}` : event.type]
      : [],
  );

describe('an action that a person has to approve', () => {
  it('is asked about before it starts, and the answer is on the log with who gave it', async () => {
    const { agent, open, start } = await scene([DEPLOY, DONE]);
    const asked: unknown[] = [];
    const runtime = await open({
      approve: async ({ what, target, input }) => {
        asked.push({ what, target, input });
        return { approved: true, by: 'ann' };
      },
    });
    const { status } = await runtime.start(agent, start).result;
    expect(status).toBe('completed');
    expect(asked).toEqual([{ what: 'call tool "deploy"', target: 'tool "deploy"', input: { to: 'prod' } }]);
    const events = await runtime.events('ses_test');
    expect(briefly(events)).toEqual([
      'session.started',
      'action.declared',
      'review.requested',
      'review.approved',
      'action.started',
      'action.completed',
      'session.completed',
    ]);
    expect(of(events, 'review.resolved')).toMatchObject([{ answer: 'approved', by: 'ann' }]);
    expect(await runtime.reviews()).toEqual([]);
  });

  it.each([
    ['no', async () => false, 'approve'],
    ['no, with a reason', async () => ({ approved: false, by: 'bob', note: 'not on Fridays' }), 'bob'],
    [
      'an error',
      () => {
        throw new Error('no terminal');
      },
      'runtime',
    ],
  ])('fails as not_permitted on %s, without having started', async (_what, approve, by) => {
    const { agent, open, start } = await scene([DEPLOY, DONE]);
    const runtime = await open({ approve });
    await runtime.start(agent, start).result;
    const events = await runtime.events('ses_test');
    expect(of(events, 'action.failed')[0]?.error.code).toBe('not_permitted');
    expect(of(events, 'action.started')).toEqual([]);
    expect(of(events, 'review.resolved')).toMatchObject([{ answer: 'rejected', by }]);
    if (by === 'bob')
      expect(of(events, 'action.failed')[0]?.error.message).toContain('(bob): not on Fridays');
  });

  it('does not hold up the others', async () => {
    const look = '<action id="l" mode="sync">{"name":"look"}</action>';
    const { agent, open, start } = await scene(
      [`${DEPLOY}${look}`, DONE],
      `${MANIFEST}limits: { parallel_actions: 1 }\n`,
    );
    const runtime = await open({ approve: async () => true });
    expect((await runtime.start(agent, start).result).status).toBe('completed');
  });
});

describe('where nobody can be asked in this process', () => {
  it('the session is let go of as waiting, answered from elsewhere, and goes on where it was', async () => {
    const { agent, open, start, resume } = await scene([DEPLOY, DONE]);
    const first = await open();
    const result = await first.start(agent, start).result;
    expect(result).toMatchObject({
      status: 'waiting',
      turns: 1,
      reviews: [{ action: 'd', what: 'call tool "deploy"' }],
    });
    expect((await first.store.info('ses_test'))?.status).toBe('waiting');
    const [open1] = await first.reviews();
    expect(open1).toMatchObject({
      session: 'ses_test',
      agent: 'tester',
      action: 'd',
      target: 'tool "deploy"',
    });
    await first.close();

    const other = await open();
    const review = open1?.review ?? '';
    expect(await other.answer(review, { approved: true, by: 'ann', note: 'go' })).toMatchObject({
      outcome: 'resolved',
    });
    expect(await other.reviews()).toEqual([]);
    await expect(other.answer(review, { approved: false })).rejects.toMatchObject({
      code: 'review_answered',
    });
    await other.close();

    const last = await open();
    const session = await last.resume('ses_test', resume);
    expect((await session.result).status).toBe('completed');
    const events = await last.events('ses_test');
    expect(briefly(events)).toEqual([
      'session.started',
      'action.declared',
      'review.requested',
      'session.waiting',
      'review.approved',
      'session.resumed',
      'action.started',
      'action.completed',
      'session.completed',
    ]);
    expect(of(events, 'session.waiting')[0]?.for).toBe(`review ${review}`);
    expect(of(events, 'turn.started')).toHaveLength(2);
  });

  it('a session that is resumed without an answer waits again, for the same review', async () => {
    const { agent, open, start, resume } = await scene([DEPLOY, DONE]);
    const runtime = await open();
    await runtime.start(agent, start).result;
    const again = await (await runtime.resume('ses_test', resume)).result;
    expect(again.status).toBe('waiting');
    const events = await runtime.events('ses_test');
    expect(of(events, 'review.requested')).toHaveLength(1);
    expect(of(events, 'action.declared')).toHaveLength(1);
  });

  it('one that is resumed where a person can be asked asks about the open review', async () => {
    const { agent, open, start, resume } = await scene([DEPLOY, DONE]);
    const first = await open();
    await first.start(agent, start).result;
    await first.close();
    const second = await open({ approve: async () => true });
    expect((await (await second.resume('ses_test', resume)).result).status).toBe('completed');
    expect(of(await second.events('ses_test'), 'review.requested')).toHaveLength(1);
  });

  it('an answer that lies in the inbox counts when the session is resumed', async () => {
    const { agent, open, start, resume } = await scene([DEPLOY, DONE]);
    const runtime = await open();
    const { reviews } = await runtime.start(agent, start).result;
    const review = reviews?.[0]?.review ?? '';
    const send = (answer: string) =>
      runtime.store.send('ses_test', { kind: 'review', from: 'ann', body: { review, answer } });
    await send('rejected');
    await send('approved'); // a decision counts once
    await (await runtime.resume('ses_test', resume)).result;
    const events = await runtime.events('ses_test');
    expect(of(events, 'review.resolved')).toMatchObject([{ answer: 'rejected', by: 'ann' }]);
    expect(of(events, 'action.failed')[0]?.error.code).toBe('not_permitted');
    expect(of(events, 'audit')[0]?.what).toContain('approved');
  });

  it('a held session stays, and goes on as soon as it is answered', async () => {
    const { agent, open, start } = await scene([DEPLOY, DONE]);
    const runtime = await open({ onWaiting: 'hold' });
    const session = runtime.start(agent, start);
    let review: string | undefined;
    for (let tries = 0; review === undefined && tries < 1_000; tries++) {
      const { status } = (await runtime.store.info('ses_test')) ?? {};
      if (status === 'waiting') review = (await runtime.reviews())[0]?.review;
      else await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const answered = await runtime.answer(review ?? '', { approved: true, by: 'ann' });
    expect(answered.outcome).toBe('resolved');
    expect((await session.result).status).toBe('completed');
  });

  it('the model is not asked again as long as there is nothing new', async () => {
    const { agent, open, start } = await scene([DEPLOY, '<thought>too early</thought>']);
    const runtime = await open();
    const { status, turns } = await runtime.start(agent, start).result;
    expect([status, turns]).toEqual(['waiting', 1]);
  });

  it('what else runs is waited for first', async () => {
    const { agent, open, start } = await scene([
      `${DEPLOY}<action id="l">{"name":"look"}</action>`,
      // Where the machine is busy, it is asked before it has looked, too.
      '<thought>Looked.</thought>',
      '<thought>Looked.</thought>',
    ]);
    const runtime = await open();
    expect((await runtime.start(agent, start).result).status).toBe('waiting');
    const events = await runtime.events('ses_test');
    const types = events.map(({ type }) => type);
    expect(types.indexOf('session.waiting')).toBeGreaterThan(types.indexOf('action.completed'));
    expect(of(events, 'action.completed')).toMatchObject([{ id: 'l' }]);
  });

  it.each([
    ['a sync action', DEPLOY.replace('id="d"', 'id="d" mode="sync"') + DONE],
    ['a final response that names its result', `${DEPLOY}<response>Got $d</response>`],
    ['a final response beside it', `${DEPLOY}${DONE}`],
  ])('%s waits, too, and is answered after the resume', async (_what, turn) => {
    const { agent, open, start, resume } = await scene([turn, DONE]);
    const runtime = await open();
    const { status, reviews } = await runtime.start(agent, start).result;
    expect(status).toBe('waiting');
    await runtime.answer(reviews?.[0]?.review ?? '', { approved: true });
    const result = await (await runtime.resume('ses_test', resume)).result;
    expect(result.status).toBe('completed');
    const events = await runtime.events('ses_test');
    expect(of(events, 'action.declared')).toHaveLength(1);
    expect(of(events, 'action.completed')).toMatchObject([{ id: 'd', output: 'deployed prod' }]);
  });

  it('what was approved is what is done, whatever its variables mean by then', async () => {
    const manifest = `${MANIFEST}context_variables: { runtime: [{ name: where, default: test }] }\n`;
    const { agent, open, start, resume } = await scene(
      [
        '<action id="d">{"name":"deploy","parameters":{"to":"$where"}}</action>',
        '<action id="v" type="internal">{"name":"set_variable","parameters":{"name":"where","value":"prod"}}</action>',
        DONE,
      ],
      manifest,
    );
    const runtime = await open();
    const { reviews } = await runtime.start(agent, start).result;
    expect(reviews?.[0]?.input).toEqual({ to: 'test' });
    await runtime.steer('ses_test', 'Change it.');
    await (await runtime.resume('ses_test', resume)).result;
    await runtime.answer(reviews?.[0]?.review ?? '', { approved: true });
    await (await runtime.resume('ses_test', resume)).result;
    const events = await runtime.events('ses_test');
    expect(of(events, 'variable.changed')).toHaveLength(1);
    expect(of(events, 'action.completed').find(({ id }) => id === 'd')?.output).toBe('deployed test');
  });
});

describe('a review', () => {
  it('is withdrawn when its action is cancelled', async () => {
    const cancel = '<action id="c" type="internal">{"name":"cancel_action","parameters":{"id":"d"}}</action>';
    const { agent, open, start } = await scene([`${DEPLOY}${cancel}`, DONE]);
    const runtime = await open();
    expect((await runtime.start(agent, start).result).status).toBe('completed');
    const events = await runtime.events('ses_test');
    expect(briefly(events)).toContain('review.withdrawn');
    expect(of(events, 'action.cancelled')).toMatchObject([{ id: 'd' }]);
    expect(await runtime.reviews()).toEqual([]);
  });

  it('is withdrawn when its session is cancelled', async () => {
    const { agent, open, start, resume } = await scene([DEPLOY, DONE]);
    const runtime = await open();
    await runtime.start(agent, start).result;
    const session = await runtime.resume('ses_test', { ...resume, onWaiting: 'hold' });
    await session.cancel('enough');
    expect(await runtime.reviews()).toEqual([]);
  });

  it('of a fork is its own', async () => {
    const { agent, open, start, resume } = await scene([DEPLOY, DONE]);
    const runtime = await open();
    const { reviews } = await runtime.start(agent, start).result;
    const { head = 0 } = (await runtime.store.info('ses_test')) ?? {};
    const fork = await runtime.fork('ses_test', head);
    const forked = await (await runtime.resume(fork, resume)).result;
    expect(forked.status).toBe('waiting');
    expect(forked.reviews?.[0]?.review).not.toBe(reviews?.[0]?.review);
    expect(await runtime.reviews()).toHaveLength(2);
  });

  it('that nobody knows is an error that names those there are', async () => {
    const { agent, open, start } = await scene([DEPLOY, DONE]);
    const runtime = await open();
    const { reviews } = await runtime.start(agent, start).result;
    await expect(runtime.answer('rev_nothing', { approved: true })).rejects.toMatchObject({
      code: 'review_unknown',
      hint: expect.stringContaining(reviews?.[0]?.review ?? '?'),
    });
  });
});

it('an agent that asks for nothing has no review on its log', async () => {
  const { agent, open, start } = await scene(['<action id="l" mode="sync">{"name":"look"}</action>', DONE]);
  const runtime = await open();
  await runtime.start(agent, start).result;
  expect(briefly(await runtime.events('ses_test')).some((type) => type.startsWith('review'))).toBe(false);
});

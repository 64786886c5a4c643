import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { loadWorkflow } from '../../../src/agent/runs/load-workflow.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { createSimulatedClock, type SimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { encodeEvent } from '../../../src/log/codec.ts';
import type { EventBody, SessionEvent } from '../../../src/log/event.ts';
import type { RunEvent, RunEventBody } from '../../../src/log/run-event.ts';
import { MAX_TRIES, pauseAfter, retryAfterMs } from '../../../src/server/notify/channels.ts';
import type { Notifications } from '../../../src/server/notify/create-notifications.ts';
import {
  createNotifications,
  type NotificationsOptions,
} from '../../../src/server/notify/create-notifications.ts';
import { noticeOf } from '../../../src/server/notify/notice.ts';
import { createDesktop } from '../../../src/server/notify/show-on-desktop.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { SharedStore, WorkerRow } from '../../../src/store/shared-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { mortal } from '../../../src/testing/crash.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { agentFolder } from '../../agent/run-agent.ts';
import { moreRuns } from '../../more-runs.ts';
import { testDatabase } from '../../servers/shared-postgres.ts';
import { eventually } from '../../store/eventually.ts';
import { openReceiver, type Receiver, SECRET } from './receiver.ts';

const CAUSE = { stream: 'x', seq: 0, depth: 0 };
const ERROR = { code: 'limit_turns', message: 'It took 50 turns.', retryable: false };

/** Events of a session, as they are committed. */
function sessionOf(
  clock: Pick<SimulatedClock, 'now'>,
  session = 'ses_1',
  start: Partial<Extract<EventBody, { type: 'session.started' }>> = {},
) {
  let seq = 0;
  const next = (body: EventBody): SessionEvent => ({
    ...body,
    seq: ++seq,
    at: clock.now(),
    session,
    turn: 0,
    cause: CAUSE,
  });
  const started = next({
    type: 'session.started',
    agent: 'tester',
    input: 'x',
    model: 'm',
    manifest: { path: 'agent.yml', hash: 'h' },
    ...start,
  } as EventBody);
  return { next, started, failed: () => next({ type: 'session.failed', error: ERROR }) };
}

function runOf(
  clock: SimulatedClock,
  run: string,
  origin: Partial<Extract<RunEventBody, { type: 'workflow.started' }>['origin']> = {},
) {
  let seq = 0;
  const next = (body: RunEventBody): RunEvent => ({
    ...body,
    seq: ++seq,
    at: clock.now(),
    run,
    cause: CAUSE,
  });
  const started = next({
    type: 'workflow.started',
    workflow: 'deploy',
    input: {},
    vars: {},
    manifest: { path: 'agent.yml', hash: 'h', agent: 'tester' },
    origin: { chain: ['deploy'], agents: ['tester'], ...origin },
  });
  return { next, started, failed: () => next({ type: 'workflow.failed', error: ERROR }) };
}

interface StageOptions extends Partial<NotificationsOptions> {
  readonly channels?: string;
  readonly rules?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** More of the agent. */
  readonly manifest?: string;
}

/** Notifications of one agent, whose channel `ops` is a real server. */
async function stage(receiver: Receiver, options: StageOptions = {}) {
  const clock = (options.clock ?? createSimulatedClock()) as SimulatedClock;
  const { channels = '', rules = '[{ on: [session.failed] }]', manifest = '', files, ...rest } = options;
  const folder =
    options.folder ??
    agentFolder(
      `notifications:\n  channels:\n    ops: { webhook: { url: "${receiver.url}", secret: "${SECRET}", headers: { x-team: core } } }\n${channels}  rules: ${rules}\n${manifest}`,
      files,
    );
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const store = options.store ?? createMemoryStore({ clock });
  const errors: unknown[] = [];
  const catalog = {
    list: () => [{ name: 'tester', path: agent.path, source: agent.path, agent, loadedAt: 0, problems: [] }],
    onChange: () => () => undefined,
  };
  const create = (more: Partial<NotificationsOptions> = {}): Notifications => {
    const notifications = createNotifications({
      store,
      catalog,
      clock,
      random: () => 0.5,
      onError: (thrown) => errors.push(thrown),
      ...rest,
      ...more,
    });
    onTestFinished(() => notifications.close());
    return notifications;
  };
  return { clock, store, folder, agent, catalog, errors, create };
}

/** Puts events onto the log of a session, of which nobody hears. */
async function committed(store: Store, events: readonly SessionEvent[]): Promise<void> {
  const head = { kind: 'session', name: 'tester', status: 'running', title: 'x' } as const;
  const writer = await store.create('ses_1', head);
  const lines = events.map(({ seq, at, session, turn, cause, ...body }) =>
    encodeEvent({ seq, at, session, turn, cause }, body as EventBody),
  );
  await new Promise<void>((resolve) => writer.append({ expectedSeq: 0, events: lines }, () => resolve()));
}

/** For those that give a `fetch` of their own. */
const NOWHERE: Receiver = {
  url: 'http://127.0.0.1:9/',
  received: [],
  reply: () => undefined,
  during: () => undefined,
};

const all = (notifications: Notifications) => notifications.list({ limit: 200 });
/** Resolves when so many are known to have been sent: none of them is put back when the server closes. */
const sent = (notifications: Notifications, count: number) =>
  eventually(async () =>
    expect(await notifications.list({ status: 'sent', limit: 200 })).toHaveLength(count),
  );

describe('a notification', () => {
  it('goes to the channels that a rule names, signed, with what happened and where to see it', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver, {
      pageOf: (kind, stream) => `http://127.0.0.1:4800/#/${kind}s/${stream}`,
    });
    const notifications = create();
    const session = sessionOf(clock);
    notifications.observe(session.started);
    notifications.observe(session.next({ type: 'thought', text: 'x', depth: 0 }));
    notifications.observe(session.failed());
    await eventually(() => expect(receiver.received).toHaveLength(1));
    expect(receiver.received[0]).toMatchObject({
      headers: { 'content-type': 'application/json', 'x-team': 'core' },
      body: {
        id: receiver.received[0]?.id,
        type: 'session.failed',
        agent: 'tester',
        session: 'ses_1',
        at: '2026-01-01T00:00:00.000Z',
        message: 'tester failed: It took 50 turns.',
        url: 'http://127.0.0.1:4800/#/sessions/ses_1',
        data: { error: ERROR },
      },
    });
    await eventually(async () =>
      expect(await all(notifications)).toMatchObject([
        { status: 'sent', attempts: 1, channel: 'ops', kind: 'webhook', about: 'session.failed', seq: 3 },
      ]),
    );
  });

  it('is tried again later and later where nobody answers well, with the same id', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver);
    const notifications = create();
    const { started, failed } = sessionOf(clock);
    notifications.observe(started);
    receiver.reply({ status: 500, body: 'out of order' }, { status: 429, headers: { 'retry-after': '120' } });
    notifications.observe(failed());
    const waiting = async () => (await notifications.list({ status: 'waiting', limit: 10 }))[0];
    await eventually(async () =>
      expect(await waiting()).toMatchObject({ attempts: 1, error: 'The response was 500: out of order.' }),
    );
    expect((await waiting())?.nextAt).toBe(clock.now() + 5_000);
    await clock.advance(5_000);
    await eventually(async () => expect((await waiting())?.attempts).toBe(2));
    expect((await waiting())?.nextAt).toBe(clock.now() + 120_000);
    await clock.advance(119_000);
    expect(receiver.received).toHaveLength(2);
    await clock.advance(1_000);
    await eventually(async () =>
      expect(await all(notifications)).toMatchObject([{ status: 'sent', attempts: 3 }]),
    );
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  });

  it('is given up after eight tries, kept with the reason, and sent when somebody asks for it', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver);
    const notifications = create();
    const { started, failed } = sessionOf(clock);
    notifications.observe(started);
    receiver.reply(...Array.from({ length: 8 }, () => ({ status: 503 })));
    notifications.observe(failed());
    for (let tries = 1; tries <= 8; tries++) {
      await eventually(() => expect(receiver.received).toHaveLength(tries));
      const [row] = await eventually(async () => {
        const found = await all(notifications);
        expect(found[0]?.attempts).toBe(tries);
        return found;
      });
      // Not further: time would run out for the request.
      await clock.advance((row?.nextAt ?? clock.now()) - clock.now());
    }
    const [dead] = await notifications.list({ status: 'dead', limit: 10 });
    expect(dead).toMatchObject({ error: 'The response was 503. It was tried 8 times.' });
    await notifications.retry(dead?.id ?? '');
    await eventually(async () =>
      expect(await all(notifications)).toMatchObject([{ status: 'sent', attempts: 9 }]),
    );
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    await expect(notifications.retry(dead?.id ?? '')).rejects.toMatchObject({
      code: 'notification_unknown',
      message: expect.stringContaining('was sent'),
    });
    await expect(notifications.retry('ntf_none')).rejects.toMatchObject({ code: 'notification_unknown' });
  });

  it.each([
    [410, 'The response was 410.'],
    [404, 'The response was 404.'],
    [302, 'Redirects are not followed'],
  ])('is given up at once at %i', async (status, error) => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver);
    const notifications = create();
    const { started, failed } = sessionOf(clock);
    notifications.observe(started);
    receiver.reply({ status, headers: { location: receiver.url } });
    notifications.observe(failed());
    await eventually(async () =>
      expect(await all(notifications)).toMatchObject([
        { status: 'dead', attempts: 1, error: expect.stringContaining(error) },
      ]),
    );
    await clock.advance(86_400_000);
    expect(receiver.received).toHaveLength(1);
  });

  it('is tried again where no answer comes within ten seconds, and where nobody listens', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver, {
      channels: '    nobody: { webhook: { url: "http://127.0.0.1:1/", secret: s } }\n',
    });
    const notifications = create();
    const { started, failed } = sessionOf(clock);
    notifications.observe(started);
    receiver.reply('silence');
    notifications.observe(failed());
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await clock.advance(10_000);
    await eventually(async () => {
      const found = await all(notifications);
      const errors = Object.fromEntries(found.map(({ channel, error }) => [channel, error]));
      expect(errors).toMatchObject({
        ops: 'No response within 10 s.',
        nobody: expect.stringMatching(/ECONNREFUSED|bad port/),
      });
    });
  });

  it('is sent once after a restart, and never again once that is written down', async () => {
    const receiver = await openReceiver();
    const clock = createSimulatedClock();
    const first = await stage(receiver, { clock });
    const open = () => openStore('sqlite:shared.db', { cwd: first.folder, clock, durability: 'process' });
    const home = await open();
    const killed = mortal(home);
    const { started, failed } = sessionOf(clock);
    const one = first.create({ store: killed, fetch: () => Promise.reject(new Error('no network')) });
    one.observe(started);
    one.observe(failed());
    await eventually(async () =>
      expect(await one.list({ status: 'waiting', limit: 9 })).toMatchObject([{ attempts: 1 }]),
    );
    killed.die();
    await home.close();
    for (let starts = 0; starts < 3; starts++) {
      const store = await open();
      const next = first.create({ store });
      await clock.advance(60_000);
      await eventually(async () => {
        await clock.advance(1_000);
        expect(await next.list({ status: 'sent', limit: 9 })).toMatchObject([{ attempts: 2 }]);
      });
      await next.close();
      await store.close();
    }
    expect(receiver.received).toHaveLength(1);
  });

  it('that was sent and not written down when the process died is sent again under the same id', async () => {
    const receiver = await openReceiver();
    const { clock, store, create } = await stage(receiver);
    const dying = mortal(store);
    const one = create({ store: dying });
    receiver.during = () => dying.die();
    const { started, failed } = sessionOf(clock);
    one.observe(started);
    one.observe(failed());
    await eventually(() => expect(receiver.received).toHaveLength(1));
    receiver.during = () => undefined;
    await one.close();
    const two = create();
    await eventually(async () => {
      await clock.advance(5_000);
      expect(await two.list({ status: 'sent', limit: 9 })).toHaveLength(1);
    });
    expect(receiver.received).toHaveLength(2);
    expect(receiver.received[0]?.id).toBe(receiver.received[1]?.id);
  });

  it('is not lost where the process died between the event and the outbox', async () => {
    const receiver = await openReceiver();
    const { clock, store, create } = await stage(receiver);
    const one = create();
    for (let minutes = 0; minutes < 20; minutes++) await clock.advance(60_000);
    const session = sessionOf(clock);
    const failed = session.failed();
    await committed(store, [session.started, failed]);
    // Nothing had happened for long before: of what did, the process never heard.
    await one.close();
    await clock.advance(3_600_000);
    for (let starts = 0; starts < 2; starts++) {
      const next = create();
      await eventually(() => expect(receiver.received).toHaveLength(1));
      await eventually(async () => expect(await all(next)).toMatchObject([{ status: 'sent', seq: 2 }]));
      await next.close();
    }
  });

  it('is not lost in a fleet where one died between the event and the outbox and others live on', async () => {
    const receiver = await openReceiver();
    const clock = createSimulatedClock();
    let workers: readonly Pick<WorkerRow, 'id' | 'alive' | 'quietMs'>[] = [];
    const store = {
      ...createMemoryStore({ clock }),
      shared: { workers: async () => workers } as unknown as SharedStore,
    };
    const { create } = await stage(receiver, { clock, store });
    const others = [create(), create()];
    const session = sessionOf(clock);
    await committed(store, [session.started, session.failed()]);
    workers = [
      { id: 1, alive: false, quietMs: 3_600_000 }, // long before
      { id: 2, alive: true, quietMs: 0 },
    ];
    for (let minutes = 0; minutes < 3; minutes++) await clock.advance(60_000);
    expect(await all(others[0] as Notifications)).toEqual([]);
    workers = [...workers, { id: 3, alive: false, quietMs: 180_000 }];
    await clock.advance(30_000);
    await eventually(async () =>
      expect(await all(others[0] as Notifications)).toMatchObject([{ status: 'sent', seq: 2 }]),
    );
    for (let minutes = 0; minutes < 3; minutes++) await clock.advance(60_000);
    expect(receiver.received).toHaveLength(1);
  });

  it('is sent by one of two processes on one store', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver);
    const one = create({ fetch: () => Promise.reject(new Error('no network')) });
    const { started, next } = sessionOf(clock);
    one.observe(started);
    for (let n = 0; n < 10; n++) one.observe(next({ type: 'session.failed', error: ERROR }));
    await eventually(async () => expect((await all(one)).every(({ attempts }) => attempts === 1)).toBe(true));
    await one.close();
    const others = [create(), create()];
    await clock.advance(5_000);
    await eventually(async () => expect(await one.list({ status: 'sent', limit: 20 })).toHaveLength(10));
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(10);
    expect(receiver.received).toHaveLength(10);
    for (const each of others) await each.close();
  });

  it('of a failing loop is told twenty times a minute, and the rest as one', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver);
    const notifications = create();
    const { started, next } = sessionOf(clock);
    notifications.observe(started);
    for (let n = 0; n < 57; n++)
      notifications.observe(next({ type: 'session.failed', error: { ...ERROR, message: `No ${n}.` } }));
    await eventually(() => expect(receiver.received).toHaveLength(20));
    await eventually(async () =>
      expect(await notifications.list({ status: 'waiting', limit: 9 })).toMatchObject([
        { message: '…and 37 more. The last: tester failed: No 56.' },
      ]),
    );
    await clock.advance(60_000);
    await eventually(() => expect(receiver.received).toHaveLength(21));
    expect(receiver.received[20]?.body).toMatchObject({
      type: 'more',
      message: '…and 37 more. The last: tester failed: No 56.',
      data: { count: 37, last: { type: 'session.failed', session: 'ses_1' } },
    });
    notifications.observe(next({ type: 'session.failed', error: ERROR }));
    await eventually(() => expect(receiver.received).toHaveLength(22));
  });

  it('of a failing loop is counted on after a restart: nothing twice, and no more than twenty by themselves', async () => {
    const receiver = await openReceiver();
    const { clock, store, create } = await stage(receiver);
    const one = create();
    const { started, next } = sessionOf(clock);
    const failures = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) =>
        next({ type: 'session.failed', error: { ...ERROR, message: `No ${from + n}.` } }),
      );
    // They are on the log, too, where the next process looks for what the one before may not have told.
    const logged = failures(0, 57);
    await committed(store, [started, ...logged]);
    for (const event of [started, ...logged]) one.observe(event);
    await sent(one, 20);
    await eventually(async () =>
      expect(await one.list({ status: 'waiting', limit: 9 })).toMatchObject([
        { message: '…and 37 more. The last: tester failed: No 56.' },
      ]),
    );
    await one.close();
    await clock.advance(10_000);
    const two = create();
    for (const event of failures(57, 60)) two.observe(event);
    await eventually(async () =>
      expect(await two.list({ status: 'waiting', limit: 9 })).toMatchObject([
        { message: '…and 40 more. The last: tester failed: No 59.' },
      ]),
    );
    await clock.advance(49_999);
    expect(receiver.received).toHaveLength(20);
    await clock.advance(1);
    await sent(two, 21);
    expect(receiver.received[20]?.body).toMatchObject({ data: { count: 40 } });
    await two.close();
    const three = create();
    for (const event of failures(60, 61)) three.observe(event);
    await eventually(() => expect(receiver.received).toHaveLength(22));
    expect(receiver.received[21]?.body).toMatchObject({ type: 'session.failed' });
  });

  it('counts towards the twenty of its minute after a restart', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver);
    const one = create();
    const { started, failed } = sessionOf(clock);
    one.observe(started);
    for (let n = 0; n < 15; n++) one.observe(failed());
    await sent(one, 15);
    await one.close();
    await clock.advance(30_000);
    const two = create();
    two.observe(started);
    for (let n = 0; n < 10; n++) two.observe(failed());
    await eventually(() => expect(receiver.received).toHaveLength(20));
    await clock.advance(30_000);
    await eventually(() => expect(receiver.received).toHaveLength(21));
    expect(receiver.received[20]?.body).toMatchObject({ type: 'more', data: { count: 5 } });
  });

  it('counts towards the twenty of its minute in whichever process of a fleet it is told, on PostgreSQL', async () => {
    const receiver = await openReceiver();
    const database = await testDatabase();
    const { clock, folder, errors, create } = await stage(receiver);
    const open = () => openStore(database.url, { clock: createSystemClock(), cwd: folder });
    const stores = [await open(), await open()];
    onTestFinished(async () => {
      for (const store of stores) await store.close();
      await database.remove();
    });
    const fleet = stores.map((store, n) => {
      const notifications = create({ store });
      const { started, failed } = sessionOf(clock, `ses_${n}`);
      notifications.observe(started);
      return { notifications, fail: () => notifications.observe(failed()) };
    });
    for (let n = 0; n < 15; n++) for (const { fail } of fleet) fail();
    const [one] = fleet;
    await eventually(async () =>
      expect(await one?.notifications.list({ status: 'waiting', limit: 50 })).toMatchObject([
        { about: 'more', message: expect.stringMatching(/^…and 10 more\./) },
      ]),
    );
    await eventually(() => expect(receiver.received).toHaveLength(20));
    await clock.advance(60_000);
    await eventually(() => expect(receiver.received).toHaveLength(21));
    expect(receiver.received[20]?.body).toMatchObject({ type: 'more', data: { count: 10 } });
    for (const { notifications } of fleet) await notifications.close();
    expect(errors).toEqual([]);
  });

  // A minute that the clock behind has begun is cut short, once, by the one that is ahead.
  it.each([
    ['behind', -30_000, 3],
    ['behind', -90_000, 3],
    ['ahead', 30_000, 4],
    ['ahead', 90_000, 4],
  ])(
    'in a process whose clock is %s of the first one by %i ms is told or counted, twenty and one a minute',
    async (_where, apartMs, minutes) => {
      const { clock, errors, create } = await stage(NOWHERE);
      const told: { readonly type: string; readonly data: { readonly count?: number } }[] = [];
      const fetch = async (_url: unknown, init?: RequestInit) => {
        told.push(JSON.parse(String(init?.body)));
        return new Response();
      };
      const clocks = [clock, { ...clock, now: () => clock.now() + apartMs }];
      const fleet = clocks.map((own, n) => {
        const notifications = create({ clock: own, fetch });
        const { started, failed } = sessionOf(own, `ses_${n}`);
        notifications.observe(started);
        return () => notifications.observe(failed());
      });
      const seconds = 180;
      for (let second = 0; second < seconds; second++) {
        for (const fail of fleet) fail();
        await clock.advance(1_000);
      }
      await clock.advance(Math.abs(apartMs) + 60_000);
      const own = told.filter(({ type }) => type === 'session.failed');
      const more = told.filter(({ type }) => type === 'more');
      expect(own.length).toBeLessThanOrEqual(20 * minutes);
      expect(more.length).toBeLessThanOrEqual(minutes);
      const counted = more.reduce((sum, { data }) => sum + (data.count ?? 0), 0);
      expect(own.length + counted).toBe(fleet.length * seconds);
      expect(errors).toEqual([]);
    },
  );

  it('of a process whose clock is ahead and that ends holds up nobody: what others counted is told', async () => {
    const { clock, create } = await stage(NOWHERE);
    const told: unknown[] = [];
    const fetch = async (_url: unknown, init?: RequestInit) => {
      told.push(JSON.parse(String(init?.body)));
      return new Response();
    };
    const aheadClock = { ...clock, now: () => clock.now() + 90_000 };
    const [ahead, behind] = [create({ clock: aheadClock, fetch }), create({ fetch })];
    const [theirs, ours] = [sessionOf(aheadClock, 'ses_1'), sessionOf(clock, 'ses_2')];
    ahead.observe(theirs.started);
    behind.observe(ours.started);
    const countedAre = (count: number) =>
      eventually(async () =>
        expect(await behind.list({ status: 'waiting', limit: 9 })).toMatchObject([
          { message: expect.stringContaining(`and ${count} more`) },
        ]),
      );
    for (let n = 0; n < 21; n++) ahead.observe(theirs.failed());
    await countedAre(1);
    behind.observe(ours.failed());
    await countedAre(2);
    await ahead.close();
    await clock.advance(149_999);
    expect(told).toHaveLength(20);
    await clock.advance(1);
    await eventually(() => expect(told.slice(20)).toMatchObject([{ type: 'more', data: { count: 2 } }]));
    behind.observe(ours.failed());
    await eventually(() => expect(told.slice(21)).toMatchObject([{ type: 'session.failed' }]));
  });

  it('does not wait for a minute that a clock far ahead has begun', async () => {
    const { clock, create } = await stage(NOWHERE);
    let told = 0;
    const fetch = async () => {
      told++;
      return new Response();
    };
    const farAhead = { ...clock, now: () => clock.now() + 86_400_000 };
    const [ahead, behind] = [create({ clock: farAhead, fetch }), create({ fetch })];
    const [theirs, ours] = [sessionOf(farAhead, 'ses_1'), sessionOf(clock, 'ses_2')];
    ahead.observe(theirs.started);
    behind.observe(ours.started);
    for (let n = 0; n < 20; n++) ahead.observe(theirs.failed());
    await eventually(() => expect(told).toBe(20));
    behind.observe(ours.failed());
    await eventually(() => expect(told).toBe(21));
  });

  it('is put back where the server closes while it is sent', async () => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver);
    const one = create();
    const { started, failed } = sessionOf(clock);
    one.observe(started);
    receiver.reply('silence');
    one.observe(failed());
    await eventually(() => expect(receiver.received).toHaveLength(1));
    await one.close();
    expect(await one.list({ limit: 9 })).toMatchObject([{ status: 'waiting', attempts: 0 }]);
    const two = create();
    await eventually(async () => {
      await clock.advance(0);
      expect(await all(two)).toMatchObject([{ status: 'sent', attempts: 1 }]);
    });
  });

  it('is recorded although the store failed for a while, and is not sent twice', async () => {
    const receiver = await openReceiver();
    const { clock, store, create, errors } = await stage(receiver);
    let failing = false;
    const flaky: Store = {
      ...store,
      tables: {
        ...store.tables,
        exchange: async (expected, writes) => {
          if (failing) throw new Error('the disk is gone');
          return store.tables.exchange(expected, writes);
        },
      },
    };
    const notifications = create({ store: flaky });
    const { started, failed } = sessionOf(clock);
    notifications.observe(started);
    receiver.during = () => {
      failing = true;
    };
    notifications.observe(failed());
    await eventually(() => expect(errors.length).toBeGreaterThan(0));
    failing = false;
    receiver.during = () => undefined;
    await clock.advance(5_000);
    await eventually(async () => expect(await all(notifications)).toMatchObject([{ status: 'sent' }]));
    await clock.advance(86_400_000);
    expect(receiver.received).toHaveLength(1);
  });

  it('whose channel is gone is given up with the reason', async () => {
    const receiver = await openReceiver();
    const { clock, create, catalog } = await stage(receiver);
    const one = create({ fetch: () => Promise.reject(new Error('no network')) });
    const { started, failed } = sessionOf(clock);
    one.observe(started);
    one.observe(failed());
    await eventually(async () => expect((await all(one))[0]?.attempts).toBe(1));
    await one.close();
    const without = catalog.list().map(({ agent, ...entry }) => ({
      ...entry,
      agent: { ...agent, manifest: { ...agent.manifest, notifications: undefined } },
    })) as unknown as ReturnType<typeof catalog.list>;
    const two = create({ catalog: { ...catalog, list: () => without } });
    await eventually(async () => {
      await clock.advance(5_000);
      expect(await all(two)).toMatchObject([
        { status: 'dead', error: 'The agent tester no longer has a channel "ops".' },
      ]);
    });
  });

  it('of an agent that is not served here is left to who serves it, for a day', async () => {
    const receiver = await openReceiver();
    const { clock, create, catalog } = await stage(receiver);
    const one = create({ fetch: () => Promise.reject(new Error('no network')) });
    const { started, failed } = sessionOf(clock);
    one.observe(started);
    one.observe(failed());
    await eventually(async () => expect((await all(one))[0]?.attempts).toBe(1));
    await one.close();
    const other = create({ catalog: { ...catalog, list: () => [] } });
    await clock.advance(10 * 60_000);
    expect(await all(other)).toMatchObject([{ status: 'waiting', attempts: 1 }]);
    const own = create();
    await eventually(async () => expect(await all(own)).toMatchObject([{ status: 'sent' }]));
    await own.close();
    const again = create({ fetch: () => Promise.reject(new Error('no network')) });
    again.observe(sessionOf(clock, 'ses_2').failed());
    await again.close();
    await clock.advance(25 * 60 * 60_000);
    await eventually(async () =>
      expect((await all(other)).filter(({ status }) => status === 'waiting')).toEqual([]),
    );
  });

  it('is listed newest first, a page at a time, and its secret is nowhere in the store', async () => {
    const receiver = await openReceiver();
    const { clock, create, store } = await stage(receiver);
    const notifications = create();
    const { started, next } = sessionOf(clock);
    notifications.observe(started);
    for (let n = 0; n < 5; n++) {
      await clock.advance(1_000);
      notifications.observe(next({ type: 'session.failed', error: { ...ERROR, message: `No ${n}.` } }));
      await eventually(async () => expect(await all(notifications)).toHaveLength(n + 1));
    }
    const first = await notifications.list({ limit: 2 });
    const second = await notifications.list({ limit: 9, before: first[1]?.id ?? '' });
    expect([...first, ...second].map(({ message }) => message)).toEqual(
      [4, 3, 2, 1, 0].map((n) => `tester failed: No ${n}.`),
    );
    await eventually(async () =>
      expect(await notifications.list({ status: 'sent', limit: 9 })).toHaveLength(5),
    );
    for (const table of ['notify.waiting', 'notify.sent', 'notify.dead'])
      for (const key of await store.tables.keys(table))
        expect(JSON.stringify(await store.tables.get(table, key))).not.toContain(SECRET.slice(6));
  });
});

describe('what is told', () => {
  const RULES = '[{ on: [session.failed, review.requested, stuck, workflow.failed], to: [ops] }]';

  async function told(of: (clock: SimulatedClock) => readonly (SessionEvent | RunEvent)[]) {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver, { rules: RULES });
    const notifications = create();
    const last = sessionOf(clock, 'ses_last');
    for (const event of [...of(clock), last.started, last.failed()]) notifications.observe(event);
    await eventually(() => expect(receiver.received.map(({ body }) => body.session)).toContain('ses_last'));
    await eventually(async () =>
      expect(await notifications.list({ status: 'waiting', limit: 9 })).toEqual([]),
    );
    return receiver.received
      .filter(({ body }) => body.session !== 'ses_last')
      .map(({ body }) => `${body.type} ${body.session ?? body.run}: ${body.message}`)
      .sort();
  }

  it('is what people wait for in sub-agents, by the rules of the agent that nobody called; their failures are their callers’', async () => {
    const parent = { session: 'ses_0', action: 'a', agents: ['tester', 'middle'] };
    expect(
      await told((clock) => {
        const { started, next, failed } = sessionOf(clock, 'ses_child', { agent: 'helper', parent });
        const review = {
          review: 'rev_1',
          action: 'a1',
          target: 'tool "deploy"',
          what: 'deploy to production',
          because: 'approval: required',
          input: { key: 'hunter2' },
          grants: [],
        };
        return [started, next({ type: 'review.requested', ...review }), failed()];
      }),
    ).toEqual(['review.requested ses_child: tester waits for you: deploy to production']);
  });

  it('is how runs fail that a trigger or a person started, not those that a caller waits for', async () => {
    const session = { id: 'ses_0', seq: 1 };
    expect(
      await told((clock) =>
        [
          runOf(clock, 'run_triggered', { session, trigger: { id: 'w#0', seen: {} } }),
          runOf(clock, 'run_alone'),
          runOf(clock, 'run_called', { session, action: 'a1' }),
          runOf(clock, 'run_step', { parent: { run: 'run_alone', step: 's' } }),
          runOf(clock, 'run_leads', { session, leads: true }),
        ].flatMap(({ started, failed }) => [started, failed()]),
      ),
    ).toEqual([
      'workflow.failed run_alone: The workflow deploy failed: It took 50 turns.',
      'workflow.failed run_triggered: The workflow deploy failed: It took 50 turns.',
    ]);
  });

  it('is who is stuck: a task that does not come further, and a session that has stalled', async () => {
    expect(
      await told((clock) => {
        const run = runOf(clock, 'run_1');
        const session = sessionOf(clock, 'ses_2');
        return [
          run.started,
          session.started,
          run.next({
            type: 'step.stuck',
            step: 'build',
            attempt: 1,
            nth: 1,
            by: 'ses_9',
            why: 'the same call thrice',
          }),
          session.next({ type: 'session.stalled', error: ERROR }),
        ];
      }),
    ).toEqual([
      'session.stalled ses_2: tester has stalled: It took 50 turns.',
      'stuck run_1: The step build of deploy is stuck: the same call thrice',
    ]);
  });

  it('is found out from the log where a stream was begun elsewhere', async () => {
    const receiver = await openReceiver();
    const { clock, create, store } = await stage(receiver);
    const { started, failed } = sessionOf(clock);
    await committed(store, [started]);
    const notifications = create();
    notifications.observe(failed());
    await eventually(() => expect(receiver.received).toHaveLength(1));
  });

  it('is nothing, and costs no write, where no agent has channels', async () => {
    const receiver = await openReceiver();
    const folder = agentFolder('');
    const { clock, create, store } = await stage(receiver, { folder });
    const notifications = create();
    const { started, failed } = sessionOf(clock);
    notifications.observe(started);
    notifications.observe(failed());
    await notifications.close();
    expect(await store.tables.keys('notify.mark')).toEqual([]);
    expect(await all(notifications)).toEqual([]);
  });

  it('is of bounded length, whatever the events hold', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 3_000 }), fc.jsonValue(), (text, value) => {
        const clock = createSimulatedClock();
        const { next } = sessionOf(clock);
        const place = { agent: 'tester', isTop: true };
        for (const body of [
          { type: 'session.completed', result: value },
          { type: 'session.failed', error: { ...ERROR, message: text } },
          { type: 'custom', name: 'notify', data: { message: text, data: value } },
          { type: 'custom', name: 'notify', data: value },
        ] as readonly EventBody[]) {
          const notice = noticeOf(next(body), place);
          if (notice === undefined) continue;
          expect(notice.message.length).toBeLessThanOrEqual(1_000);
          expect(notice.message).not.toContain('\0');
          expect(JSON.stringify(notice.data).length).toBeLessThan(17_000);
        }
      }),
      { numRuns: moreRuns(200) },
    );
  });

  it('comes from sessions and from steps of type notify, of a real runtime', async () => {
    const receiver = await openReceiver();
    const clock = createSystemClock();
    const { create, folder, agent, errors } = await stage(receiver, {
      clock: clock as SimulatedClock,
      store: createMemoryStore({ clock }),
      rules: '[{ on: [session.completed, session.failed] }]',
      channels: '    log: { command: [tee, -a, log.txt] }\n',
      manifest: 'import: { workflows: [./flows/*.yml] }\n',
      files: {
        'flows/tell.yml':
          'kind: Workflow\nname: tell\ntrigger: { type: manual }\nsteps:\n  - { name: one, type: notify, message: "It is ${input.what}", to: log, data: { n: 1 } }\n  - { name: two, type: notify, message: All of you., to: nobody }\n',
      },
    });
    const store = createMemoryStore({ clock });
    const runtime = await createRuntime({ store, cwd: folder });
    const notifications = create({ store });
    runtime.watch((event) => notifications.observe(event));
    const model = scripted(['<response final="true">Well done.</response>'], { id: 'scripted:test', clock });
    await runtime.start(agent, { input: 'Go.', model }).result;
    const workflow = await loadWorkflow('agent.yml', { cwd: folder, workflow: 'tell' });
    await runtime.workflows.start(workflow, { input: { what: 'late' } }).result;
    await eventually(async () =>
      expect(
        (await all(notifications))
          .map(({ channel, about, status }) => `${channel} ${about} ${status}`)
          .sort(),
      ).toEqual([
        'log notify sent',
        'log notify sent',
        'log session.completed sent',
        'ops notify sent',
        'ops session.completed sent',
      ]),
    );
    expect(receiver.received.map(({ body }) => body.message).sort()).toEqual([
      'All of you.',
      'tester is done: Well done.',
    ]);
    expect(errors).toMatchObject([{ code: 'channel_unknown', hint: 'Channels: ops, log.' }]);
    expect(readFileSync(join(folder, 'log.txt'), 'utf8')).toContain(
      '"message":"It is late","data":{"data":{"n":1}',
    );
    await notifications.close();
    await runtime.close();
  });
});

describe('a command', () => {
  /** Writes its arguments, its input and its environment into out.json, and exits as told. */
  const SCRIPT = `#!/usr/bin/env node
const { appendFileSync, existsSync, readFileSync } = require('node:fs');
appendFileSync('out.txt', JSON.stringify({ args: process.argv.slice(2), input: JSON.parse(readFileSync(0, 'utf8')), secret: process.env.SECRET ?? null }) + '\\n');
if (existsSync('sleep')) setTimeout(() => {}, 100_000);
else process.exit(existsSync('fail') ? 3 : 0);
`;
  const ENV = { PATH: process.env.PATH, SECRET: 'hunter2' };

  async function commandStage(command: string, message: string) {
    const receiver = await openReceiver();
    const built = await stage(receiver, {
      channels: `    prog: { command: ${command} }\n`,
      rules: '[{ on: [session.failed], to: [prog] }]',
      env: ENV,
      files: { 'prog.cjs': SCRIPT },
    });
    chmodSync(join(built.folder, 'prog.cjs'), 0o755);
    const notifications = built.create();
    const { started, next } = sessionOf(built.clock);
    notifications.observe(started);
    const fire = () => notifications.observe(next({ type: 'session.failed', error: { ...ERROR, message } }));
    const out = (): readonly Record<string, unknown>[] => {
      const file = join(built.folder, 'out.txt');
      return existsSync(file)
        ? readFileSync(file, 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line))
        : [];
    };
    return { ...built, notifications, fire, out };
  }

  it('gets each argument as one, whatever the message holds, and the whole as JSON', async () => {
    const evil = '$(touch pwned) `x`; rm -rf / "\n --help';
    const { fire, out, folder, notifications } = await commandStage(
      '[./prog.cjs, --title, "{agent} {type}", "{message}", "{session}|{run}|{url}", "{other", "{}"]',
      evil,
    );
    fire();
    await eventually(async () =>
      expect(await all(notifications)).toMatchObject([{ status: 'sent', kind: 'command' }]),
    );
    expect(out()).toMatchObject([
      {
        args: ['--title', 'tester session.failed', `tester failed: ${evil}`, 'ses_1||', '{other', '{}'],
        input: { type: 'session.failed', session: 'ses_1' },
        secret: null,
      },
    ]);
    expect(existsSync(join(folder, 'pwned'))).toBe(false);
  });

  it('is run again where it exits with another code than 0, and stopped where it takes too long', async () => {
    const { fire, out, folder, notifications, clock } = await commandStage('[./prog.cjs]', 'x');
    writeFileSync(join(folder, 'fail'), '');
    fire();
    const [waiting] = await eventually(async () => {
      const found = await notifications.list({ status: 'waiting', limit: 9 });
      expect(found).toMatchObject([{ attempts: 1, error: expect.stringContaining('exited with 3') }]);
      return found;
    });
    writeFileSync(join(folder, 'sleep'), '');
    await clock.advance((waiting?.nextAt ?? 0) - clock.now());
    await eventually(() => expect(out()).toHaveLength(2));
    await clock.advance(30_000);
    await eventually(async () => {
      await clock.advance(1_000);
      expect(await notifications.list({ status: 'waiting', limit: 9 })).toMatchObject([
        { attempts: 2, error: 'It was stopped after 30 s.' },
      ]);
    });
  });

  it('that is not there is given up, with its name', async () => {
    const { fire, notifications } = await commandStage('[no-such-program-here]', 'x');
    fire();
    await eventually(async () =>
      expect(await all(notifications)).toMatchObject([
        { status: 'dead', error: expect.stringContaining('"no-such-program-here"') },
      ]),
    );
  });
});

describe('the desktop', () => {
  const channels = '    me: { desktop: true }\n';
  const rules = '[{ on: [session.failed], to: [me] }]';

  it('is told by the program of the system, without options or a shell in between', async () => {
    const receiver = await openReceiver();
    const fake =
      '#!/bin/sh\nfor a in "$@"; do printf "%s\\n" "$a"; done >> "$OUT"\nprintf "%s\\n" "$DISPLAY" >> "$OUT"\n';
    const { clock, create, folder } = await stage(receiver, {
      channels,
      rules,
      files: { 'bin/notify-send': fake },
    });
    chmodSync(join(folder, 'bin/notify-send'), 0o755);
    const out = join(folder, 'out.txt');
    writeFileSync(join(folder, 'bin/notify-send'), fake.replaceAll('$OUT', out));
    const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, DISPLAY: ':7' };
    const notifications = create({ desktop: createDesktop({ platform: 'linux', env, clock }) });
    const { started, next } = sessionOf(clock);
    notifications.observe(started);
    notifications.observe(next({ type: 'session.failed', error: { ...ERROR, message: '--icon=/x $(id)' } }));
    await eventually(async () =>
      expect(await all(notifications)).toMatchObject([{ status: 'sent', kind: 'desktop' }]),
    );
    expect(readFileSync(out, 'utf8').trim().split('\n')).toEqual([
      '--app-name=telltale',
      '--',
      'telltale: tester',
      'tester failed: --icon=/x $(id)',
      ':7',
    ]);
  });

  it.each([
    ['linux', {}, /no desktop: DISPLAY/],
    ['linux', { DISPLAY: ':0', PATH: '/nowhere' }, /"notify-send" .* was not found/],
    ['aix', {}, /not supported on aix/],
  ] as const)('that is none (%s, %j) says so once', async (platform, env, error) => {
    const receiver = await openReceiver();
    const { clock, create } = await stage(receiver, { channels, rules });
    const notifications = create({ desktop: createDesktop({ platform, env, clock }) });
    const { started, next } = sessionOf(clock);
    notifications.observe(started);
    const dead = [{ status: 'dead', error: expect.stringMatching(error) }];
    for (let n = 0; n < 3; n++) {
      notifications.observe(next({ type: 'session.failed', error: ERROR }));
      await eventually(async () => expect(await all(notifications)).toMatchObject(dead));
      await clock.advance(60_000);
    }
    await notifications.close();
    expect(await all(notifications)).toHaveLength(1);
  });
});

describe('the pauses between tries', () => {
  it('grow, are off by a fifth at the most, and are as long as the receiver asks for, up to six hours', () => {
    const middle = Array.from({ length: MAX_TRIES - 1 }, (_, n) => pauseAfter(n + 1, 0.5) ?? 0);
    expect(middle).toEqual([...middle].sort((a, b) => a - b));
    expect(pauseAfter(MAX_TRIES, 0.5)).toBeUndefined();
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: MAX_TRIES - 1 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.nat(1e8),
        (tries, random, asked) => {
          const pause = pauseAfter(tries, random, asked) ?? 0;
          expect(pause).toBeGreaterThanOrEqual(
            Math.max((middle[tries - 1] ?? 0) * 0.8 - 1, Math.min(asked, 21_600_000)),
          );
          expect(pause).toBeLessThanOrEqual(
            Math.max((middle[tries - 1] ?? 0) * 1.2 + 1, Math.min(asked, 21_600_000)),
          );
        },
      ),
    );
    const now = Date.UTC(2026, 0, 1);
    expect(
      ['7', 'Thu, 01 Jan 2026 00:01:00 GMT', 'soon', '-5', null].map((text) => retryAfterMs(text, now)),
    ).toEqual([7_000, 60_000, 0, 0, 0]);
  });
});

import { createHash, createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { HookHeaders, Listening, OutsideOutcome } from '../../src/agent/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from '../../src/agent/runtime-types.ts';
import {
  beginRow,
  decideClaims,
  runSchedule,
  type ScheduleRow,
  withoutClaim,
} from '../../src/agent/triggers/schedule.ts';
import { createReplayGuard } from '../../src/agent/triggers/webhook.ts';
import { createEmbeddedEngine } from '../../src/engine/embedded-engine.ts';
import { openTimetable } from '../../src/engine/timetable.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import { unreachable } from '../../src/store/postgres/postgres-errors.ts';
import type { Store } from '../../src/store/store.ts';
import { mortal } from '../../src/testing/crash.ts';
import { moreRuns } from '../more-runs.ts';
import { eventually } from '../store/eventually.ts';
import { agentFolder, tool } from './run-agent.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const note = tool(
  'note',
  `const { appendFileSync } = await import('node:fs');
   appendFileSync(new URL('../notes.txt', import.meta.url), input.text + '\\n');`,
);

const notes = (folder: string): readonly string[] => {
  const file = join(folder, 'notes.txt');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

/** An agent whose workflow "w" has these triggers, and writes down what it was set off by. */
const folderOf = (triggers: string, ...more: readonly string[]): string =>
  agentFolder('import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\n', {
    ...note,
    'flows/w.yml': `kind: Workflow\nname: w\ntriggers: ${triggers}\nsteps:
  - { name: write, type: tool, target: note, parameters: { text: "\${trigger.due ?? none} \${trigger.missed ?? 0} \${trigger.id ?? none} \${trigger.event ?? none} \${trigger.body.ref ?? none}" } }
${more.map((line) => `  - ${line}\n`).join('')}`,
  });

const agentOf = (folder: string) => loadAgent('agent.yml', { cwd: folder });

const open: Runtime[] = [];
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close();
});
async function runtimeOf(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime(options);
  open.push(runtime);
  return runtime;
}

type Due = { readonly kind: string; readonly due: number; readonly missed: number };

/** Listens, and says what came due. */
async function listenTo(runtime: Runtime, folder: string): Promise<{ listening: Listening; dues: Due[] }> {
  const dues: Due[] = [];
  const listening = runtime.workflows.listen(await agentOf(folder), {
    onDue: (_trigger, outcome, { due, missed }) => dues.push({ kind: shown(outcome), due, missed }),
    onError: () => undefined,
  });
  return { listening, dues };
}

const shown = (outcome: OutsideOutcome) => (outcome.kind === 'suppressed' ? outcome.reason : outcome.kind);

const runsOf = async (store: Store) => (await store.list({ kind: 'run' })).map(({ stream }) => stream);

describe('a schedule', () => {
  const EVERY = '[{ type: schedule, every: 10m }]';

  it('has each time once, counted from when it was first kept, through restarts', async () => {
    const clock = createSimulatedClock();
    const start = clock.now();
    const store = createMemoryStore({ clock });
    const folder = folderOf(EVERY);
    const seen: number[] = [];
    for (const ms of [25 * MINUTE, 7 * MINUTE, MINUTE, 20 * MINUTE]) {
      const runtime = await runtimeOf({ store, clock, cwd: folder });
      const { listening, dues } = await listenTo(runtime, folder);
      await clock.advance(ms);
      listening.close();
      seen.push(...dues.map(({ due }) => (due - start) / MINUTE));
    }
    expect(seen).toEqual([10, 20, 30, 40, 50]);
    await eventually(async () => expect(new Set(await runsOf(store)).size).toBe(5));
  });

  /** Keeps a schedule for 35 minutes, lets nobody run for a time, and says what the next one does at once. */
  async function afterPause(trigger: string, pauseMs: number) {
    const clock = createSimulatedClock(Date.UTC(2026, 0, 1, 12));
    const store = createMemoryStore({ clock });
    const folder = folderOf(trigger);
    const first = await runtimeOf({ store, clock, cwd: folder });
    const before = await listenTo(first, folder);
    await eventually(async () => expect(await store.tables.get('schedules', 'tester:w#0')).toBeDefined());
    await eventually(() => expect(clock.pending).toBe(1));
    await clock.advance(35 * MINUTE);
    before.listening.close();
    await first.close();
    await clock.advance(pauseMs);
    const runtime = await runtimeOf({ store, clock, cwd: folder });
    const { listening, dues } = await listenTo(runtime, folder);
    await eventually(() => expect(clock.pending).toBeGreaterThan(0));
    await eventually(async () => {
      await clock.advance(0);
      const row = (await store.tables.get('schedules', 'tester:w#0')) as unknown as ScheduleRow;
      expect(row.pending).toEqual([]);
      expect(row.last).toBeGreaterThan(clock.now() - DAY);
    });
    listening.close();
    return { dues, now: clock.now(), runs: await runsOf(store) };
  }

  it.each([
    ['skip', 0, []],
    ['once', 0, []],
    ['all', 0, []],
    ['skip', 10 * MINUTE, [['missed', 1]]],
    ['once', 10 * MINUTE, [['started', 0]]],
    ['all', 10 * MINUTE, [['started', 0]]],
    ['skip', 65 * MINUTE, [['started', 6]]], // the last of the seven is of this very minute
    ['skip', 68 * MINUTE, [['missed', 7]]],
    ['once', 68 * MINUTE, [['started', 6]]],
    ['all', 68 * MINUTE, Array.from({ length: 7 }, () => ['started', 0])],
  ] as const)('with "missed: %s" after a pause of %i ms does %j', async (missed, pause, expected) => {
    const { dues, runs } = await afterPause(`[{ type: schedule, every: 10m, missed: ${missed} }]`, pause);
    expect(dues.map((each) => [each.kind, each.missed])).toEqual(expected);
    expect(runs).toHaveLength(3 + expected.filter(([kind]) => kind === 'started').length);
  });

  it('that made up for all would start a thousand runs makes up for the newest hundred, and says how many it left', async () => {
    const { dues, now } = await afterPause(`[{ type: schedule, every: 10m, missed: all }]`, 5 * DAY);
    expect(dues).toHaveLength(100);
    expect(dues[0]).toMatchObject({ kind: 'started', missed: 5 * 144 - 100 });
    expect(dues.slice(1).every(({ missed }) => missed === 0)).toBe(true);
    expect(now - (dues.at(-1)?.due ?? 0)).toBeLessThan(10 * MINUTE);
  });

  it('by cron makes up for what was missed in its own time zone', async () => {
    const { dues } = await afterPause(
      `[{ type: schedule, cron: "*/15 * * * *", timezone: Europe/Berlin, missed: all }]`,
      31 * MINUTE,
    );
    expect(dues.map(({ due }) => new Date(due).toISOString().slice(11, 16))).toEqual(['12:45', '13:00']);
  });

  it('whose times are changed begins anew, and makes up for nothing', async () => {
    const clock = createSimulatedClock(Date.UTC(2026, 0, 1, 12));
    const store = createMemoryStore({ clock });
    const keep = async (trigger: string, ms: number) => {
      const folder = folderOf(trigger);
      const runtime = await runtimeOf({ store, clock, cwd: folder });
      const { listening, dues } = await listenTo(runtime, folder);
      await clock.advance(ms);
      listening.close();
      return dues.map(({ due }) => new Date(due).toISOString().slice(11, 16));
    };
    expect(await keep('[{ type: schedule, every: 10m, missed: all }]', 25 * MINUTE)).toEqual([
      '12:10',
      '12:20',
    ]);
    await clock.advance(3 * HOUR);
    expect(await keep('[{ type: schedule, every: 7m, missed: all }]', 15 * MINUTE)).toEqual([
      '15:32',
      '15:39',
    ]);
    // Back as it was: what lay between is not its own.
    expect(await keep('[{ type: schedule, every: 10m, missed: all }]', 15 * MINUTE)).toEqual(['15:50']);
  });

  it('leaves its times to whoever has begun it anew with others', async () => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    const [old, fresh] = [folderOf(EVERY), folderOf('[{ type: schedule, every: 15m }]')];
    const first = await listenTo(await runtimeOf({ store, clock, cwd: old }), old);
    await clock.advance(MINUTE);
    const second = await listenTo(await runtimeOf({ store, clock, cwd: fresh }), fresh);
    await clock.advance(HOUR);
    expect(first.dues).toEqual([]);
    expect(second.dues).toHaveLength(4);
  });

  it.each(['schedule:claimed', 'schedule:started'])(
    'survives a death at %s: no time is lost, none is twice',
    async (point) => {
      const clock = createSimulatedClock();
      const start = clock.now();
      const home = createMemoryStore({ clock });
      const folder = folderOf('[{ type: schedule, every: 10m, missed: skip }]');
      const dying = mortal(home);
      let points = 0;
      const first = await runtimeOf({
        store: dying,
        clock,
        cwd: folder,
        crashPoint: (name) => {
          if (name === point && ++points === 2) dying.die();
        },
      });
      const before = await listenTo(first, folder);
      await clock.advance(20 * MINUTE);
      expect(points).toBe(2);
      before.listening.close();
      await first.close();
      const lost = point === 'schedule:claimed' ? 1 : 2;
      expect(await runsOf(home)).toHaveLength(lost);
      const runtime = await runtimeOf({ store: home, clock, cwd: folder });
      const { dues } = await listenTo(runtime, folder);
      await clock.advance(5_000);
      expect(dues).toEqual([]); // whoever claimed it might be alive
      await clock.advance(10_000);
      expect(dues).toMatchObject([{ kind: 'started', due: start + 20 * MINUTE }]);
      await runtime.workflows.idle();
      expect(await runsOf(home)).toHaveLength(2);
      await clock.advance(10 * MINUTE);
      expect(dues).toHaveLength(2);
      expect(await runsOf(home)).toHaveLength(3);
      expect(await home.tables.get('schedules', 'tester:w#0')).toMatchObject({ pending: [] });
    },
  );

  it('that waits for its turn when the process ends has its run after the next start, once the one before has ended', async () => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    const folder = folderOf(
      '[{ type: schedule, every: 10m, concurrency: { max: 1, when_busy: queue } }]',
      '{ name: hold, type: wait, event: custom }',
    );
    const first = await runtimeOf({ store, clock, cwd: folder });
    const before = await listenTo(first, folder);
    await clock.advance(20 * MINUTE);
    expect(before.dues.map(({ kind }) => kind)).toEqual(['started', 'waiting']);
    before.listening.close();
    await first.close();
    const runtime = await runtimeOf({ store, clock, cwd: folder });
    await listenTo(runtime, folder);
    await clock.advance(60_000);
    const [under = ''] = await runsOf(store);
    expect(await runsOf(store)).toEqual([under]);
    await runtime.workflows.signal(under, 'custom');
    await eventually(async () => {
      await clock.advance(2_000);
      expect(await runsOf(store)).toHaveLength(2);
    });
    const [next = ''] = await runsOf(store);
    const { origin } = await runtime.workflows.state(next);
    expect(origin.trigger?.seen).toMatchObject({ due: before.dues[1]?.due });
  });

  it('is tried again where the store fails, and says so', async () => {
    const clock = createSimulatedClock();
    const home = createMemoryStore({ clock });
    let failing = false;
    const store: Store = {
      ...home,
      tables: {
        ...home.tables,
        exchange: async (expected, writes) => {
          if (failing) throw new Error('the disk is gone');
          return home.tables.exchange(expected, writes);
        },
      },
    };
    const folder = folderOf(EVERY);
    const runtime = await runtimeOf({ store, clock, cwd: folder });
    const [dues, errors] = [[] as string[], [] as unknown[]];
    runtime.workflows.listen(await agentOf(folder), {
      onDue: (_trigger, { kind }) => dues.push(kind),
      onError: (thrown) => errors.push(thrown),
    });
    await clock.advance(9 * MINUTE);
    failing = true;
    await clock.advance(2 * MINUTE);
    expect(errors.length).toBeGreaterThan(1);
    expect(dues).toEqual([]);
    failing = false;
    await clock.advance(20_000);
    expect(dues).toEqual(['started']);
  });

  it('fires each time once over two processes on one SQLite file', async () => {
    const clock = createSimulatedClock();
    const start = clock.now();
    const folder = folderOf('[{ type: schedule, every: 10m, missed: all }]');
    const stores = await Promise.all(
      ['one', 'two'].map(() => openStore('sqlite:shared.db', { cwd: folder, clock, durability: 'process' })),
    );
    const all: Due[] = [];
    for (const store of stores) {
      const runtime = await runtimeOf({ store, clock, cwd: folder });
      runtime.workflows.listen(await agentOf(folder), {
        onDue: (_trigger, { kind }, due) => all.push({ kind, ...due }),
      });
    }
    const [first] = stores as [Store];
    const row = async () => (await first.tables.get('schedules', 'tester:w#0')) as unknown as ScheduleRow;
    await eventually(() => expect(clock.pending).toBe(2));
    for (let n = 1; n <= 12; n++) {
      await clock.advance(10 * MINUTE);
      await eventually(async () =>
        expect(await row()).toMatchObject({ last: start + n * 10 * MINUTE, pending: [] }),
      );
    }
    const times = all.map(({ due }) => (due - start) / (10 * MINUTE));
    expect(times).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    for (const runtime of open.splice(0)) await runtime.close();
    expect(await runsOf(first)).toHaveLength(12);
    for (const store of stores) await store.close();
  });

  it('whatever the pauses, loses no time and claims none twice', async () => {
    const timetable = await openTimetable('s', { everyMs: 100, from: 0 });
    fc.assert(
      fc.property(
        fc.array(fc.record({ ms: fc.integer({ min: 0, max: 3_000 }), dies: fc.boolean() }), {
          maxLength: 30,
        }),
        (steps) => {
          let row = beginRow('s', 0);
          let now = 0;
          const fired = new Map<number, number>();
          for (const { ms, dies } of steps) {
            now += ms;
            const claims = decideClaims({
              row,
              now,
              missed: 'all',
              held: new Set(),
              claimMs: 500,
              dues: timetable.between(row.last, now),
            });
            row = claims?.row ?? row;
            if (dies) continue; // claimed, and nothing started
            for (const { due } of claims?.fire ?? []) {
              fired.set(due, (fired.get(due) ?? 0) + 1);
              row = withoutClaim(row, due);
            }
          }
          const open = new Set(row.pending.map(({ due }) => due));
          for (let due = 100; due <= row.last; due += 100)
            expect((fired.get(due) ?? 0) + (open.has(due) ? 1 : 0)).toBe(1);
        },
      ),
    );
  });

  describe('of several processes', () => {
    /** Processes on one store, whose clocks are off by that. */
    function house() {
      const clock = createSimulatedClock(Date.UTC(2026, 0, 1));
      const { tables } = createMemoryStore({ clock });
      const fired: string[] = [];
      const keep = (who: string, everyMs: number, aheadMs = 0) => {
        const own: Clock = { ...clock, now: () => clock.now() + aheadMs };
        const engine = createEmbeddedEngine({ store: createMemoryStore({ clock }), clock: own, onError });
        const end = runSchedule(
          { engine, tables, clock: own, onError },
          {
            name: 'tester:w#0',
            trigger: {
              type: 'schedule',
              id: 'w#0',
              workflow: 'w',
              pacing: {},
              missed: 'once',
              schedule: { everyMs },
            },
            async fire({ due }, over) {
              fired.push(who);
              over();
              return { kind: 'started', run: String(due) };
            },
            onDue: () => undefined,
          },
        );
        return async () => {
          end();
          await engine.close();
        };
      };
      /** Who had how many times in that while. */
      const during = async (ms: number): Promise<Readonly<Record<string, number>>> => {
        fired.splice(0);
        for (let at = 0; at < ms; at += 30_000) {
          await clock.advance(30_000);
          for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        }
        return Object.fromEntries(
          [...new Set(fired)].map((who) => [who, fired.filter((w) => w === who).length]),
        );
      };
      return { keep, during };
    }
    const onError = (thrown: unknown) => expect.unreachable(String(thrown));

    it('goes on by the new times when a process with old ones was the last to start, and is gone', async () => {
      const { keep, during } = house();
      const endNew = keep('new', 2 * MINUTE);
      expect(await during(20 * MINUTE)).toEqual({ new: 10 });
      const endOld = keep('old', 3 * MINUTE);
      expect(await during(12 * MINUTE)).toEqual({ old: 4 });
      await endOld();
      await during(6 * MINUTE);
      expect(await during(30 * MINUTE)).toEqual({ new: 15 });
      await endNew();
    });

    it('is not silenced by one whose clock is an hour ahead', async () => {
      const { keep, during } = house();
      const endRight = keep('right', 2 * MINUTE);
      expect(await during(20 * MINUTE)).toEqual({ right: 10 });
      const endFast = keep('fast', 2 * MINUTE, HOUR);
      expect((await during(4 * MINUTE)).fast).toBeGreaterThan(0);
      await endFast();
      expect(await during(20 * MINUTE)).toEqual({ right: 10 });
      await endRight();
    });

    it('is not silenced by one that was begun by such a clock', async () => {
      const { keep, during } = house();
      const endFast = keep('fast', 2 * MINUTE, HOUR);
      await during(4 * MINUTE);
      await endFast();
      const endRight = keep('right', 2 * MINUTE);
      expect((await during(20 * MINUTE)).right).toBeGreaterThanOrEqual(9);
      await endRight();
    });

    it('has the same times in all that have begun it, also where it was begun anew meanwhile', async () => {
      const { keep, during } = house();
      const ends = [keep('a', 10 * MINUTE)];
      await during(3 * MINUTE);
      const endOld = keep('old', 7 * MINUTE);
      await during(MINUTE);
      await endOld();
      ends.push(keep('b', 10 * MINUTE));
      const { a = 0, b = 0 } = await during(100 * MINUTE);
      expect(a + b).toBe(10);
      for (const end of ends) await end();
    });
  });

  it('has the same times looking back as looking on, also where clocks are set', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('*/20 * * * *', '30 2 * * *', '5 1-3 * * *', '0 3 * * SUN', '0 0 1 * *'),
        fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'),
        fc.integer({ min: Date.UTC(2026, 2, 1), max: Date.UTC(2026, 10, 10) }),
        fc.integer({ min: 0, max: 30 * HOUR }),
        async (cron, timezone, after, span) => {
          const timetable = await openTimetable('s', { cron, timezone });
          const onward: number[] = [];
          for (
            let at = timetable.next(after);
            at !== undefined && at <= after + span;
            at = timetable.next(at)
          )
            onward.push(at);
          const { newest, older } = timetable.between(after, after + span);
          expect(newest).toEqual(onward.slice(-100));
          expect(older).toBe(Math.max(0, onward.length - 100));
        },
      ),
      { numRuns: moreRuns(30) },
    );
  });
});

/** Written from standardwebhooks.com, apart from what the runtime does. */
function standard(
  body: string,
  { id = 'msg_1', at = Date.now(), secret = 's3cret' }: { id?: string; at?: number; secret?: string } = {},
): HookHeaders {
  const stamp = String(Math.floor(at / 1_000));
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const signature = createHmac('sha256', key).update(`${id}.${stamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': stamp, 'webhook-signature': `v1,${signature}` };
}

describe('a hook', () => {
  const WHSEC = `whsec_${Buffer.from('a key of 24 random bytes').toString('base64')}`;
  const HOOK = `[{ type: webhook, hook: pushed, secret: s3cret }, { type: webhook, hook: binary, secret: "${WHSEC}" }]`;
  const body = JSON.stringify({ ref: 'main' });

  async function stage(triggers = HOOK, ...steps: readonly string[]) {
    const clock = createSimulatedClock(Date.UTC(2026, 5, 1));
    const store = createMemoryStore({ clock });
    const folder = folderOf(triggers, ...steps);
    const runtime = await runtimeOf({ store, clock, cwd: folder });
    const listening = runtime.workflows.listen(await agentOf(folder));
    const signed = (text: string, options: { id?: string; at?: number; secret?: string } = {}) =>
      standard(text, { at: clock.now(), ...options });
    return { clock, store, folder, runtime, listening, signed };
  }

  it('starts its workflow with what was posted, and the run says which hook and which message', async () => {
    const { listening, folder, runtime, signed } = await stage();
    expect(listening.hooks).toEqual(['pushed', 'binary']);
    const outcome = await listening.deliver('pushed', body, signed(body, { id: 'msg_a' }));
    expect(outcome).toMatchObject({ kind: 'started' });
    const { run = '' } = outcome as { run?: string };
    const state = await runtime.workflows.state(run);
    expect(state.origin.trigger).toMatchObject({
      id: 'w#0',
      seen: { type: 'webhook', hook: 'pushed', id: 'msg_a', body: { ref: 'main' } },
    });
    await eventually(() => expect(notes(folder)).toEqual(['none 0 msg_a none main']));
  });

  it('takes a secret in base64, one of several signatures, and a body of bytes', async () => {
    const { listening, clock, signed } = await stage();
    const headers = signed(body, { secret: WHSEC });
    const several = `v1a,xyz v1,AAAA ${headers['webhook-signature']}`;
    const bytes = new TextEncoder().encode(body);
    expect(
      await listening.deliver('binary', bytes, { ...headers, 'webhook-signature': several }),
    ).toMatchObject({
      kind: 'started',
    });
    const known = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
    const vector = createHmac('sha256', Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'))
      .update('msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}')
      .digest('base64');
    expect(`v1,${vector}`).toBe(known); // the specification's own example
    expect(clock.now()).toBeGreaterThan(0);
  });

  it.each([
    ['another secret', { secret: 'guess' }, {}, 'bad_signature', /not signed with its secret/],
    ['another body', {}, { body: '{"ref":"evil"}' }, 'bad_signature', /not signed/],
    ['no id', {}, { 'webhook-id': undefined }, 'bad_signature', /no header "webhook-id"/],
    ['no time', {}, { 'webhook-timestamp': undefined }, 'bad_signature', /no header "webhook-timestamp"/],
    ['no signature', {}, { 'webhook-signature': '' }, 'bad_signature', /no header "webhook-signature"/],
    ['another id', {}, { 'webhook-id': 'msg_2' }, 'bad_signature', /not signed/],
    ['a version that nobody knows', {}, { 'webhook-signature': 'v9,AAAA' }, 'bad_signature', /not signed/],
    ['an id with a space', { id: 'a b' }, {}, 'bad_request', /no id/],
    ['a time too long ago', { at: -5 * MINUTE - 1_000 }, {}, 'hook_stale', /is of the time/],
    ['a time too far ahead', { at: 5 * MINUTE + 1_000 }, {}, 'hook_stale', /is of the time/],
  ] as const)('starts nothing for %s', async (_what, options, change, code, message) => {
    const { listening, clock, store, signed } = await stage();
    const { at = 0, ...rest } = options as { at?: number; secret?: string; id?: string };
    const { body: sent = body, ...headers } = change as Record<string, string>;
    await expect(
      listening.deliver('pushed', sent, { ...signed(body, { ...rest, at: clock.now() + at }), ...headers }),
    ).rejects.toMatchObject({ code, message: expect.stringMatching(message), hint: expect.any(String) });
    expect(await runsOf(store)).toEqual([]);
    // An id is not used up by a refusal.
    expect(await listening.deliver('pushed', body, signed(body))).toMatchObject({ kind: 'started' });
  });

  it('takes a time that is five minutes off, either way', async () => {
    const { listening, clock, signed } = await stage();
    for (const [id, off] of [
      ['early', 5 * MINUTE],
      ['late', -5 * MINUTE],
    ] as const)
      expect(
        await listening.deliver('pushed', body, signed(body, { id, at: clock.now() + off })),
      ).toMatchObject({
        kind: 'started',
      });
  });

  it('starts nothing for a message that came before, and says so with its run, also after a restart', async () => {
    const { listening, clock, store, folder, runtime, signed } = await stage();
    const first = await listening.deliver('pushed', body, signed(body));
    expect(first.kind).toBe('started');
    const replayed = { ...first, kind: 'replayed' };
    expect(await listening.deliver('pushed', body, signed(body))).toEqual(replayed);
    listening.close();
    await runtime.close();
    await clock.advance(3 * HOUR);
    const next = await runtimeOf({ store, clock, cwd: folder });
    const again = next.workflows.listen(await agentOf(folder));
    // An honest sender stamps what it sends again.
    expect(await again.deliver('pushed', body, signed(body))).toEqual(replayed);
    expect(await runsOf(store)).toHaveLength(1);
  });

  it('refuses an id that stood for something else', async () => {
    const { listening, signed, store } = await stage();
    await listening.deliver('pushed', body, signed(body));
    const other = '{"ref":"other"}';
    await expect(listening.deliver('pushed', other, signed(other))).rejects.toMatchObject({
      code: 'hook_replayed',
    });
    expect(await runsOf(store)).toHaveLength(1);
    expect(await listening.deliver('binary', other, signed(other, { secret: WHSEC }))).toMatchObject({
      kind: 'started',
    });
  });

  it('takes one of many that come at once', async () => {
    const { listening, signed, store } = await stage();
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, () => listening.deliver('pushed', body, signed(body))),
    );
    const kinds = all.map((each) => (each.status === 'fulfilled' ? each.value.kind : each.reason.code));
    expect(kinds.filter((kind) => kind === 'started')).toHaveLength(1);
    expect(new Set(kinds)).toEqual(new Set(['started', 'hook_replayed']));
    expect(await runsOf(store)).toHaveLength(1);
  });

  it.each(['hook:claimed', 'hook:started'])(
    'has the run of a message whose taker died at %s when it is sent again, once',
    async (point) => {
      const clock = createSimulatedClock(Date.UTC(2026, 5, 1));
      const home = createMemoryStore({ clock });
      const folder = folderOf(HOOK);
      const dying = mortal(home);
      const first = await runtimeOf({
        store: dying,
        clock,
        cwd: folder,
        crashPoint: (name) => {
          if (name === point) dying.die();
        },
      });
      const dead = first.workflows.listen(await agentOf(folder));
      const headers = () => standard(body, { at: clock.now() });
      await expect(dead.deliver('pushed', body, headers())).rejects.toMatchObject({ code: 'store_failed' });
      dead.close();
      await first.close();
      const runtime = await runtimeOf({ store: home, clock, cwd: folder });
      const listening = runtime.workflows.listen(await agentOf(folder));
      await expect(listening.deliver('pushed', body, headers())).rejects.toMatchObject({
        code: 'hook_replayed',
        retryable: true,
      });
      await clock.advance(MINUTE);
      expect(await listening.deliver('pushed', body, headers())).toMatchObject({
        kind: point === 'hook:claimed' ? 'started' : 'replayed',
        run: expect.stringMatching(/^run_/),
      });
      expect(await runsOf(home)).toHaveLength(1);
      expect(await listening.deliver('pushed', body, headers())).toMatchObject({ kind: 'replayed' });
    },
  );

  it('takes what GitHub sends, once for each delivery and for each body', async () => {
    const { listening, folder, store } = await stage(
      '[{ type: webhook, hook: git, secret: s3cret, signature: github }]',
    );
    const signed = (text: string, id: string) => ({
      'x-hub-signature-256': `sha256=${createHmac('sha256', 's3cret').update(text).digest('hex')}`,
      'x-github-delivery': id,
      'x-github-event': 'push',
    });
    expect(await listening.deliver('git', body, signed(body, 'one'))).toMatchObject({ kind: 'started' });
    expect(await listening.deliver('git', body, signed(body, 'one'))).toMatchObject({ kind: 'replayed' });
    // Anybody can write another id in front of it.
    expect(await listening.deliver('git', body, signed(body, 'two'))).toMatchObject({ kind: 'replayed' });
    const other = '{"ref":"other"}';
    await expect(listening.deliver('git', other, signed(other, 'one'))).rejects.toMatchObject({
      code: 'hook_replayed',
    });
    expect(await listening.deliver('git', other, signed(other, 'three'))).toMatchObject({ kind: 'started' });
    await expect(
      listening.deliver('git', body, { ...signed('x', 'four'), 'x-hub-signature-256': 'sha256=00' }),
    ).rejects.toMatchObject({ code: 'bad_signature', hint: expect.stringContaining('x-hub-signature-256') });
    await expect(listening.deliver('git', body, standard(body))).rejects.toMatchObject({
      code: 'bad_signature',
    });
    expect(await runsOf(store)).toHaveLength(2);
    await eventually(() =>
      expect([...notes(folder)].sort()).toEqual(['none 0 one push main', 'none 0 three push other']),
    );
  });

  it('says which hooks there are, and what is too long', async () => {
    const { listening, signed } = await stage();
    await expect(listening.deliver('pushd', body, {})).rejects.toMatchObject({
      code: 'hook_unknown',
      hint: 'Did you mean "pushed"?',
    });
    const long = 'x'.repeat(1024 * 1024 + 1);
    await expect(listening.deliver('pushed', long, signed(long))).rejects.toMatchObject({
      code: 'hook_too_large',
    });
  });

  it('says where the pace of its trigger keeps it back', async () => {
    const { listening, signed } = await stage(
      '[{ type: webhook, hook: pushed, secret: s3cret, concurrency: { max: 1, when_busy: skip } }]',
      '{ name: hold, type: wait, event: custom }',
    );
    expect(await listening.deliver('pushed', body, signed(body))).toMatchObject({ kind: 'started' });
    expect(await listening.deliver('pushed', body, signed(body, { id: 'msg_2' }))).toEqual({
      kind: 'suppressed',
      reason: 'busy',
    });
    expect(await listening.deliver('pushed', body, signed(body, { id: 'msg_2' }))).toEqual({
      kind: 'replayed',
    });
  });

  it('has no more runs under way than its trigger allows, over two processes on one SQLite file', async () => {
    const clock = createSimulatedClock();
    const folder = folderOf(
      '[{ type: webhook, hook: pushed, secret: s3cret, concurrency: { max: 2, when_busy: queue } }]',
      '{ name: hold, type: wait, event: custom }',
    );
    const stores = await Promise.all(
      ['one', 'two'].map(() => openStore('sqlite:shared.db', { cwd: folder, clock, durability: 'process' })),
    );
    const processes: { readonly runtime: Runtime; readonly listening: Listening }[] = [];
    for (const store of stores) {
      const runtime = await runtimeOf({ store, clock, cwd: folder });
      processes.push({ runtime, listening: runtime.workflows.listen(await agentOf(folder)) });
    }
    const [store] = stores as [Store];
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        processes[n % 2]?.listening.deliver(
          'pushed',
          body,
          standard(body, { id: `msg_${n}`, at: clock.now() }),
        ),
      ),
    );
    expect(outcomes.map((outcome) => outcome?.kind).sort()).toEqual([
      'started',
      'started',
      'waiting',
      'waiting',
      'waiting',
      'waiting',
    ]);
    for (let ended = 0; ended < 6; ended++) {
      const under = await eventually(async () => {
        await clock.advance(2_000); // one process looks for ends in the other
        const all = await store.list({ kind: 'run', status: ['running', 'waiting'] });
        expect(all.length).toBe(Math.min(2, 6 - ended));
        return all;
      });
      await processes[0]?.runtime.workflows.signal(under[0]?.stream ?? '', 'custom');
      await eventually(async () => {
        await clock.advance(500);
        expect(await store.list({ kind: 'run', status: ['completed'] })).toHaveLength(ended + 1);
      });
    }
    expect(await store.tables.keys('gates_seen')).toEqual([]);
    for (const runtime of open.splice(0)) await runtime.close();
    for (const each of stores) await each.close();
  });

  it('that could not be started may be sent again', async () => {
    const { listening, signed, store } = await stage();
    const begin = store.begin;
    (store as { begin: Store['begin'] }).begin = () => {
      throw new Error('the disk is full');
    };
    await expect(listening.deliver('pushed', body, signed(body))).rejects.toThrow('the disk is full');
    (store as { begin: Store['begin'] }).begin = begin;
    expect(await listening.deliver('pushed', body, signed(body))).toMatchObject({ kind: 'started' });
  });

  it.each([0, 1])(
    'whose run may be on its log, since the store went away at its making, has no second run when it is sent again (%i there)',
    async (there) => {
      const { listening, signed, store, clock } = await stage();
      const { begin } = store;
      (store as { begin: Store['begin'] }).begin = (stream, head) => {
        if (there === 0) throw unreachable('db.example.com/agents', 'the connection broke');
        const { writer, made } = begin(stream, head);
        return {
          writer,
          made: made.then(() => Promise.reject(unreachable('db.example.com/agents', 'the connection broke'))),
        };
      };
      await expect(listening.deliver('pushed', body, signed(body))).rejects.toMatchObject({
        code: 'store_unreachable',
      });
      (store as { begin: Store['begin'] }).begin = begin;
      expect(await runsOf(store)).toHaveLength(there);
      await clock.advance(2_000);
      const again = await listening.deliver('pushed', body, signed(body));
      expect(again.kind).toBe(there === 0 ? 'started' : 'replayed');
      expect(await runsOf(store)).toEqual([(again as { run?: string }).run]);
    },
  );

  it('says what went wrong at its start, also where the claim cannot be given back', async () => {
    const { listening, signed, store } = await stage();
    const { exchange } = store.tables;
    (store as { begin: Store['begin'] }).begin = () => {
      (store.tables as { exchange: typeof exchange }).exchange = () => Promise.reject(new Error('away'));
      throw unreachable('db.example.com/agents', 'the connection broke');
    };
    await expect(listening.deliver('pushed', body, signed(body))).rejects.toMatchObject({
      code: 'store_unreachable',
    });
  });

  it('that took too long does not undo what another process has made of the message', async () => {
    const clock = createSimulatedClock();
    const { tables } = createMemoryStore({ clock });
    const guard = createReplayGuard(tables, clock, 'tester');
    const take = () => guard.take('paid', 'standard', { id: 'msg_1', bodyHash: 'h' });
    const slow = await take();
    await clock.advance(30_000);
    const quick = await take();
    if (slow.kind !== 'first' || quick.kind !== 'first') throw new Error('Both were to take it.');
    expect(quick.since).toBe(slow.since);
    await quick.over('run_1');
    await slow.release();
    expect(await take()).toEqual({ kind: 'known', run: 'run_1' });
  });

  it('keeps no secret in what it remembers', async () => {
    const { listening, signed, store } = await stage();
    await listening.deliver('pushed', body, signed(body));
    const keys = await store.tables.keys('hooks');
    expect(keys).toHaveLength(1);
    const row = await store.tables.get('hooks', keys[0] ?? '');
    expect(row).toMatchObject({ body: createHash('sha256').update(body).digest('hex'), over: true });
    expect(JSON.stringify([keys, row])).not.toContain('s3cret');
  });
});

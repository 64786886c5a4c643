import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually, PATIENT } from '../store/eventually.ts';
import { checkEvidence } from './check-evidence.ts';
import { INVARIANTS, type Invariant } from './evidence.ts';
import { type FaultProxy, openFaultProxy } from './fault-proxy.ts';
import { openJournal } from './journal.ts';
import { kindsOf, planFaults } from './plan-faults.ts';
import { type Body, type Draft, evidenceOf, soundDraft } from './sound-evidence.ts';

const bodyOf = (draft: Draft, stream: string, type: string, nth = 0): Body =>
  draft.logs.get(stream)?.events.filter((event) => event.type === type)[nth] as Body;
const add = (draft: Draft, stream: string, ...bodies: Body[]) =>
  draft.logs.get(stream)?.events.splice(-1, 0, ...bodies);
const drop = (draft: Draft, stream: string, type: string) => {
  const log = draft.logs.get(stream);
  if (log !== undefined) log.events = log.events.filter((event) => event.type !== type);
};
const journalled = (draft: Draft, what: 'before' | 'after', tool: string, key: string) =>
  draft.journal.push({ what, tool, key, pid: 2, at: 2 });

/** Each does one thing wrong, and the invariant that has to notice it; another may, too. */
const WRONG: readonly (readonly [Invariant, string, (draft: Draft) => void])[] = [
  [
    'ended',
    'a run that never ends',
    (draft) => Object.assign(draft.logs.get('tick1') ?? {}, { status: 'running' }),
  ],
  [
    'ended',
    'a session that fails',
    (draft) => Object.assign(draft.logs.get('talk') ?? {}, { status: 'failed' }),
  ],
  [
    'effects',
    'a step that has completed and was never done',
    (draft) => {
      draft.journal = draft.journal.filter(({ key }) => key !== 'hooked:small_end');
    },
  ],
  [
    'once',
    'what may not be done twice, done twice',
    (draft) => journalled(draft, 'before', 'once', 'talk:o1'),
  ],
  ['again', 'what had completed, done again', (draft) => journalled(draft, 'before', 'keep', 'talk:k2')],
  [
    'doubt',
    'an interrupted step that may be done again',
    (draft) => add(draft, 'hooked', { type: 'step.interrupted', step: 'small_keep', attempt: 1 }),
  ],
  [
    'doubt',
    'an interrupted action that had not begun',
    (draft) => {
      drop(draft, 'talk', 'action.started');
      add(draft, 'talk', { type: 'action.interrupted', id: 'o1', attempt: 1 });
    },
  ],
  ['intent', 'an effect that no log knows of', (draft) => journalled(draft, 'before', 'keep', 'talk:k9')],
  ['intent', 'an effect of what never began on the log', (draft) => drop(draft, 'talk', 'action.started')],
  [
    'settled',
    'a step that ends twice',
    (draft) =>
      add(draft, 'hooked', {
        type: 'step.failed',
        step: 'small_end',
        error: { code: 'x', message: '', retryable: false },
      }),
  ],
  ['settled', 'an action without an end', (draft) => drop(draft, 'talk', 'action.completed')],
  [
    'order',
    'a step that begins before the one in front of it has ended',
    (draft) => {
      const events = draft.logs.get('hooked')?.events ?? [];
      events.splice(1, 0, ...events.splice(3, 1));
    },
  ],
  [
    'order',
    'an effect before that of what it depends on',
    (draft) => {
      const at = draft.journal.findIndex(({ key }) => key === 'talk:o1');
      draft.journal.splice(
        at,
        0,
        ...draft.journal.splice(
          draft.journal.findIndex(({ key }) => key === 'talk:k2'),
          1,
        ),
      );
    },
  ],
  [
    'skips',
    'an action that was skipped though the <parallel> which it needs was closed',
    (draft) => {
      bodyOf(draft, 'cut', 'model.output').text += '</parallel>';
    },
  ],
  [
    'skips',
    'an action that was skipped because of one which was not interrupted',
    (draft) => Object.assign(bodyOf(draft, 'cut', 'action.skipped'), { because: 'k3' }),
  ],
  [
    'skips',
    'an action that was skipped because of one which it does not need',
    (draft) => {
      add(draft, 'talk', { type: 'action.interrupted', id: 'k2', attempt: 1 });
      add(draft, 'talk', { type: 'action.skipped', id: 'o1', reason: 'dependency', because: 'k2' });
    },
  ],
  [
    'skips',
    'an action that was skipped for another reason',
    (draft) => Object.assign(bodyOf(draft, 'cut', 'action.skipped'), { reason: 'unknown_dependency' }),
  ],
  ['gapless', 'a gap', (draft) => Object.assign(bodyOf(draft, 'chain', 'timer.set'), { seq: 99 })],
  [
    'causes',
    'an event that brought itself about',
    (draft) =>
      Object.assign(bodyOf(draft, 'chain', 'timer.set'), { cause: { stream: 'chain', seq: 99, depth: 1 } }),
  ],
  [
    'causes',
    'an event that came of one that is nowhere',
    (draft) =>
      Object.assign(bodyOf(draft, 'follow', 'workflow.started'), {
        cause: { stream: 'talk', seq: 99, depth: 1 },
      }),
  ],
  [
    'causes',
    'an event that nothing brought about',
    (draft) => Object.assign(bodyOf(draft, 'chain', 'timer.set'), { cause: undefined }),
  ],
  ['forks', 'a log that once read otherwise', (draft) => draft.seen.set('chain', ['{"seq":1,"other":true}'])],
  ['forks', 'a log that was longer once', (draft) => draft.seen.set('gone', ['{"seq":1}'])],
  ['forks', 'an epoch that falls', (draft) => draft.owned.push({ stream: 'chain', epoch: 1, owner: '3/3' })],
  [
    'forks',
    'two owners of one epoch',
    (draft) => draft.owned.push({ stream: 'chain', epoch: 2, owner: '3/3' }),
  ],
  [
    'waits',
    'a wait that fires twice',
    (draft) => add(draft, 'chain', { type: 'timer.fired', id: 'nap', at: 9 }),
  ],
  [
    'waits',
    'a wait that is set twice',
    (draft) => add(draft, 'chain', { type: 'timer.set', id: 'nap', due: 5 }),
  ],
  ['waits', 'a wait that never fires', (draft) => drop(draft, 'chain', 'timer.fired')],
  [
    'waits',
    'a wait that fires early',
    (draft) => Object.assign(bodyOf(draft, 'chain', 'timer.fired'), { at: 4 }),
  ],
  ['messages', 'a signal that is lost', (draft) => drop(draft, 'signals', 'signal.received')],
  [
    'messages',
    'a signal that comes twice',
    (draft) => add(draft, 'signals', { ...bodyOf(draft, 'signals', 'signal.received') }),
  ],
  ['messages', 'a message that is lost', (draft) => drop(draft, 'talk', 'message.received')],
  [
    'begun',
    'a request that begins two runs',
    (draft) => draft.logs.set('twin', structuredClone(draft.logs.get('chain')) as never),
  ],
  [
    'begun',
    'a request that was taken and began nothing',
    (draft) => draft.asked.push({ kind: 'start', token: 'c2', acked: true }),
  ],
  [
    'begun',
    'a hook that nobody took and that runs twice',
    (draft) => {
      for (const id of ['one', 'two']) {
        const log = structuredClone(draft.logs.get('hooked')) as never as { events: Body[] };
        Object.assign(log.events[0] ?? {}, {
          origin: { chain: [], agents: [], trigger: { id: 'hooked#0', seen: { id: 'h2' } } },
        });
        draft.logs.set(id, log as never);
      }
    },
  ],
  [
    'schedules',
    'a time with two runs',
    (draft) => draft.logs.set('tick3', structuredClone(draft.logs.get('tick2')) as never),
  ],
  [
    'schedules',
    'a time without a run',
    (draft) =>
      Object.assign(bodyOf(draft, 'tick2', 'workflow.started').origin as object, {
        trigger: { id: 'tick#0', seen: { due: 9_000 } },
      }),
  ],
  ['triggers', 'a trigger that fired and has no run', (draft) => draft.logs.delete('follow')],
  ['triggers', 'a run that no trigger set off', (draft) => drop(draft, 'talk', 'trigger.fired')],
  [
    'calls',
    'a caller that got something else',
    (draft) => Object.assign(bodyOf(draft, 'chain.below', 'workflow.completed'), { output: 'other' }),
  ],
  ['reviews', 'a question without an answer', (draft) => drop(draft, 'signals', 'review.resolved')],
  [
    'reviews',
    'a question with two answers',
    (draft) => add(draft, 'signals', { type: 'review.resolved', review: 'rev_1' }),
  ],
  [
    'answers',
    'another answer',
    (draft) => Object.assign(bodyOf(draft, 'talk', 'session.completed'), { result: 'mumbled' }),
  ],
  [
    'answers',
    'an answer without the result of an action that has completed',
    (draft) =>
      Object.assign(bodyOf(draft, 'talk', 'session.completed'), {
        result: 'k2 is [unavailable: k2: it failed].\nk4 is x.',
      }),
  ],
  [
    'answers',
    'an answer with the result of an action that was skipped',
    (draft) => Object.assign(bodyOf(draft, 'cut', 'session.completed'), { result: 'k2 is x.\nk4 is x.' }),
  ],
];

describe('the checker', () => {
  const invariantsOf = (draft: Draft) =>
    new Set(checkEvidence(evidenceOf(draft)).breaches.map(({ invariant }) => invariant));

  it('finds nothing where all is as it should be, and has looked at everything', () => {
    const { breaches, checked } = checkEvidence(evidenceOf(soundDraft()));
    expect(breaches).toEqual([]);
    expect(Object.entries(checked).filter(([name, count]) => count === 0 && name !== 'doubt')).toEqual([]);
  });

  it.each(WRONG)('finds by "%s": %s', (invariant, _what, spoil) => {
    const draft = soundDraft();
    spoil(draft);
    expect(invariantsOf(draft)).toContain(invariant);
  });

  it('can find every invariant broken', () => {
    expect([...new Set(WRONG.map(([invariant]) => invariant))].sort()).toEqual(
      Object.keys(INVARIANTS).sort(),
    );
  });

  it('lets what may be done again be done again before it has completed, and what was in doubt be interrupted', () => {
    const draft = soundDraft();
    draft.completedAt.delete('talk:k2');
    journalled(draft, 'before', 'keep', 'talk:k2');
    add(draft, 'hooked', { type: 'step.interrupted', step: 'small_once', attempt: 1 });
    expect([...invariantsOf(draft)]).toEqual([]);
  });

  it('counts a message that came too late and is still in the inbox as kept', () => {
    const draft = soundDraft();
    drop(draft, 'talk', 'message.received');
    Object.assign(draft.logs.get('talk') ?? {}, { left: 1 });
    expect([...invariantsOf(draft)]).toEqual([]);
  });

  it('lets a schedule leave times out where clocks were set', () => {
    const draft = soundDraft();
    draft.clocksSet = true;
    Object.assign(bodyOf(draft, 'tick2', 'workflow.started').origin as object, {
      trigger: { id: 'tick#0', seen: { due: 9_000 } },
    });
    expect([...invariantsOf(draft)]).toEqual([]);
  });
});

describe('a plan of faults', () => {
  const plan = (seed: number, faults: number, home: 'sqlite' | 'postgres') =>
    planFaults({ seed, faults, home, workers: 3, leaseMs: 1_000 });

  it('is the same for the same seed, and another for another', () => {
    expect(plan(7, 100, 'postgres')).toEqual(plan(7, 100, 'postgres'));
    expect(plan(7, 100, 'postgres')).not.toEqual(plan(8, 100, 'postgres'));
  });

  it.each(['sqlite', 'postgres'] as const)('of %s has every kind before any comes often', (home) => {
    const kinds = kindsOf(home);
    for (const seed of [1, 2, 3]) {
      const first = plan(seed, kinds.length, home).map(({ kind }) => kind);
      expect(first.sort()).toEqual([...kinds].sort());
    }
  });

  it('leaves out what cannot be had', () => {
    const without = planFaults({
      seed: 1,
      faults: 50,
      home: 'sqlite',
      workers: 2,
      leaseMs: 1,
      without: ['disk-full'],
    });
    expect(without.some(({ kind }) => kind === 'disk-full')).toBe(false);
    expect(without).toHaveLength(50);
  });

  it('stops most workers for longer than the lease, and some for less', () => {
    const stops = plan(1, 400, 'postgres').filter(({ kind }) => kind === 'stop');
    expect(stops.filter(({ ms }) => ms > 1_000).length).toBeGreaterThan(stops.length / 2);
    expect(stops.some(({ ms }) => ms < 1_000)).toBe(true);
  });
});

it('the journal is read on where it stopped, and a line that is not whole is left for later', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'telltale-journal-')), 'journal.jsonl');
  const journal = openJournal(file);
  expect(journal.read()).toEqual([]);
  const line = (key: string) => JSON.stringify({ what: 'before', tool: 'keep', key, pid: 1, at: 1 });
  appendFileSync(file, `${line('a:1')}\n${line('a:ü').slice(0, -20)}`);
  expect(journal.read().map(({ key }) => key)).toEqual(['a:1']);
  appendFileSync(file, `${line('a:ü').slice(-20)}\n`);
  expect(journal.read().map(({ key }) => key)).toEqual(['a:1', 'a:ü']);
});

it(
  'a clock that is set tells another time in every thread and is right again later; time that passes is left alone',
  PATIENT,
  async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'telltale-clock-')), 'clock');
    writeFileSync(file, '0');
    const program = `
    const { Worker, isMainThread, parentPort } = require('node:worker_threads');
    const tell = () => [Date.now(), new Date().getTime(), Date.parse(Date()), performance.timeOrigin + performance.now()];
    if (!isMainThread) setInterval(() => parentPort.postMessage(tell()), 30);
    else {
      let thread = [];
      new Worker(__filename).on('message', (times) => { thread = times; });
      setInterval(() => console.log(JSON.stringify({ times: [...tell(), ...thread], uptime: performance.now() })), 30);
    }`;
    const script = `${file}.cjs`;
    writeFileSync(script, program);
    const preload = new URL('./shifted-clock.ts', import.meta.url).href;
    const child = spawn(process.execPath, ['--import', preload, script], {
      env: { ...process.env, LAB_CLOCK: file },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let out = '';
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      const isOffBy = (ms: number) =>
        eventually(() => {
          const { times, uptime } = JSON.parse(out.trim().split('\n').at(-1) ?? '{}') as {
            times: number[];
            uptime: number;
          };
          expect(times).toHaveLength(8);
          for (const time of times) expect(Math.abs(time - Date.now() - ms)).toBeLessThan(20_000);
          expect(uptime).toBeLessThan(60_000);
        });
      for (const ms of [0, 300_000, -240_000, 0]) {
        writeFileSync(file, String(ms));
        await isOffBy(ms);
      }
    } finally {
      child.kill('SIGKILL');
    }
  },
);

describe('the line that faults come over', () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  /** A server that says back what it hears, and counts what it heard. */
  async function echo(): Promise<{ readonly proxy: FaultProxy; heard(): string; dial(): Promise<Caller> }> {
    let heard = '';
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        heard += bytes;
        socket.write(bytes);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = await openFaultProxy((server.address() as AddressInfo).port);
    closing.push(
      () => proxy.close(),
      () => server.close(),
    );
    return { proxy, heard: () => heard, dial: () => dial(proxy.port) };
  }

  interface Caller {
    readonly socket: Socket;
    got(): string;
    isCut(): boolean;
  }
  async function dial(port: number): Promise<Caller> {
    const socket = connect(port, '127.0.0.1');
    let got = '';
    let isCut = false;
    socket.on('data', (bytes) => {
      got += bytes;
    });
    socket.on('error', () => {
      isCut = true;
    });
    socket.on('close', () => {
      isCut = true;
    });
    closing.push(() => socket.destroy());
    await eventually(() => expect(socket.connecting).toBe(false));
    return { socket, got: () => got, isCut: () => isCut };
  }
  const hears = (caller: Caller, text: string) => eventually(() => expect(caller.got()).toBe(text));

  it('cuts one, and leaves the others', async () => {
    const { proxy, dial: call } = await echo();
    const callers = [await call(), await call()];
    for (const caller of callers) caller.socket.write('a');
    for (const caller of callers) await hears(caller, 'a');
    proxy.cutOne(1);
    await eventually(() => expect(callers.filter((caller) => caller.isCut())).toHaveLength(1));
    proxy.cutAll();
    await eventually(() => expect(callers.filter((caller) => caller.isCut())).toHaveLength(2));
    expect(proxy.connections()).toBe(0);
  });

  it('refuses until it is calm', async () => {
    const { proxy, dial: call } = await echo();
    const before = await call();
    before.socket.write('a');
    await hears(before, 'a');
    proxy.refuse();
    await eventually(() => expect(before.isCut()).toBe(true));
    const refused = await call();
    await eventually(() => expect(refused.isCut()).toBe(true));
    proxy.calm();
    const after = await call();
    after.socket.write('b');
    await hears(after, 'b');
  });

  it.each(['asking', 'answers', 'both'] as const)(
    'loses %s without a word, and cuts when it is calm',
    async (which) => {
      const { proxy, heard, dial: call } = await echo();
      const caller = await call();
      caller.socket.write('a');
      await hears(caller, 'a');
      proxy.silence(which);
      caller.socket.write('b');
      if (which === 'answers') await eventually(() => expect(heard()).toBe('ab'));
      const other = await call(); // it is taken, as one that nobody answers
      other.socket.write('c');
      if (which === 'answers') await eventually(() => expect(heard()).toBe('abc'));
      expect([caller.got(), caller.isCut(), other.got(), other.isCut()]).toEqual(['a', false, '', false]);
      proxy.calm();
      await eventually(() => expect([caller.isCut(), other.isCut()]).toEqual([true, true]));
      expect(heard()).toBe(which === 'answers' ? 'abc' : 'a');
    },
  );

  it.each([{ ms: 40 }, { ms: 2, bytes: 3 }])('carries everything in order, at its pace: %j', async (pace) => {
    const { proxy, dial: call } = await echo();
    const caller = await call();
    const text = Array.from({ length: 40 }, (_, n) => `line ${n};`);
    proxy.slow(pace);
    caller.socket.write(text.slice(0, 30).join(''));
    await eventually(() => expect(caller.got()).not.toBe(''));
    proxy.calm();
    caller.socket.write(text.slice(30).join(''));
    await hears(caller, text.join(''));
    expect(caller.isCut()).toBe(false);
  });
});

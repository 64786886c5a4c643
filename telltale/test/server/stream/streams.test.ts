import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import type { Runtime, StartOptions } from '../../../src/agent/runtime-types.ts';
import { createSimulatedClock, type SimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { encodeEvent } from '../../../src/log/codec.ts';
import type { EventBody } from '../../../src/log/event.ts';
import { createMergedDeltas } from '../../../src/server/stream/broadcast.ts';
import type { StreamWriter } from '../../../src/store/store.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { moreRuns } from '../../more-runs.ts';
import { eventually } from '../../store/eventually.ts';
import { createPlayedRuntime, stepEvent, textEvent } from './played-runtime.ts';
import { createSpokenModel, type SpokenModel } from './spoken-model.ts';
import type { SseClient } from './sse-client.ts';
import { type StreamServer, serveStreams } from './stream-server.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

type Home = 'memory' | 'SQLite';

const sqliteFile = () => `sqlite:${join(mkdtempSync(join(tmpdir(), 'telltale-streams-')), 'streams.db')}`;

async function runtimeOn(store: string): Promise<Runtime> {
  const runtime = await createRuntime({ store, durability: 'process' });
  open.push(runtime);
  return runtime;
}

async function serverOf(deps: Parameters<typeof serveStreams>[0]): Promise<StreamServer> {
  const server = await serveStreams(deps);
  open.push(server);
  return server;
}

async function stage(home: Home = 'memory', limits = {}) {
  const runtime = await runtimeOn(home === 'memory' ? 'memory' : sqliteFile());
  return { runtime, server: await serverOf({ runtime, limits }) };
}

/** A session that says what the test says. */
async function speaking(runtime: Runtime, options: Partial<StartOptions> = {}) {
  const model = createSpokenModel();
  const session = runtime.start(await agentOf(model), { input: 'Talk.', ...options });
  await model.say('');
  return { model, session };
}

const agentOf = (model: SpokenModel) => defineAgent({ name: 'speaker', instructions: 'Talk.', model });

const FINAL = '<response final="true">Done.</response>';

const seqs = (client: SseClient) => client.frames.flatMap(({ id }) => (id === undefined ? [] : [id]));
const types = (client: SseClient) => client.events().map(({ type }) => type);
const upTo = (head: number) => Array.from({ length: head }, (_, index) => index + 1);
const hasEnded = (client: SseClient) => client.frames.at(-1)?.event === 'end';
const spoken = (client: SseClient) =>
  client
    .events()
    .flatMap(({ type, text }) => (type === 'response.delta' ? [String(text)] : []))
    .join('');

/** A stream that is written by hand, event by event. */
async function writtenBy(runtime: Runtime, stream: string) {
  const writer = await runtime.store.create(stream, {
    kind: 'session',
    name: 'writer',
    status: 'running',
    title: '',
  });
  let seq = 0;
  const write = (body: EventBody, status?: string) =>
    new Promise<void>((resolve, reject) => append(writer, ++seq, body, status, resolve, reject));
  return { write, text: (text: string) => write({ type: 'text', text }), writer };
}

function append(
  writer: StreamWriter,
  seq: number,
  body: EventBody,
  status: string | undefined,
  resolve: () => void,
  reject: (error: unknown) => void,
) {
  const { stream } = writer;
  const line = encodeEvent(
    { seq, at: 1000 + seq, session: stream, turn: 1, cause: { stream, seq: 0, depth: 0 } },
    body,
  );
  writer.append(
    { expectedSeq: seq - 1, events: [line], ...(status === undefined ? {} : { status }) },
    (error) => (error === undefined ? resolve() : reject(error)),
  );
}

describe.each<Home>(['memory', 'SQLite'])('a session that is followed, on a store in %s', (home) => {
  it('comes whole, in order, with its deltas between, and ends with the session', async () => {
    const { runtime, server } = await stage(home);
    const { model, session } = await speaking(runtime);
    const client = await server.follow(session.id);
    expect(client.status).toBe(200);
    expect(client.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    await client.until((seen) => types(seen).includes('turn.started'));
    await model.say('<response final="true">Good ');
    await client.until((seen) => spoken(seen) === 'Good ');
    await model.say('morning.</response>');
    await session.result;
    await client.ended;
    expect(hasEnded(client)).toBe(true);
    expect(spoken(client)).toBe('Good morning.');
    const log = await runtime.events(session.id);
    expect(client.events().filter(({ seq }) => seq !== undefined)).toEqual(log);
    expect(seqs(client)).toEqual(upTo(log.length));
    expect(types(client).indexOf('response.delta')).toBeGreaterThan(types(client).indexOf('turn.started'));
  });

  it('comes with the deltas of the agent that it was handed to, also for whoever joins in the middle', async () => {
    const { runtime, server } = await stage(home);
    const model = createSpokenModel();
    const billing = await defineAgent({ name: 'billing', model });
    const handoff = '<action type="internal">{"name": "handoff", "parameters": {"to": "billing"}}</action>';
    const agent = await defineAgent({
      name: 'triage',
      model: scripted([handoff]),
      handoff: ['billing'],
      agents: [billing],
    });
    const session = runtime.start(agent, { input: 'Talk.' });
    const first = await server.follow(session.id);
    await model.say('<response final="true">Good ');
    await first.until((seen) => spoken(seen) === 'Good ');
    expect(first.events().at(-1)).toMatchObject({ type: 'response.delta', speaker: 'billing' });
    const second = await server.follow(session.id);
    await second.until((seen) => types(seen).includes('live.snapshot'));
    expect(second.events().at(-1)).toMatchObject({ response: 'Good ', speaker: 'billing' });
    await model.say('morning.</response>');
    await Promise.all([first.ended, second.ended]);
    expect(spoken(first)).toBe('Good morning.');
    expect(spoken(second)).toBe('morning.');
    expect(types(first).lastIndexOf('response.delta')).toBeLessThan(types(first).indexOf('child.response'));
  });

  it('can be resumed behind every event of the log, which gives what comes behind it', async () => {
    const { runtime, server } = await stage(home);
    const { model, session } = await speaking(runtime);
    await model.say(`<thought>Hm.</thought>${FINAL}`);
    await session.result;
    const log = await runtime.events(session.id);
    for (let after = 0; after <= log.length; after++) {
      const client = await server.follow(session.id, { after });
      await client.ended;
      expect(client.events()).toEqual(log.slice(after));
      expect(seqs(client)).toEqual(upTo(log.length).slice(after));
      expect(hasEnded(client)).toBe(true);
    }
  });

  it('is the log, once and in order, wherever connections break while it is written', async () => {
    const { runtime, server } = await stage(home, { windowMs: 5, pageEvents: 7 });
    const cuts = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 6 });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(cuts, fc.integer({ min: 20, max: 60 }), async (breaks, total) => {
        const { write, text, writer } = await writtenBy(runtime, `written-${++run}`);
        await text('first');
        const writing = (async () => {
          for (let n = 2; n < total; n++) await text(`text ${n}`);
          await write({ type: 'session.completed', result: 'done' }, 'completed');
        })();
        const received: (number | undefined)[] = [];
        for (const events of [...breaks, Number.POSITIVE_INFINITY]) {
          const client = await server.follow(writer.stream, { after: received.at(-1) ?? 0 });
          await client.until((seen) => hasEnded(seen) || seqs(seen).length >= events);
          client.abort();
          received.push(...seqs(client));
        }
        await writing;
        await writer.release();
        expect(received).toEqual(upTo(total));
      }),
      { numRuns: moreRuns(8) },
    );
  });
});

describe('followers of one session', () => {
  it('are told the same, whenever they joined', async () => {
    const { runtime, server } = await stage();
    const { model, session } = await speaking(runtime);
    const first = await server.follow(session.id);
    await model.say('<thought>One.</thought>');
    await first.until((seen) => types(seen).includes('thought'));
    const second = await server.follow(session.id);
    await model.say(`<thought>Two.</thought>${FINAL}`);
    await Promise.all([first.ended, second.ended]);
    const onLog = (client: SseClient) => client.frames.filter(({ id }) => id !== undefined);
    expect(onLog(second).map(({ data }) => JSON.parse(data))).toEqual(
      onLog(first).map(({ data }) => JSON.parse(data)),
    );
  });

  it('hear what is open of its speech when they join in the middle, then only what comes', async () => {
    const { runtime, server } = await stage();
    const { model, session } = await speaking(runtime);
    const first = await server.follow(session.id);
    await model.say('<thought>I wonder');
    await first.until((seen) => types(seen).includes('thought.delta'));
    const second = await server.follow(session.id);
    await second.until((seen) => types(seen).includes('live.snapshot'));
    await model.say(', still</thought>');
    await second.until((seen) => types(seen).includes('thought'));
    const [snapshot, delta, thought] = second.events().slice(types(second).indexOf('live.snapshot'));
    expect(snapshot).toEqual({
      type: 'live.snapshot',
      session: session.id,
      turn: 1,
      thoughts: [{ depth: 0, text: 'I wonder' }],
      response: '',
    });
    expect(delta).toMatchObject({ type: 'thought.delta', text: ', still' });
    expect(thought).toMatchObject({ type: 'model.output' });
    const third = await server.follow(session.id);
    await model.say(FINAL);
    await third.ended;
    expect(types(third)).not.toContain('live.snapshot');
  });

  it('hear all that is open of it also where nobody had followed before', async () => {
    const { runtime, server } = await stage('SQLite');
    const { model, session } = await speaking(runtime);
    await model.say(
      '<thought>Well.</thought><response final="false">One.</response><response final="true">All of ',
    );
    const first = await server.follow(session.id);
    await first.until((seen) => types(seen).includes('live.snapshot'));
    expect(first.events().at(-1)).toMatchObject({ thoughts: [], response: 'All of ' });
    expect(types(first)).toContain('response');
    await model.say('this.</response>');
    await first.ended;
    expect(spoken(first)).toBe('this.');
  });

  it('get no deltas where they want none', async () => {
    const { runtime, server } = await stage();
    const { model, session } = await speaking(runtime);
    const [all, sober, sober2] = await Promise.all([
      server.follow(session.id),
      server.follow(session.id, { live: false }),
      server.follow(session.id, { live: false }),
    ]);
    await model.say('<response final="true">Live');
    await all.until((seen) => spoken(seen) === 'Live');
    await model.say('.</response>');
    await Promise.all([all.ended, sober.ended, sober2.ended]);
    const log = await runtime.events(session.id);
    expect(sober.events()).toEqual(log);
    expect(sober2.events()).toEqual(log);
  });
});

describe('a stream that is over', () => {
  it('is told whole, and then its end', async () => {
    const { runtime, server } = await stage();
    const { write, text } = await writtenBy(runtime, 'over');
    await text('one');
    await write({ type: 'session.cancelled', reason: 'enough', by: 'user' }, 'cancelled');
    const client = await server.follow('over');
    await client.ended;
    expect(types(client)).toEqual(['text', 'session.cancelled']);
    expect(client.frames.at(-1)).toEqual({ event: 'end', data: '{}' });
  });

  it('tells a browser that comes back by itself, and has all of it, to stay away', async () => {
    const { runtime, server } = await stage();
    const { write } = await writtenBy(runtime, 'over');
    await write({ type: 'session.completed', result: 1 }, 'completed');
    const client = await server.follow('over', { headers: { 'last-event-id': '1' } });
    expect(client.status).toBe(204);
    const behind = await server.follow('over', { headers: { 'last-event-id': '0' } });
    await behind.ended;
    expect(types(behind)).toEqual(['session.completed']);
  });

  it('is followed again when it is resumed', async () => {
    const { runtime, server } = await stage();
    const { model, session } = await speaking(runtime);
    const client = await server.follow(session.id);
    await session.cancel();
    await client.ended;
    expect(hasEnded(client)).toBe(true);
    const again = await runtime.resume(session.id, { agent: await agentOf(model), acceptChanges: true });
    await model.say('');
    const second = await server.follow(session.id, { after: seqs(client).at(-1) ?? 0 });
    await second.until((seen) => types(seen).includes('turn.started'));
    await model.say(FINAL);
    await again.result;
    await second.ended;
    const log = await runtime.events(session.id);
    expect([...seqs(client), ...seqs(second)]).toEqual(upTo(log.length));
  });
});

describe('a place on the log', () => {
  it('beyond its end counts as its end: the next event comes when there is one', async () => {
    const { runtime, server } = await stage();
    const { text } = await writtenBy(runtime, 'short');
    await text('one');
    const client = await server.follow('short', { after: 99 });
    await text('two');
    await client.until((seen) => seqs(seen).length === 1);
    expect(seqs(client)).toEqual([2]);
  });

  it('of a stream that is not there is refused before anything is answered', async () => {
    const { runtime, server } = await stage();
    await writtenBy(runtime, 'session');
    const none = await server.follow('nobody');
    expect(none.status).toBe(500);
    const asRun = await server.follow('session', { kind: 'run' });
    expect(asRun.status).toBe(500);
    expect(server.streams.clients).toBe(0);
  });
});

describe('a session of another process', () => {
  it('is followed from the log, from there to here when it is taken up, and back when it is let go of', async () => {
    const file = sqliteFile();
    const there = await runtimeOn(file);
    const here = await runtimeOn(file);
    const server = await serverOf({ runtime: here });
    const { model, session } = await speaking(there);
    const client = await server.follow(session.id);
    await client.until((seen) => types(seen).includes('turn.started'));
    expect(types(client)).not.toContain('response.delta');
    await model.say('<thought>Over there.</thought>');
    await client.until((seen) => types(seen).includes('thought'));
    await session.interrupt();

    const own = createSpokenModel();
    const resumed = await here.resume(session.id, { agent: await agentOf(own), acceptChanges: true });
    await own.say('<response>Now ');
    await client.until((seen) => spoken(seen) === 'Now ');
    await resumed.interrupt();

    const last = createSpokenModel();
    const back = await there.resume(session.id, { agent: await agentOf(last), acceptChanges: true });
    await last.say(FINAL);
    await back.result;
    await client.ended;
    expect(hasEnded(client)).toBe(true);
    const log = await here.events(session.id);
    expect(client.events().filter(({ seq }) => seq !== undefined)).toEqual(log);
    expect(server.errors).toEqual([]);
  });
});

describe('a client that does not read', () => {
  const big = 'x'.repeat(8 * 1024);

  it('is no longer written to, holds up nobody, and gets what it missed from the log when it reads again', async () => {
    const { runtime, server } = await stage('memory', { maxClientBytes: 64 * 1024 });
    const { text, write } = await writtenBy(runtime, 'loud');
    await text('first');
    const quick = await server.follow('loud');
    const slow = await server.follow('loud');
    await slow.until((seen) => seqs(seen).length === 1);
    slow.pause();
    const total = 2_000;
    for (let n = 2; n < total; n++) await text(big);
    await quick.until((seen) => seqs(seen).length === total - 1);
    expect(seqs(slow).length).toBeLessThan(total / 2);
    slow.resume();
    await write({ type: 'session.completed', result: 1 }, 'completed');
    await slow.ended;
    expect(seqs(slow)).toEqual(upTo(total));
    expect(hasEnded(slow)).toBe(true);
  });

  it('is let go of with a notice when it reads nothing for half a minute, and may come back', async () => {
    const clock = createSimulatedClock();
    const runtime = await runtimeOn('memory');
    const server = await serverOf({
      runtime,
      clock,
      limits: { maxClientBytes: 64 * 1024, farewellMs: 60_000 },
    });
    const { text, write } = await writtenBy(runtime, 'loud');
    await text('first');
    const slow = await server.follow('loud');
    await slow.until((seen) => seqs(seen).length === 1);
    slow.pause();
    for (let n = 2; n <= 1_500; n++) await text(big);
    await clock.advance(31_000);
    slow.resume();
    await slow.ended;
    expect(JSON.parse(slow.frames.at(-1)?.data ?? '')).toMatchObject({ kind: 'dropped' });
    const again = await server.follow('loud', { after: seqs(slow).at(-1) ?? 0 });
    await write({ type: 'session.completed', result: 1 }, 'completed');
    await again.ended;
    expect([...seqs(slow), ...seqs(again)]).toEqual(upTo(1_501));
  });

  it('is cut off when it does not read its notice either', async () => {
    const clock = createSimulatedClock();
    const runtime = await runtimeOn('memory');
    const server = await serverOf({ runtime, clock, limits: { maxClientBytes: 64 * 1024 } });
    const { text } = await writtenBy(runtime, 'loud');
    await text('first');
    const slow = await server.follow('loud');
    await slow.until((seen) => seqs(seen).length === 1);
    slow.pause();
    for (let n = 2; n <= 1_500; n++) await text(big);
    await clock.advance(31_000);
    expect(server.streams.clients).toBe(1);
    await clock.advance(3_000);
    await eventually(() => expect(server.streams.clients).toBe(0));
  });

  it('is cut off when all sockets together hold too much', async () => {
    const { runtime, server } = await stage('memory', {
      maxClientBytes: 512 * 1024,
      maxWaitingBytes: 256 * 1024,
    });
    const { text } = await writtenBy(runtime, 'loud');
    await text('first');
    const slow = await server.follow('loud');
    slow.pause();
    for (let n = 2; n <= 2_000; n++) await text(big);
    await expect.poll(() => server.streams.clients).toBe(0);
    slow.resume();
    await slow.ended;
  });
});

describe('silence', () => {
  it('is broken by a comment every fifteen seconds', async () => {
    const clock = createSimulatedClock();
    const runtime = await runtimeOn('memory');
    const server = await serverOf({ runtime, clock });
    const { text } = await writtenBy(runtime, 'quiet');
    await text('one');
    const client = await server.follow('quiet');
    await client.until((seen) => seqs(seen).length === 1);
    await clock.advance(14_000);
    await text('two');
    await client.until((seen) => seqs(seen).length === 2);
    await clock.advance(14_000);
    expect(client.comments).toEqual([]);
    await clock.advance(2_000);
    await client.until((seen) => seen.comments.length === 1);
    await clock.advance(15_000);
    await client.until((seen) => seen.comments.length === 2);
  });
});

describe('load', () => {
  it('has what a channel is told gathered into few writes, and deltas that follow each other into one', async () => {
    const clock = createSimulatedClock();
    const runtime = await runtimeOn('memory');
    const server = await serverOf({ runtime, clock, limits: { quietEvents: 5 } });
    const { model, session } = await speaking(runtime);
    const client = await server.follow(session.id);
    await client.until((seen) => types(seen).includes('turn.started'));
    await model.say('<response final="true">');
    const pieces = Array.from({ length: 100 }, (_, n) => `${n} `);
    for (const piece of pieces) await model.say(piece);
    await client.until((seen) => spoken(seen) !== '');
    expect(spoken(client).length).toBeLessThan(pieces.join('').length / 2);
    await clock.advance(60);
    await client.until((seen) => spoken(seen) === pieces.join(''));
    expect(types(client).filter((type) => type === 'response.delta').length).toBeLessThan(20);
  });

  it('keeps deltas of different elements, and events between them, apart and in order', () => {
    const merged = createMergedDeltas('s');
    const thought = (depth: number, text: string) =>
      ({ type: 'thought.delta', session: 's', turn: 1, depth, text }) as const;
    const response = (turn: number, text: string) =>
      ({ type: 'response.delta', session: 's', turn, text }) as const;
    const progress = { type: 'action.progress', session: 's', turn: 2, id: 'a', data: 1 } as const;
    const told = [
      thought(0, 'a'),
      thought(0, 'b'),
      thought(1, 'c'),
      response(1, 'd'),
      response(2, 'e'),
      progress,
    ];
    const frames =
      told.map((event) => merged.add(event)).join('') + merged.add(response(2, 'f')) + merged.close();
    expect(
      frames.split('\n\n').flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.slice(6))])),
    ).toEqual([
      thought(0, 'ab'),
      thought(1, 'c'),
      response(1, 'd'),
      response(2, 'e'),
      progress,
      response(2, 'f'),
    ]);
    expect(merged.close()).toBe('');
  });
});

describe('a server that closes', () => {
  it('says so to every client and ends their streams, and opens no other', async () => {
    const { runtime, server } = await stage();
    const { session } = await speaking(runtime);
    const clients = await Promise.all([server.follow(session.id), server.headlines()]);
    await Promise.all(clients.map((client) => client.until(({ frames }) => frames.length > 0)));
    const closing = server.streams.close();
    await Promise.all(clients.map(({ ended }) => ended));
    await closing;
    for (const client of clients)
      expect(client.frames.at(-1)).toEqual({ event: 'notice', data: '{"kind":"closing"}' });
    const late = await server.follow(session.id);
    expect(late.status).toBe(500);
  });

  it('takes only so many clients', async () => {
    const { runtime, server } = await stage('memory', { maxClients: 2 });
    await (await writtenBy(runtime, 'one')).text('one');
    const first = await server.follow('one');
    await server.follow('one');
    const third = await server.follow('one');
    expect(third.status).toBe(500);
    first.abort();
    await expect.poll(() => server.streams.clients).toBe(1);
    expect((await server.follow('one')).status).toBe(200);
  });
});

describe('headlines', () => {
  it('tell of all sessions that are worked on here what lists show, once they are ready', async () => {
    const { runtime, server } = await stage();
    const client = await server.headlines();
    await client.until(({ frames }) => frames[0]?.data === '{"kind":"ready"}');
    const one = await speaking(runtime);
    const two = await speaking(runtime);
    await one.model.say(`<thought>Not told.</thought>${FINAL}`);
    await two.model.say(FINAL);
    await Promise.all([one.session.result, two.session.result]);
    await client.until((seen) => types(seen).filter((type) => type === 'session.completed').length === 2);
    expect(new Set(client.events().map(({ session }) => session))).toEqual(
      new Set([one.session.id, two.session.id]),
    );
    expect(types(client)).toContain('session.started');
    expect(types(client)).not.toContain('thought');
    expect(client.frames.some(({ id }) => id !== undefined)).toBe(false);
  });

  it('tell of sessions of other processes, from their first event to their last', async () => {
    const file = sqliteFile();
    const there = await runtimeOn(file);
    const here = await runtimeOn(file);
    const server = await serverOf({ runtime: here, limits: { pollMs: 20 } });
    const before = await speaking(there);
    const client = await server.headlines();
    await client.until(({ frames }) => frames.length > 0);
    const after = await speaking(there);
    for (const { model, session } of [before, after]) {
      await model.say(FINAL);
      await session.result;
    }
    const of = (id: string) => client.events().filter(({ session }) => session === id);
    await client.until(() => of(after.session.id).at(-1)?.type === 'session.completed');
    await client.until(() => of(before.session.id).at(-1)?.type === 'session.completed');
    expect(of(after.session.id)[0]?.type).toBe('session.started');
    for (const { session } of [before, after]) {
      const told = of(session.id).map(({ seq }) => seq ?? 0);
      expect(told).toEqual([...new Set(told)].toSorted((a, b) => a - b));
    }
    expect(server.errors).toEqual([]);
  });
});

describe('a store that fails', () => {
  it('ends the stream with a notice, and the client may come back', async () => {
    const { runtime } = await stage();
    let isAway = false;
    const store = {
      ...runtime.store,
      read: (...asked: Parameters<typeof runtime.store.read>) =>
        isAway ? Promise.reject(new Error('gone')) : runtime.store.read(...asked),
    };
    const server = await serverOf({ runtime: { ...runtime, store } });
    const { text, write } = await writtenBy(runtime, 'shaky');
    await text('one');
    const client = await server.follow('shaky');
    await client.until((seen) => seqs(seen).length === 1);
    isAway = true;
    await text('two');
    await client.ended;
    expect(JSON.parse(client.frames.at(-1)?.data ?? '')).toMatchObject({ kind: 'failed' });
    expect(server.errors).toHaveLength(1);
    const late = await server.follow('shaky');
    await late.ended;
    expect(JSON.parse(late.frames.at(-1)?.data ?? '')).toMatchObject({
      kind: 'failed',
      reason: 'The log could not be read.',
    });
    expect(server.errors).toHaveLength(2);
    isAway = false;
    const again = await server.follow('shaky', { after: 1 });
    await write({ type: 'session.completed', result: 1 }, 'completed');
    await again.ended;
    expect(seqs(again)).toEqual([2, 3]);
  });
});

describe('a channel', () => {
  const played = async (limits = {}, clock?: SimulatedClock) => {
    const play = createPlayedRuntime();
    const server = await serverOf({
      runtime: play.runtime,
      limits,
      ...(clock === undefined ? {} : { clock }),
    });
    return { ...play, server };
  };

  it('reads from the log what nobody told it of', async () => {
    const { write, begin, show, server } = await played();
    write(textEvent('s', 1));
    begin('s');
    const client = await server.follow('s');
    await client.until((seen) => seqs(seen).length === 1);
    for (const seq of [2, 3, 4]) write(textEvent('s', seq));
    show(textEvent('s', 4));
    await client.until((seen) => seqs(seen).length === 4);
    expect(seqs(client)).toEqual([1, 2, 3, 4]);
  });

  it('reads once more where the log moved while it was read', async () => {
    const { write, move, hold, held, server } = await played();
    write(textEvent('s', 1));
    const client = await server.follow('s');
    await client.until((seen) => seqs(seen).length === 1);
    const letRead = hold();
    const isHeld = held();
    move('s');
    await isHeld;
    write(textEvent('s', 2));
    move('s');
    letRead();
    await client.until((seen) => seqs(seen).length === 2);
    expect(seqs(client)).toEqual([1, 2]);
  });

  it('tells what was told by two sources once, and what was written before it is let go of', async () => {
    const { write, begin, show, tell, letGo, server } = await played();
    write(textEvent('s', 1));
    begin('s');
    const client = await server.follow('s');
    await client.until((seen) => seqs(seen).length === 1);
    write(textEvent('s', 2));
    show(textEvent('s', 2));
    tell(textEvent('s', 2));
    write(textEvent('s', 3));
    await letGo('s');
    await client.until((seen) => seqs(seen).length === 3);
    expect(seqs(client)).toEqual([1, 2, 3]);
  });

  it('sends a client that reads the log nothing of it twice, also where the log is ahead of what was told', async () => {
    const { write, begin, show, hold, held, server } = await played({ pageEvents: 2 });
    for (const seq of [1, 2, 3]) write(textEvent('s', seq));
    begin('s');
    const letRead = hold();
    const isHeld = held();
    const client = await server.follow('s');
    await isHeld;
    letRead();
    write(textEvent('s', 4));
    await client.until((seen) => seqs(seen).length === 3);
    show(textEvent('s', 4));
    await client.until((seen) => seqs(seen).length === 4);
    expect(seqs(client)).toEqual([1, 2, 3, 4]);
  });

  it('sends what it has gathered to nobody who joins behind it', async () => {
    const clock = createSimulatedClock();
    const { write, begin, show, server } = await played({ quietEvents: 0 }, clock);
    write(textEvent('s', 1));
    begin('s');
    const first = await server.follow('s');
    await first.until((seen) => seqs(seen).length === 1);
    for (const seq of [2, 3, 4]) {
      write(textEvent('s', seq));
      show(textEvent('s', seq));
      await Promise.resolve(); // what is told apart from the others is gathered apart from them
    }
    const second = await server.follow('s');
    await second.until((seen) => seqs(seen).length >= 4);
    await clock.advance(100);
    write(textEvent('s', 5));
    show(textEvent('s', 5));
    await clock.advance(100);
    await Promise.all([first, second].map((client) => client.until((seen) => seqs(seen).includes(5))));
    expect(seqs(first)).toEqual(upTo(5));
    expect(seqs(second)).toEqual(upTo(5));
  });

  it('keeps a client that reads slowly for as long as it reads, and lets go of it when it does not', async () => {
    const clock = createSimulatedClock();
    const { write, begin, show, server } = await played({ maxClientBytes: 128 * 1024 }, clock);
    write(textEvent('s', 1));
    begin('s');
    const client = await server.follow('s');
    await client.until((seen) => seqs(seen).length === 1);
    client.pause();
    // More than the system takes for it: what it reads is only ever a part of what waits.
    const event = textEvent('s', 2, 'x'.repeat(32 * 1024 * 1024));
    write(event);
    show(event);
    for (let seconds = 0; seconds < 40; seconds += 2) {
      const goal = client.received + 1024 * 1024;
      client.resume();
      await client.until(({ received }) => received >= goal);
      client.pause();
      await clock.advance(2_000);
      expect(server.streams.clients).toBe(1);
    }
    expect(server.mostWaiting()).toBeGreaterThan(128 * 1024);
    await clock.advance(31_000);
    expect(server.streams.clients).toBe(1);
    await clock.advance(3_000);
    await eventually(() => expect(server.streams.clients).toBe(0));
  });

  it('keeps no more for a client that does not read than it may have waiting', async () => {
    const { write, begin, show, server } = await played({ maxClientBytes: 128 * 1024 });
    write(textEvent('s', 1));
    begin('s');
    const client = await server.follow('s');
    await client.until((seen) => seqs(seen).length === 1);
    client.pause();
    for (let seq = 2; seq <= 3_000; seq++) {
      const event = textEvent('s', seq, 'x'.repeat(8 * 1024));
      write(event);
      show(event);
      if (seq % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.mostWaiting()).toBeGreaterThan(128 * 1024);
    expect(server.mostWaiting()).toBeLessThan(512 * 1024);
    client.resume();
    await client.until((seen) => seqs(seen).length === 3_000);
    expect(seqs(client)).toEqual(upTo(3_000));
  });

  it('of a run tells its events once, as does the headline of it', async () => {
    const clock = createSimulatedClock();
    const { write, tell, move, server } = await played({}, clock);
    write(stepEvent('r', 1));
    const client = await server.follow('r', { kind: 'run' });
    const headlines = await server.headlines();
    await headlines.until(({ frames }) => frames.length === 1);
    write(stepEvent('r', 2));
    tell(stepEvent('r', 2));
    move('r');
    write(stepEvent('r', 3));
    await clock.advance(3_000);
    await headlines.until((seen) => seen.events().length === 2);
    move('r');
    await client.until((seen) => seqs(seen).length === 3);
    await clock.advance(3_000);
    expect(seqs(client)).toEqual([1, 2, 3]);
    expect(headlines.events().map(({ seq }) => seq)).toEqual([2, 3]);
  });
});

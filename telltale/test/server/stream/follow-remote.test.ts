import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import { createLiveOrder } from '../../../src/agent/remote/follow-remote.ts';
import { decodeMessage, type LiveItem, type LiveMessage } from '../../../src/agent/remote/live-channel.ts';
import { createLivePacker, publishLive } from '../../../src/agent/remote/publish-live.ts';
import { createRemoteSession } from '../../../src/agent/remote/remote-session.ts';
import type { Runtime } from '../../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { LiveEvent, ObservedEvent, SessionEvent } from '../../../src/log/event.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { createMemoryHome, type MemoryHome } from '../../../src/store/memory/memory-tables.ts';
import { MAX_LIVE_BYTES } from '../../../src/store/shared-store.ts';
import { scripted } from '../../../src/testing/scripted.ts';
import { moreRuns } from '../../more-runs.ts';
import { call, gate, openStage } from '../protocols/protocol-stage.ts';
import { createFakeWire, type FakeWire, sharedOver } from './fake-wire.ts';
import { textEvent } from './played-runtime.ts';
import { createSpokenModel, type SpokenModel } from './spoken-model.ts';
import type { SseClient } from './sse-client.ts';
import { type StreamServer, serveStreams } from './stream-server.ts';

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const clock = createSystemClock();

interface Process {
  readonly runtime: Runtime;
  /** As a killed process: its streams are free, and nothing of it is heard any more. */
  kill(): void;
}

interface Fleet {
  readonly wire: FakeWire;
  process(): Promise<Process>;
  /** A server in a process of its own, which works on nothing. */
  server(limits?: object): Promise<StreamServer & { readonly runtime: Runtime }>;
}

/** Processes on one store and one wire. */
function fleet(home: MemoryHome = createMemoryHome()): Fleet {
  const wire = createFakeWire();
  const dead = new Set<number>();
  let pids = 0;
  const process = async (): Promise<Process> => {
    const pid = ++pids;
    const live = wire.join();
    const isAlive = (owner: { readonly pid: number }) => !dead.has(owner.pid);
    const store = createMemoryStore({ clock, home, pid, isAlive });
    const runtime = sharedOver(await createRuntime({ store, onError: () => undefined }), live);
    const publishing = publishLive({ runtime, live, clock });
    open.push(runtime, publishing);
    return {
      runtime,
      kill() {
        dead.add(pid);
        publishing.close();
      },
    };
  };
  return {
    wire,
    process,
    async server(limits = {}) {
      const { runtime } = await process();
      const server = await serveStreams({ runtime, limits });
      open.push(server);
      return { ...server, runtime };
    },
  };
}

const agentOf = (model: SpokenModel) => defineAgent({ name: 'speaker', instructions: 'Talk.', model });

async function speaking({ runtime }: Pick<Process, 'runtime'>, chat = false) {
  const model = createSpokenModel();
  const agent = await agentOf(model);
  const session = runtime.start(agent, { input: 'Talk.', chat });
  await model.say('');
  return { model, agent, session };
}

const types = (client: SseClient) => client.events().map(({ type }) => type);
const seqs = (client: SseClient) => client.frames.flatMap(({ id }) => (id === undefined ? [] : [id]));
const upTo = (head: number) => Array.from({ length: head }, (_, index) => index + 1);
const said = (client: SseClient, type = 'response.delta') =>
  client
    .events()
    .flatMap((event) => (event.type === type ? [String(event.text)] : []))
    .join('');
const hears = (wire: FakeWire, session: string) => wire.isHeard(`live ${session}`);
/** Resolves once deltas of the session come to the client. */
const tuned = async (client: SseClient, model: SpokenModel) => {
  for (let before = said(client, 'thought.delta'); said(client, 'thought.delta') === before; ) {
    await model.say('<thought>…</thought>');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** A session that one process works on, and a client of another process's server that hears it. */
async function followedAfar() {
  const { process, server, wire } = fleet();
  const worker = await process();
  const { follow } = await server();
  const { model, session } = await speaking(worker);
  const client = await follow(session.id);
  await tuned(client, model);
  return { wire, worker, model, session, client };
}

describe('a session that another process works on', () => {
  it('is followed with its deltas between the durable events, and they are its response', async () => {
    const { worker, model, session, client } = await followedAfar();
    await model.say('<response final="true">Good ');
    const words = Array.from({ length: 100 }, (_, n) => `word ${n} `);
    for (const word of words) await model.say(word);
    await model.say('morning.</response>');
    await session.result;
    await client.ended;
    expect(said(client)).toBe(`Good ${words.join('')}morning.`);
    const log = await worker.runtime.events(session.id);
    expect(client.events().filter(({ seq }) => seq !== undefined)).toEqual(log);
    expect(seqs(client)).toEqual(upTo(log.length));
    const at = types(client);
    expect(at.lastIndexOf('response.delta')).toBeLessThan(at.indexOf('response'));
    expect(client.frames.at(-1)?.event).toBe('end');
  });

  it('has each delta stand behind the events that it came behind, however fast both come', async () => {
    const { model, client } = await followedAfar();
    for (let n = 0; n < 40; n++) await model.say(`<thought>a${n}`).then(() => model.say(`b${n}</thought>`));
    await model.say('<response final="true">Done.</response>');
    await client.ended;
    let heard = '';
    const thoughts = client.events().filter(({ type }) => type === 'thought' || type === 'thought.delta');
    for (const { type, text } of thoughts) {
      if (type === 'thought.delta') heard += String(text);
      else {
        if (String(text).startsWith('a')) expect(heard).toBe(text);
        heard = '';
      }
    }
  });

  it('is told what is open of its speech to whoever joins in the middle, then only what comes', async () => {
    const { process, server } = fleet();
    const worker = await process();
    const near = await server();
    const far = await server();
    const { model, session } = await speaking(worker);
    const long = Array.from({ length: 2_000 }, (_, n) => `Sentence ${n} is long. `).join('');
    await model.say(`<response final="true">${long}`);
    const first = await near.follow(session.id);
    await first.until((seen) => types(seen).includes('live.snapshot'));
    expect(first.events().at(-1)).toMatchObject({ type: 'live.snapshot', thoughts: [], response: long });
    const second = await far.follow(session.id);
    const third = await near.follow(session.id);
    await second.until((seen) => types(seen).includes('live.snapshot'));
    await third.until((seen) => types(seen).includes('live.snapshot'));
    await model.say('And this is the end.</response>');
    await Promise.all([first.ended, second.ended, third.ended]);
    for (const client of [first, second, third]) {
      const snapshot = client.events().findLast(({ type }) => type === 'live.snapshot');
      expect(`${snapshot?.response}${said(client)}`).toBe(`${long}And this is the end.`);
    }
    expect(types(first).filter((type) => type === 'live.snapshot')).toHaveLength(1);
  });

  it('costs the worker nothing where nobody follows it, or only the log', async () => {
    const { process, server, wire } = fleet();
    const worker = await process();
    const { follow } = await server();
    const { model, session } = await speaking(worker);
    const client = await follow(session.id, { live: false });
    await model.say('<thought>Quiet.</thought><response final="true">Done.</response>');
    await client.ended;
    expect(types(client)).toContain('response');
    expect(said(client)).toBe('');
    expect(wire.sent).toEqual([]);
  });

  it('is published no longer once the last follower has left', async () => {
    const { wire, model, session, client } = await followedAfar();
    client.abort();
    await expect.poll(() => hears(wire, session.id)).toBe(false);
    await model.say('<thought>Nobody hears.</thought>');
    const { length } = wire.sent;
    await model.say('<thought>Nobody hears.</thought><response final="true">Done.</response>');
    await session.result;
    expect(wire.sent).toHaveLength(length);
  });

  it('loses no durable event where messages are lost, and its text is told anew', async () => {
    const { wire, worker, model, session, client } = await followedAfar();
    let lost = 0;
    wire.loses = ({ channel, text }) => channel.startsWith('live') && text.includes('lost') && ++lost > 0;
    await model.say('<response final="true">This is lost');
    await expect.poll(() => lost).toBeGreaterThan(0);
    wire.loses = () => false;
    const before = types(client).filter((type) => type === 'live.snapshot').length;
    await model.say(', this is found');
    await client.until((seen) => types(seen).filter((type) => type === 'live.snapshot').length > before);
    expect(client.events().findLast(({ type }) => type === 'live.snapshot')).toMatchObject({
      response: 'This is lost, this is found',
    });
    wire.loses = ({ channel }) => channel.startsWith('live');
    await model.say(', and this is not.</response>');
    await client.ended;
    const log = await worker.runtime.events(session.id);
    expect(seqs(client)).toEqual(upTo(log.length));
  });

  it('has the deltas of the agent that it was handed to, also for whoever joins in the middle', async () => {
    const { process, server } = fleet();
    const worker = await process();
    const near = await server();
    const model = createSpokenModel();
    const billing = await defineAgent({ name: 'billing', model });
    const handoff = '<action type="internal">{"name": "handoff", "parameters": {"to": "billing"}}</action>';
    const agent = await defineAgent({
      name: 'triage',
      model: scripted([handoff]),
      handoff: ['billing'],
      agents: [billing],
    });
    const session = worker.runtime.start(agent, { input: 'Talk.' });
    await model.say('<response final="true">Good');
    const client = await near.follow(session.id);
    await client.until((seen) => types(seen).includes('live.snapshot'));
    expect(client.events().at(-1)).toMatchObject({ response: 'Good', speaker: 'billing' });
    await model.say(' morning');
    await client.until((seen) => said(seen) === ' morning');
    expect(client.events().at(-1)).toMatchObject({ type: 'response.delta', speaker: 'billing' });
    await model.say('.</response>');
    await client.ended;
  });

  it('is asked for again after a gap', async () => {
    const { wire, model, client } = await followedAfar();
    await model.say('<response final="true">Before');
    await client.until((seen) => said(seen) === 'Before');
    wire.gap();
    await client.until((seen) => seen.events().at(-1)?.response === 'Before');
    await model.say(' and after.</response>');
    await client.ended;
    expect(said(client)).toBe('Before and after.');
  });

  it('is followed by its log alone where the wire is too slow', async () => {
    const { wire, worker, model, session, client } = await followedAfar();
    wire.delayMs = 1_500;
    await model.say('<thought>Late</thought><response final="true">Done.</response>');
    await client.ended;
    expect(seqs(client)).toEqual(upTo((await worker.runtime.events(session.id)).length));
  });
});

describe('a session that moves', () => {
  it('from a dead worker to another gives each durable event once, and its text begins anew', async () => {
    const { process, server } = fleet();
    const first = await process();
    const second = await process();
    const { follow } = await server();
    const { model, agent, session } = await speaking(first);
    const client = await follow(session.id);
    await tuned(client, model);
    await model.say('<response final="true">Half a sen');
    await client.until((seen) => said(seen) === 'Half a sen');
    first.kill();
    const again = createSpokenModel();
    const resumed = await second.runtime.resume(session.id, {
      agent: { ...agent, ...(await agentOf(again)) },
      acceptChanges: true,
    });
    await again.say('');
    await client.until((seen) => types(seen).includes('session.resumed'));
    await tuned(client, again);
    await model.say('tence of a ghost');
    await again.say('<response final="true">A whole one.</response>');
    await resumed.result;
    await client.ended;
    const log = await second.runtime.events(session.id);
    expect(seqs(client)).toEqual(upTo(log.length));
    expect(client.events().filter(({ seq }) => seq !== undefined)).toEqual(log);
    const behind = client.events().slice(types(client).lastIndexOf('turn.started'));
    expect(behind.flatMap(({ type, text }) => (type === 'response.delta' ? [text] : [])).join('')).toBe(
      'A whole one.',
    );
  });

  it('to the process that serves it is followed there', async () => {
    const { process, server } = fleet();
    const worker = await process();
    const { follow, runtime } = await server();
    const { model, agent, session } = await speaking(worker);
    const client = await follow(session.id);
    await tuned(client, model);
    await session.interrupt();
    const again = createSpokenModel();
    await runtime.resume(session.id, {
      agent: { ...agent, ...(await agentOf(again)) },
      acceptChanges: true,
    });
    await again.say('<response final="true">Here');
    await client.until((seen) => said(seen).endsWith('Here'));
    await again.say(' now.</response>');
    await client.ended;
    expect(said(client)).toBe('Here now.');
    expect(seqs(client)).toEqual(upTo((await runtime.events(session.id)).length));
  });
});

describe('a session of another process, as an object', () => {
  const distant = ({ runtime }: Pick<Process, 'runtime'>, id: string) =>
    createRemoteSession({ runtime, clock }, id, { onError: (thrown) => expect.fail(String(thrown)) });

  it('tells its events, takes messages, and has its result', async () => {
    const { process } = fleet();
    const worker = await process();
    const other = await process();
    const { model, session } = await speaking(worker);
    const afar = distant(other, session.id);
    const events: ObservedEvent[] = [];
    afar.subscribe((event) => events.push(event));
    await model.say('<response final="true">Well');
    await expect.poll(() => events.at(-1)).toMatchObject({ type: 'response.delta', text: 'Well' });
    await afar.steer('Go on.');
    await expect.poll(() => events.map(({ type }) => type)).toContain('message.received');
    await model.say(' said.</response>');
    await model.stop();
    await model.say('<response final="true">Steered.</response>');
    expect(await afar.result).toEqual(await session.result);
    expect(events.filter((event): event is SessionEvent => 'seq' in event)).toEqual(
      await worker.runtime.events(session.id),
    );
    const iterated: ObservedEvent[] = [];
    for await (const event of afar.events) iterated.push(event);
    expect(iterated).toEqual(await worker.runtime.events(session.id));
  });

  it('is broken off, goes on, and is finished, as a chat in front of a person', async () => {
    const { process } = fleet();
    const worker = await process();
    const other = await process();
    const { model, session } = await speaking(worker, true);
    const afar = distant(other, session.id);
    const events: ObservedEvent[] = [];
    afar.subscribe((event) => events.push(event));
    await model.say('<response final="true">I will never');
    afar.breakOff();
    await expect.poll(() => events.map(({ type }) => type)).toContain('session.waiting');
    await afar.say('Again.');
    await model.say('<response final="true">Yes.</response>');
    afar.finish();
    expect(await afar.result).toMatchObject({ status: 'completed', result: 'Yes.' });
  });

  it('is cancelled through its inbox', async () => {
    const { process } = fleet();
    const worker = await process();
    const { session } = await speaking(worker);
    const afar = distant(await process(), session.id);
    await afar.cancel('enough');
    expect(await afar.result).toMatchObject({ status: 'cancelled' });
  });
});

describe('headlines of other processes', () => {
  it('come by a word of theirs, without waiting for the next look', async () => {
    const { process, server } = fleet();
    const worker = await process();
    const { headlines } = await server({ pollMs: 3_600_000, sharedPollMs: 3_600_000 });
    const client = await headlines();
    await client.until((seen) => seen.frames.some(({ event }) => event === 'notice'));
    const { model, session } = await speaking(worker);
    await client.until((seen) => types(seen).includes('session.started'));
    await model.say('<response final="true">Done.</response>');
    await client.until((seen) => types(seen).includes('session.completed'));
    await session.result;
    const told = client.events().map(({ seq }) => seq);
    expect(told).toEqual([...new Set(told)].toSorted((a, b) => Number(a) - Number(b)));
  });
});

/** What came about in a session, in order, and what may be told of it. */
type Happening = { readonly seq: number } | { readonly text: string };

const happenings = fc.array(
  fc.oneof(fc.constant('durable' as const), fc.string({ maxLength: 3, minLength: 1 })),
  { minLength: 1, maxLength: 30 },
);

const numbered = (made: readonly string[]): readonly Happening[] => {
  let seq = 0;
  return made.map((each) => (each === 'durable' ? { seq: ++seq } : { text: each }));
};

const delta = (text: string): LiveEvent => ({ type: 'response.delta', session: 's', turn: 1, text });

/** The messages that a worker sends of it; flushed behind those whose index is in `flushes`. */
function messagesOf(all: readonly Happening[], flushes: ReadonlySet<number>): readonly LiveMessage[] {
  const packer = createLivePacker('worker', 0, MAX_LIVE_BYTES);
  const texts: string[] = [];
  packer.add({ kind: 'open', turn: undefined });
  packer.add({ kind: 'opened' });
  for (const [index, each] of all.entries()) {
    packer.add(
      'seq' in each ? { kind: 'durable', seq: each.seq } : { kind: 'live', event: delta(each.text) },
    );
    if (flushes.has(index)) texts.push(...packer.take());
  }
  texts.push(...packer.take());
  return texts.map((text) => decodeMessage(text, 's') as LiveMessage);
}

/** What was told, as text: `#3` for an event, and deltas as they are, joined. */
const shown = (events: readonly (ObservedEvent | Happening)[]) =>
  events.map((each) => ('seq' in each ? `#${each.seq}` : 'text' in each ? each.text : '')).join('');

describe('what is read and what is heard', () => {
  it('come out in the order in which they came about, whichever is there first', () => {
    fc.assert(
      fc.property(happenings, fc.array(fc.nat(29)), fc.infiniteStream(fc.boolean()), (made, at, coin) => {
        const all = numbered(made);
        const durable = all.flatMap((each) => ('seq' in each ? [textEvent('s', each.seq)] : []));
        const messages = [...messagesOf(all, new Set(at))];
        const told: ObservedEvent[] = [];
        const order = createLiveOrder(0, { tell: (event) => told.push(event), begin: () => undefined });
        // The worker is heard before the log has moved: else its place has been passed, and it is asked again.
        order.receive(messages.shift() as LiveMessage);
        while (durable.length > 0 || messages.length > 0) {
          const message = coin.next().value ? messages.shift() : undefined;
          if (message !== undefined) order.receive(message);
          else order.read(durable.splice(0, 2));
        }
        expect(shown(told)).toBe(shown(all));
        expect(order).toMatchObject({ holds: false, lacks: false, ahead: 0 });
      }),
    );
  });

  it('give every durable event once and in order where messages are lost, and no text twice', () => {
    fc.assert(
      fc.property(happenings, fc.array(fc.nat(29)), fc.nat(29), (made, at, which) => {
        const all = numbered(made);
        const durable = all.flatMap((each) => ('seq' in each ? [textEvent('s', each.seq)] : []));
        const messages = messagesOf(all, new Set(at));
        const told: ObservedEvent[] = [];
        const order = createLiveOrder(0, { tell: (event) => told.push(event), begin: () => undefined });
        for (const [index, message] of messages.entries()) if (index !== which) order.receive(message);
        order.read(durable);
        order.disconnect();
        const seen = told.flatMap((event) => ('seq' in event ? [event.seq] : []));
        expect(seen).toEqual(upTo(durable.length));
        const text = (list: readonly (ObservedEvent | Happening)[]) =>
          shown(list.filter((each) => !('seq' in each)));
        expect(text(all).startsWith(text(told))).toBe(true);
      }),
    );
  });

  it('do not mix with what one says that has lost the session and does not know', () => {
    const told: ObservedEvent[] = [];
    const order = createLiveOrder(0, { tell: (event) => told.push(event), begin: () => undefined });
    const message = (by: string, n: number, behind: number, items: readonly LiveItem[]): LiveMessage => ({
      by,
      n,
      behind,
      items,
    });
    const opens: readonly LiveItem[] = [{ kind: 'open', turn: undefined }, { kind: 'opened' }];
    order.receive(message('ghost', 1, 0, [...opens, { kind: 'live', event: delta('one') }]));
    const resumed: SessionEvent = {
      type: 'session.resumed',
      by: 'user',
      seq: 2,
      at: 2,
      session: 's',
      turn: 1,
      cause: { stream: 's', seq: 0, depth: 0 },
    };
    order.read([textEvent('s', 1), resumed]);
    expect(shown(told)).toBe('one#1#2');
    expect(order.isConnected).toBe(false);
    expect(order.receive(message('ghost', 2, 0, [{ kind: 'live', event: delta('two') }]))).toBe('idle');
    expect(order.receive(message('ghost', 3, 0, opens))).toBe('late');
    expect(order.receive(message('heir', 1, 2, [...opens, { kind: 'live', event: delta('three') }]))).toBe(
      'taken',
    );
    expect(shown(told)).toBe('one#1#2three');
  });

  it('cross in messages below the limit, whatever is said', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom('\u0000'.repeat(5_000), '😀'.repeat(5_000), 'ä"\\'.repeat(4_000)),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(text, fc.boolean()), { minLength: 1, maxLength: 8 }), (parts) => {
        const packer = createLivePacker('worker', 7, MAX_LIVE_BYTES);
        const thought = (said: string): LiveEvent => ({
          type: 'thought.delta',
          session: 's',
          turn: 1,
          depth: 2,
          text: said,
        });
        for (const [said, isThought] of parts)
          packer.add({ kind: 'live', event: isThought ? thought(said) : delta(said) });
        packer.add({ kind: 'durable', seq: 8 });
        const texts = packer.take();
        for (const each of texts) expect(Buffer.byteLength(each)).toBeLessThanOrEqual(MAX_LIVE_BYTES);
        const messages = texts.map((each) => decodeMessage(each, 's') as LiveMessage);
        expect(messages.map(({ n }) => n)).toEqual(upTo(messages.length));
        const items = messages.flatMap((message) => message.items);
        const voices = items.flatMap((item) => (item.kind === 'live' ? [item.event] : []));
        const spoken = (list: readonly LiveEvent[], type: string) =>
          list.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('');
        const given = parts.map(([said, isThought]) => (isThought ? thought(said) : delta(said)));
        for (const type of ['thought.delta', 'response.delta'])
          expect(spoken(voices, type)).toBe(spoken(given, type));
        expect(items.at(-1)).toEqual({ kind: 'durable', seq: 8 });
      }),
      { numRuns: moreRuns(15) },
    );
  });
});

describe('front ends', () => {
  /** Two servers that know the same agent. Only the first is ever asked to begin. */
  async function twoStages(
    turns: readonly (string | object)[],
    more: object = {},
    aboutSecond: Partial<Runtime> = {},
  ) {
    const home = createMemoryHome();
    const wire = createFakeWire();
    const stageOf = async (pid: number, said: readonly (string | object)[], about: Partial<Runtime> = {}) => {
      const live = wire.join();
      const store = createMemoryStore({ clock, home, pid });
      const stage = await openStage({ talker: { ...more, turns: said as string[] } }, store, (runtime) => ({
        ...sharedOver(runtime, live),
        ...about,
      }));
      open.push(stage, publishLive({ runtime: stage.runtime, live, clock }));
      return stage;
    };
    return {
      first: await stageOf(1, turns),
      second: await stageOf(2, ['<response final="true">Not me.</response>'], aboutSecond),
    };
  }
  const chat = (text: string) => ({
    id: 'c1',
    messages: [{ id: text, role: 'user', parts: [{ type: 'text', text }] }],
  });
  const chunks = async (response: Response) =>
    (await response.text()).split('\n\n').flatMap((block) => {
      const data = block.startsWith('data: {') ? block.slice('data: '.length) : undefined;
      return data === undefined ? [] : [JSON.parse(data) as { type: string; delta?: string }];
    });
  const answer = async (response: Response) =>
    (await chunks(response)).map(({ type, delta: text }) => (type === 'text-delta' ? text : '')).join('');

  it('go on with a conversation through another server than the one that works on it', async () => {
    const { first, second } = await twoStages([
      '<response final="true">One.</response>',
      { text: '<response final="true">Two, and word by word.</response>', chunk: 3 },
    ]);
    expect(await answer(await first.post('/chat', chat('Say one.')))).toBe('One.');
    const answered = await second.post('/chat', chat('Say two.'));
    const all = await chunks(answered);
    expect(all.map(({ type, delta: text }) => (type === 'text-delta' ? text : '')).join('')).toBe(
      'Two, and word by word.',
    );
    expect(all.filter(({ type }) => type === 'text-start')).toHaveLength(1);
    expect(all.at(-1)).toMatchObject({ type: 'finish' });
    expect(second.strays).toEqual([]);
  });

  it('join an exchange that another server answers, refuse a second message, and break it off', async () => {
    const { tool, open: release } = gate('wait');
    const { first, second } = await twoStages(
      [
        '<response final="true">Hello.</response>',
        `<response final="false">A moment.</response>${call('a1', 'wait')}`,
      ],
      {
        tools: [tool],
      },
    );
    await answer(await first.post('/chat', chat('Hello.')));
    const begun = first.post('/chat', chat('Work.'));
    const session = await first.newest();
    await expect
      .poll(async () => (await first.events(session)).some(({ type }) => type === 'action.started'))
      .toBe(true);
    const joined = await fetch(`${second.url}/chat/talker/c1/stream`, {
      headers: { authorization: `Bearer ${second.token}` },
    });
    expect(joined.status).toBe(200);
    const busy = await second.post('/chat', chat('And now?'));
    expect([busy.status, await busy.json()]).toEqual([
      409,
      expect.objectContaining({ error: expect.objectContaining({ code: 'thread_busy' }) }),
    ]);
    const run = await second.runtime.store.info(session);
    expect(run?.owner?.pid).toBe(1);
    createRemoteSession({ runtime: second.runtime, clock }, session, {
      onError: () => undefined,
    }).breakOff();
    release('late');
    const told = await chunks(joined);
    expect(told.map(({ type, delta: text }) => (type === 'text-delta' ? text : '')).join('')).toBe(
      'A moment.',
    );
    await begun;
    expect(
      (
        await fetch(`${second.url}/chat/talker/c1/stream`, {
          headers: { authorization: `Bearer ${second.token}` },
        })
      ).status,
    ).toBe(204);
  });

  it.each(['/chat', '/v1/chat/completions'])(
    'begin at a full server, and %s has the answer of another',
    async (path) => {
      const full = { admit: async () => 'queue' } as unknown as NonNullable<Runtime['fleet']>;
      const { first, second } = await twoStages([], {}, { fleet: full });
      const asked =
        path === '/chat'
          ? chat('Hello.')
          : { model: 'talker', messages: [{ role: 'user', content: 'Hello.' }] };
      const answering = second.post(path, asked);
      await expect.poll(() => first.newest()).not.toBe('');
      const session = await first.newest();
      await expect.poll(async () => (await first.store.info(session))?.owner).toBe(undefined);
      const model = createSpokenModel();
      await first.runtime.resume(session, { agent: await agentOf(model), acceptChanges: true });
      await model.say('<response final="true">Good ');
      await model.say('day.</response>');
      const answered = await answering;
      if (path === '/chat') expect(await answer(answered)).toBe('Good day.');
      else expect(await answered.json()).toMatchObject({ choices: [{ message: { content: 'Good day.' } }] });
      expect(second.strays).toEqual([]);
    },
  );
});

import { createListeners, type StoreListeners } from '../../listeners.ts';
import type { PostgresClients } from '../postgres-clients.ts';
import {
  createListeningLink,
  decodeMessage,
  encodeLive,
  encodeMessage,
  inPayloads,
  type ListeningLink,
  type Poke,
  type WireMessage,
} from './listening-link.ts';

/**
 * Short words between the processes of a store, through NOTIFY. Each has a channel of its own, and there is one for all.
 * A NOTIFY takes a lock of the whole server until its commit, so nothing is sent with a commit of the log, and nothing
 * that nobody listens to: every process tells the others which topics it listens to, in a word to all when that changes,
 * and whole to whoever is new or has missed some. What gets lost with a connection is made up for by looking.
 */
export interface Wire {
  /** Begins to listen; until then nobody is told anything. */
  start(): void;
  /** Listens to a topic. The returned function ends it. */
  readonly topics: StoreListeners<string>;
  /** Whether somebody of another process listens, or may. */
  isHeard(topic: string): boolean;
  /** Calls those that listen to a topic, here and elsewhere. */
  ring(topic: string): void;
  /** Calls everybody who listens here: some rings may have been lost. */
  rung(): void;
  /** Says that a stream has moved: to whoever listens to it. */
  poke(stream: string, head: number, message: number): void;
  /** The same to one process. */
  pokePeer(peer: string, stream: string, message: number): void;
  live(topic: string, text: string): void;
  readonly link: ListeningLink;
  /** Sends what waits, says good-bye and closes. */
  close(): Promise<void>;
}

export interface WireDeps {
  readonly clients: PostgresClients;
  readonly schema: string;
  /** What this process is called: its channel. */
  readonly peer: string;
  readonly poked: (stream: string, head: number, message: number) => void;
  /** The last event of a stream that this store writes. */
  readonly ownHead: (stream: string) => number | undefined;
  readonly heardLive: (topic: string, text: string) => void;
  /** Words may have been lost: of all others where nobody is named. */
  readonly missed: (peer?: string) => void;
  /** A channel that is not the wire's. */
  readonly heardOther: (channel: string, payload: string) => void;
}

export const STREAM = 's:';
/** How long the answers of the others are waited for, until it counts as known who listens to what. */
const SETTLING_MS = 500;
const KEEP_MS = 20_000;
/** Three signs of life that did not come. */
const FORGET_MS = 70_000;
const CLOSING_MS = 2_000;

export function createWire(deps: WireDeps): Wire {
  const { peer } = deps;
  const everybody = `telltale_${deps.schema}`;
  const channelOf = (other: string) => `telltale_${other}`;
  const own = channelOf(peer);
  const peers = createPeers();
  const mine = new Set<string>();
  let isSettled = false;
  let settling: ReturnType<typeof setTimeout> | undefined;
  let keeping: ReturnType<typeof setInterval> | undefined;
  let isFirstUp: () => void = () => undefined;
  const firstUp = new Promise<void>((resolve) => {
    isFirstUp = resolve;
  });
  let lives = 0;
  /** Of whom something was left out. */
  let gaps = new Set<string>();

  const link = createListeningLink({
    clients: deps.clients,
    heard(channel, payload) {
      if (channel !== own && channel !== everybody) return deps.heardOther(channel, payload);
      const message = decodeMessage(payload);
      if (message !== undefined) received(message);
    },
    up(again) {
      peers.clear();
      say({ kind: 'hello', peer, again });
      sayTopics(everybody, [...mine], []);
      clearTimeout(settling);
      settling = setTimeout(() => {
        isSettled = true;
      }, SETTLING_MS).unref();
      if (again) deps.missed();
      else isFirstUp();
    },
    down() {
      isSettled = false;
      outbox.drop();
    },
  });
  const outbox = createOutbox({ isUp: () => link.isUp, notify: link.notify });
  const say = (message: Exclude<WireMessage, { readonly kind: 'live' }>, to = everybody) =>
    outbox.add(to, encodeMessage(message));
  const sayTopics = (to: string, add: readonly string[], remove: readonly string[]) => {
    for (const some of inPayloads(add)) say({ kind: 'topics', peer, add: some, remove: [] }, to);
    for (const some of inPayloads(remove)) say({ kind: 'topics', peer, add: [], remove: some }, to);
  };

  const received = (message: WireMessage) => {
    if ('peer' in message && message.peer === peer) return;
    const now = performance.now();
    switch (message.kind) {
      case 'hello':
        if (message.again) deps.missed(message.peer);
        sayTopics(channelOf(message.peer), [...mine], []);
        return;
      case 'bye':
        peers.forget(message.peer);
        return;
      case 'keep':
        if (!peers.agrees(message.peer, message.topics, now)) {
          peers.forget(message.peer);
          say({ kind: 'ask', peer }, channelOf(message.peer));
        }
        return;
      case 'ask':
        sayTopics(channelOf(message.peer), [...mine], []);
        return;
      case 'topics':
        peers.remove(message.peer, message.remove);
        for (const topic of peers.add(message.peer, message.add, now)) introduce(message.peer, topic);
        return;
      case 'pokes':
        for (const [stream, head, last] of message.pokes) deps.poked(stream, head, last);
        return;
      case 'ring':
        topics.call(message.topic);
        return;
      case 'gap':
        deps.missed();
        return;
      case 'live':
        deps.heardLive(message.topic, message.text);
    }
  };

  /** What was committed before he was known to listen he is told now: so that nothing falls in between. */
  const introduce = (other: string, topic: string) => {
    if (!topic.startsWith(STREAM)) return;
    const stream = topic.slice(STREAM.length);
    const head = deps.ownHead(stream);
    if (head !== undefined && head > 0) outbox.poke(channelOf(other), stream, head, 0);
  };

  const topics = createListeners<string>(
    (topic) => {
      mine.add(topic);
      start();
      if (link.isUp) sayTopics(everybody, [topic], []);
    },
    (topic) => {
      mine.delete(topic);
      if (link.isUp) sayTopics(everybody, [], [topic]);
    },
  );

  const start = () => {
    if (keeping !== undefined) return;
    keeping = setInterval(() => {
      peers.expire(performance.now() - FORGET_MS);
      if (link.isUp && mine.size > 0) say({ kind: 'keep', peer, topics: mine.size });
    }, KEEP_MS).unref();
    // They resolve at once: there is no connection yet.
    void link.listen(own);
    void link.listen(everybody);
    link.start();
  };
  /** The channels of those that listen, or that of all while it is not known who does. */
  const to = (topic: string): readonly string[] =>
    isSettled ? [...peers.of(topic)].map(channelOf) : [everybody];

  return {
    start,
    topics,
    link,
    isHeard: (topic) => !isSettled || peers.isHeard(topic),
    ring(topic) {
      topics.call(topic);
      const payload = encodeMessage({ kind: 'ring', peer, topic });
      start();
      for (const channel of to(topic)) outbox.add(channel, payload);
    },
    rung() {
      for (const topic of [...mine]) topics.call(topic);
    },
    poke(stream, head, message) {
      for (const other of peers.of(STREAM + stream)) outbox.poke(channelOf(other), stream, head, message);
      if (isSettled || message === 0) return;
      start();
      outbox.poke(everybody, stream, head, message);
    },
    pokePeer(other, stream, message) {
      start();
      outbox.poke(channelOf(other), stream, 0, message);
    },
    live(topic, text) {
      if (!link.isUp) return; // whoever listens is told that some may be missing
      const payload = encodeLive(peer, topic, text, ++lives);
      for (const channel of to(topic)) {
        if (outbox.add(channel, payload)) continue;
        gaps.add(channel);
      }
      if (gaps.size === 0) return;
      const cut = gaps;
      gaps = new Set();
      for (const channel of cut) if (!say({ kind: 'gap' }, channel)) gaps.add(channel);
    },
    async close() {
      clearTimeout(settling);
      clearInterval(keeping);
      if (link.isUp) say({ kind: 'bye', peer });
      const patience = new Promise<void>((resolve) => setTimeout(resolve, CLOSING_MS).unref());
      if (!outbox.isEmpty()) await Promise.race([firstUp.then(outbox.drained), patience]);
      await link.close();
    },
  };
}

/** What the other processes listen to, as they have told. It may be out of date for a moment: nothing depends on it. */
export interface Peers {
  /** Those that listen to a topic. */
  of(topic: string): Iterable<string>;
  isHeard(topic: string): boolean;
  /** Returns the topics that it did not listen to before. */
  add(peer: string, topics: readonly string[], now: number): readonly string[];
  remove(peer: string, topics: readonly string[]): void;
  forget(peer: string): void;
  /** A sign of life, with how many topics it listens to; false where another number, or nothing, is known. */
  agrees(peer: string, topics: number, now: number): boolean;
  /** Forgets those that were silent since then. */
  expire(before: number): void;
  clear(): void;
}

interface Peer {
  readonly topics: Set<string>;
  seenAt: number;
}

const NOBODY: ReadonlySet<string> = new Set();

function createPeers(): Peers {
  const peers = new Map<string, Peer>();
  const byTopic = new Map<string, Set<string>>();

  const leave = (peer: string, topic: string) => {
    const others = byTopic.get(topic);
    others?.delete(peer);
    if (others?.size === 0) byTopic.delete(topic);
  };
  const forget = (peer: string) => {
    for (const topic of peers.get(peer)?.topics ?? []) leave(peer, topic);
    peers.delete(peer);
  };

  return {
    of: (topic) => byTopic.get(topic) ?? NOBODY,
    isHeard: (topic) => byTopic.has(topic),
    add(peer, topics, now) {
      const known = peers.get(peer) ?? { topics: new Set<string>(), seenAt: now };
      known.seenAt = now;
      peers.set(peer, known);
      const added = topics.filter((topic) => !known.topics.has(topic));
      for (const topic of added) {
        known.topics.add(topic);
        const others = byTopic.get(topic);
        if (others === undefined) byTopic.set(topic, new Set([peer]));
        else others.add(peer);
      }
      return added;
    },
    remove(peer, topics) {
      for (const topic of topics) if (peers.get(peer)?.topics.delete(topic) === true) leave(peer, topic);
    },
    forget,
    agrees(peer, topics, now) {
      const known = peers.get(peer);
      if (known === undefined) return false;
      known.seenAt = now;
      return known.topics.size === topics;
    },
    expire(before) {
      for (const [peer, { seenAt }] of peers) if (seenAt < before) forget(peer);
    },
    clear() {
      peers.clear();
      byTopic.clear();
    },
  };
}

/** What is to be sent, gathered while a notice is on its way: one transaction for all of it. */
export interface WireOutbox {
  /** In order, to a channel. False where too much waits: then it is left out. */
  add(channel: string, payload: string): boolean;
  /** Streams that moved; several moves of one are told as one. */
  poke(channel: string, stream: string, head: number, message: number): void;
  /** Nothing of it is sent. */
  drop(): void;
  /** Resolves when what was added before is sent, or lost. */
  drained(): Promise<void>;
  isEmpty(): boolean;
}

export interface OutboxDeps {
  readonly isUp: () => boolean;
  readonly notify: (messages: readonly (readonly [channel: string, payload: string])[]) => Promise<void>;
}

const MAX_WAITING = 20_000;
/** In one transaction: the server's queue of notices is locked until it is committed. */
const MAX_AT_ONCE = 500;

function createOutbox({ isUp, notify }: OutboxDeps): WireOutbox {
  let waiting: (readonly [string, string])[] = [];
  let pokes = new Map<string, Map<string, Poke>>();
  let sending: Promise<void> | undefined;
  let isScheduled = false;

  const take = () => {
    for (const [channel, streams] of pokes)
      for (const some of inPayloads([...streams.values()]))
        waiting.push([channel, encodeMessage({ kind: 'pokes', pokes: some })]);
    pokes = new Map();
    const now = waiting.slice(0, MAX_AT_ONCE);
    waiting = waiting.slice(MAX_AT_ONCE);
    return now;
  };
  const send = async (): Promise<void> => {
    while (isUp() && waiting.length + pokes.size > 0) await notify(take());
  };
  const flush = () => {
    isScheduled = false;
    // What a broken connection lost is made up for when there is another.
    sending ??= send()
      .catch(() => undefined)
      .finally(() => {
        sending = undefined;
      });
  };
  const schedule = () => {
    if (isScheduled || sending !== undefined || !isUp()) return;
    isScheduled = true;
    setImmediate(flush);
  };

  return {
    add(channel, payload) {
      if (waiting.length >= MAX_WAITING) return false;
      waiting.push([channel, payload]);
      schedule();
      return true;
    },
    poke(channel, stream, head, message) {
      const streams = pokes.get(channel) ?? new Map<string, Poke>();
      const [, before = 0, last = 0] = streams.get(stream) ?? [];
      // Whoever hears of too many is told of none: everything is looked at every now and then.
      if (streams.size >= MAX_WAITING) return;
      streams.set(stream, [stream, Math.max(head, before), Math.max(message, last)]);
      pokes.set(channel, streams);
      schedule();
    },
    drop() {
      waiting = [];
      pokes = new Map();
    },
    async drained() {
      flush();
      await sending;
    },
    isEmpty: () => sending === undefined && waiting.length + pokes.size === 0,
  };
}

import type { LoadedAgent } from '../../agent/loaded-agent.ts';
import { readEventPage } from '../../agent/read-session.ts';
import { createRemoteSession } from '../../agent/remote/remote-session.ts';
import type { ReviewReply } from '../../agent/reviews/read-review.ts';
import { sessionQuarantined } from '../../agent/runtime-deps.ts';
import type { Runtime, Session } from '../../agent/runtime-types.ts';
import type { Clock } from '../../lib/clock.ts';
import { within } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { SessionEvent } from '../../log/event.ts';
import { isAway } from '../../log/fold-handoffs.ts';
import { openReviews } from '../../log/reviews.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import type { Tables } from '../../store/store.ts';
import { accepted, placeHere } from '../routes/admitted.ts';
import type { ServerDeps } from '../server-edges.ts';
import {
  type Beginning,
  createExchange,
  createExchangeFold,
  type Exchange,
  type ExchangeReview,
} from './exchange/exchange.ts';
import { callKey } from './exchange/fold-speech.ts';
import { notWaiting, threadBusy } from './read-fields.ts';

/** What a client sends to a conversation. */
export type Said =
  /** `whole`: with what was said before, for a session that has not heard it. `anew`: what was said before has changed. */
  | { readonly kind: 'message'; readonly text: string; readonly whole: string; readonly anew?: boolean }
  /** People's answers to what the session waits for. */
  | {
      readonly kind: 'answers';
      readonly answers: readonly { readonly review: string; readonly reply: ReviewReply }[];
    };

export interface ChatsAsked {
  readonly agent: LoadedAgent<unknown>;
  /** The conversation, as the client calls it. */
  readonly thread: string;
  readonly said: Said;
  /** Who asks: signs that the session goes on. */
  readonly by: string;
  readonly user?: string | undefined;
  /** Whether others may follow the exchange while it lasts. */
  readonly replays: boolean;
}

/** The conversations of front ends: each is a session, and has one exchange at a time. */
export interface Chats {
  begin(asked: ChatsAsked): Promise<ChatsBegun>;
  /** Ends the exchange with all that runs; the conversation goes on with the next message. */
  breakOff(exchange: Exchange): void;
  /** The exchange of a conversation that is under way, of whichever agent, whoever works on it. */
  current(
    thread: string,
    agent?: string,
  ): Promise<{ readonly begun: ChatsBegun; readonly agent: string } | undefined>;
}

export function createChats(deps: ServerDeps): Chats {
  const { runtime, clock, closing, onError } = deps;
  const table = createThreadTable(runtime.store.tables);
  const idle = createIdleChats({ runtime, clock, onError });
  const currents = createCurrentExchanges(clock);
  const elsewhere = createElsewhere(deps);
  const isHere = (id: string) => runtime.session(id) !== undefined;

  const begin = async (asked: ChatsAsked): Promise<ChatsBegun> => {
    const current = await currents.claim(asked.agent.manifest.name, asked.thread);
    try {
      const begun = await (asked.said.kind === 'message'
        ? say(asked, asked.said)
        : answer(asked, asked.said));
      current.begun = begun;
      void begun.exchange.over.then(({ kind }) => {
        current.end();
        const { session } = begun.exchange;
        if ((kind === 'answered' || kind === 'stopped') && isHere(session.id)) idle.add(session);
      });
      return begun;
    } catch (thrown) {
      current.end();
      throw thrown;
    }
  };

  const say = async (asked: ChatsAsked, said: Extract<Said, { kind: 'message' }>): Promise<ChatsBegun> => {
    const { name } = asked.agent.manifest;
    const known = said.anew === true ? undefined : await table.find(name, asked.thread);
    const session = known === undefined ? undefined : await takeUp(known, asked);
    if (session === undefined) return start(asked, said.whole);
    // Whoever works on it elsewhere may be answering another server's client.
    if (!isHere(session.id) && !(await isIdle(session.id))) throw threadBusy(asked.thread, session.id);
    const begun = await join(session, asked, { kind: 'message', text: said.text });
    return doing(begun, () => session.say(said.text));
  };

  const start = async ({ agent, thread, user, replays }: ChatsAsked, input: string): Promise<ChatsBegun> => {
    const { queued, place } = await accepted(deps, 'session');
    let session: Session<unknown>;
    try {
      session = runtime.start(agent, {
        input,
        chat: true,
        onWaiting: 'hold',
        queued,
        ...(user === undefined ? {} : { user }),
      });
    } finally {
      place?.release(); // it has its own by now
    }
    const fold = createExchangeFold({ kind: 'session' }, [], true);
    const exchange = createExchange(session, {
      since: 0,
      fold,
      replays,
      closing,
      elsewhere: elsewhere.of(session.id),
    });
    return doing({ exchange, metadata: undefined, open: [], reviews: [] }, () =>
      table.set(agent.manifest.name, thread, session.id),
    );
  };

  const answer = async (
    asked: ChatsAsked,
    { answers }: Extract<Said, { kind: 'answers' }>,
  ): Promise<ChatsBegun> => {
    const known = await table.find(asked.agent.manifest.name, asked.thread);
    const session = known === undefined ? undefined : await takeUp(known, asked);
    const open = session === undefined ? [] : await runtime.reviews({ session: session.id });
    const gone = answers.find(({ review }) => !open.some((each) => each.review === review));
    if (session === undefined || gone !== undefined)
      throw notWaiting(asked.thread, gone?.review ?? 'anything');
    const begun = await join(session, asked, {
      kind: 'answers',
      reviews: answers.map(({ review }) => review),
    });
    return doing(begun, async () => {
      for (const { review, reply } of answers) await runtime.answer(review, reply);
    });
  };

  const isIdle = async (id: string): Promise<boolean> => {
    const { idle, status } = await runtime.state(id);
    return idle || status !== 'running';
  };

  /** The session, at work here or elsewhere; undefined where it cannot go on, and a new one has to. */
  const takeUp = async (
    id: string,
    { agent, by }: Pick<ChatsAsked, 'agent' | 'by'>,
  ): Promise<Session<unknown> | undefined> => {
    idle.take(id);
    const here = runtime.session(id);
    if (here !== undefined) return here;
    const info = await runtime.store.info(id);
    if (info === undefined || ENDED_BADLY.has(info.status)) return undefined;
    const state = await runtime.state(id);
    if (info.status === QUARANTINED) throw sessionQuarantined(id);
    if (info.owner !== undefined) return runtime.session(id) ?? elsewhere.session(id, state.seq);
    const place = await placeHere(deps, 'session', id);
    try {
      return await runtime.resume(id, {
        agent,
        by,
        chat: true,
        onWaiting: 'hold',
        // Nothing of it was begun with the agent as it was.
        acceptChanges: state.idle || state.status === 'completed',
      });
    } catch (thrown) {
      if (!(thrown instanceof RuntimeError) || thrown.code !== 'stream_owned') throw thrown;
      // Somebody else has taken it up meanwhile.
      return runtime.session(id) ?? elsewhere.session(id, state.seq);
    } finally {
      place?.release();
    }
  };

  const join = async (
    session: Session<unknown>,
    asked: ChatsAsked,
    beginning: Beginning,
  ): Promise<ChatsBegun> => {
    const { seq, metadata, open, asking } = await standingOf(runtime, session.id);
    const fold = createExchangeFold(beginning, asking, true);
    const exchange = createExchange(session, {
      since: seq,
      fold,
      replays: asked.replays,
      closing,
      elsewhere: elsewhere.of(session.id),
    });
    return { exchange, metadata, open, reviews: asking };
  };

  const doing = async (begun: ChatsBegun, act: () => Promise<void>): Promise<ChatsBegun> => {
    try {
      await act();
      return begun;
    } catch (thrown) {
      begun.exchange.drop();
      throw thrown;
    }
  };

  const ofExchange = (exchange: Exchange) =>
    [...currents.all()].find(({ begun }) => begun?.exchange === exchange);

  return {
    begin,
    breakOff(exchange) {
      const current = ofExchange(exchange);
      if (current === undefined || current.stopping) return;
      current.stopping = true;
      exchange.session.breakOff();
    },
    async current(thread, agent) {
      for (const { begun, ...of } of currents.all())
        if (begun !== undefined && of.thread === thread && (agent ?? of.agent) === of.agent)
          return { begun, agent: of.agent };
      for (const name of agent === undefined ? deps.catalog.list().map((each) => each.name) : [agent]) {
        const id = await table.find(name, thread);
        const found = id === undefined ? undefined : await findRunning(deps, elsewhere, id);
        if (found !== undefined) return { begun: found, agent: name };
      }
      return undefined;
    },
  };
}

/** What was said is given to a new session instead. */
const ENDED_BADLY: ReadonlySet<string> = new Set(['failed', 'stalled', 'cancelled']);

/** Chats that nobody talks to stay in memory for a while: the next message finds them at work. */
export interface IdleChats {
  /** Its exchange is over. */
  add(session: Session<unknown>): void;
  /** Another one begins. */
  take(id: string): void;
}

const LINGER_MS = 30 * 60_000;
/** Beyond that the one that was idle for the longest time is let go of. */
const MAX_IDLE = 1_000;

export interface IdleChatsDeps {
  readonly runtime: Pick<Runtime, 'state'>;
  readonly clock: Clock;
  readonly onError: (thrown: unknown) => void;
}

/** One that is let go of is on the log like any other, and is taken up again with its next message. */
export function createIdleChats({ runtime, clock, onError }: IdleChatsDeps): IdleChats {
  const idle = new Map<string, { readonly session: Session<unknown>; readonly disarm: () => void }>();

  const take = (id: string) => {
    idle.get(id)?.disarm();
    idle.delete(id);
  };
  const letGo = async (session: Session<unknown>) => {
    take(session.id);
    // Somebody else may have spoken to it, in the console.
    if ((await runtime.state(session.id)).idle) await session.interrupt();
    else add(session);
  };
  const add = (session: Session<unknown>) => {
    take(session.id);
    const disarm = clock.after(LINGER_MS, () => void letGo(session).catch(onError));
    idle.set(session.id, { session, disarm });
    const over = () => take(session.id);
    session.result.then(over, over);
    const [longest] = idle.values();
    if (idle.size > MAX_IDLE && longest !== undefined) letGo(longest.session).catch(onError);
  };
  return { add, take };
}

/** Events that are looked through for the beginning of an exchange; one that is longer is not joined any more. */
const MAX_BACK = 20_000;
const PAGE = 1_000;

/** The exchange that a session is in, begun through another server or before this one started; undefined where none is. */
async function findRunning(
  { runtime, closing }: Pick<ServerDeps, 'runtime' | 'closing'>,
  elsewhere: Elsewhere,
  id: string,
): Promise<ChatsBegun | undefined> {
  const info = await runtime.store.info(id);
  if (info?.status !== 'running' || (await runtime.state(id)).idle) return undefined;
  const first = await lastBeginning(
    (from, limit) => readEventPage(runtime.store, id, from, limit),
    info.head,
  );
  if (first === undefined) return undefined;
  const since = first.seq - 1;
  const { metadata, open, asking } = await standingOf(runtime, id, since);
  const fold = createExchangeFold(beginningOf(first), asking, true);
  const exchange = createExchange(elsewhere.session(id, since), { since, fold, replays: false, closing });
  const isNew = first.type === 'session.started';
  return { exchange, metadata: isNew ? undefined : metadata, open, reviews: asking };
}

interface ChatStanding {
  readonly seq: number;
  readonly metadata: JsonObject;
  readonly open: readonly string[];
  readonly asking: readonly ExchangeReview[];
}

/** What is open in a conversation; the agent that it has moved to has actions and questions of its own. */
async function standingOf(
  runtime: Pick<Runtime, 'state' | 'store'>,
  id: string,
  at?: number,
): Promise<ChatStanding> {
  const state = await runtime.state(id, at);
  const { seq, metadata, thread } = state;
  const own = { seq, metadata, open: [...state.open], asking: openReviews(state) };
  if (thread === undefined || !isAway(state)) return own;
  // The handoff may be on the log before the other agent has begun.
  if ((await runtime.store.info(thread.session)) === undefined) return own;
  const { speaker } = thread;
  const away = await runtime.state(thread.session);
  // In a fork that has not gone on, it is the agent's session in the conversation that was forked.
  if (away.parent?.session !== id) return own;
  return {
    ...own,
    open: [...own.open, ...[...away.open].map((action) => callKey(action, speaker))],
    asking: [...own.asking, ...openReviews(away).map((review) => ({ ...review, speaker }))],
  };
}

/** What began the exchange in hand: the last message of the user, or the session's start. */
async function lastBeginning(
  read: (from: number, limit: number) => Promise<readonly SessionEvent[]>,
  head: number,
): Promise<SessionEvent | undefined> {
  for (let to = head; to > 0 && head - to < MAX_BACK; to -= PAGE) {
    const from = Math.max(1, to - PAGE + 1);
    const found = (await read(from, to - from + 1)).findLast(
      ({ type, ...event }) =>
        type === 'session.started' ||
        (type === 'message.received' && 'from' in event && event.from === 'user'),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

const beginningOf = (event: SessionEvent): Beginning =>
  event.type === 'message.received' ? { kind: 'message', text: event.text } : { kind: 'session' };

/** An exchange that has begun, and how the session stood before. */
export interface ChatsBegun {
  readonly exchange: Exchange;
  /** Undefined of a new session, whose first event has it. */
  readonly metadata: JsonObject | undefined;
  /** Actions that had not ended, and reviews that nobody had answered. */
  readonly open: readonly string[];
  readonly reviews: readonly ExchangeReview[];
}

/** The exchange of a conversation that is under way, or about to begin. */
export interface Current {
  readonly thread: string;
  readonly agent: string;
  begun?: ChatsBegun;
  /** Whether it is being broken off. */
  stopping: boolean;
  /** Resolves once the next exchange may begin. */
  readonly over: Promise<void>;
  readonly end: () => void;
}

/** One of each conversation at a time. */
export interface CurrentExchanges {
  /** Waits for an exchange that is being broken off; refuses beside one that is not. */
  claim(agent: string, thread: string): Promise<Current>;
  all(): Iterable<Current>;
}

/** How long a message waits for an exchange that was broken off to end: a program is killed after five seconds. */
const STOPPING_MS = 15_000;

function createCurrentExchanges(clock: Clock): CurrentExchanges {
  const currents = new Map<string, Current>();
  return {
    async claim(agent, thread) {
      const key = threadKey(agent, thread);
      for (let before = currents.get(key); before !== undefined; before = currents.get(key)) {
        const isOver = before.stopping && (await within(clock, STOPPING_MS, before.over)).kind === 'done';
        if (!isOver) throw threadBusy(thread, before.begun?.exchange.session.id);
      }
      let resolve: () => void = () => undefined;
      const over = new Promise<void>((done) => {
        resolve = done;
      });
      const current: Current = {
        thread,
        agent,
        stopping: false,
        over,
        end() {
          if (currents.get(key) === current) currents.delete(key);
          resolve();
        },
      };
      currents.set(key, current);
      return current;
    },
    all: () => currents.values(),
  };
}

/** Which session a conversation of a front end is: by agent and the id that the client gave it. */
export interface ThreadTable {
  find(agent: string, thread: string): Promise<string | undefined>;
  set(agent: string, thread: string, session: string): Promise<void>;
}

const TABLE = 'server.threads';

const createThreadTable = (tables: Pick<Tables, 'get' | 'set'>): ThreadTable => ({
  async find(agent, thread) {
    const session = await tables.get(TABLE, threadKey(agent, thread));
    return typeof session === 'string' ? session : undefined;
  },
  set: (agent, thread, session) => tables.set(TABLE, threadKey(agent, thread), session),
});

/** An agent's name holds no slash. */
const threadKey = (agent: string, thread: string): string => `${agent}/${thread}`;

/** Sessions that other processes work on. */
export interface Elsewhere {
  /** Behind the event `after`. */
  session(id: string, after: number): Session<unknown>;
  /** How a session goes on that this process lets go of; undefined where no other would take it. */
  of(id: string): ((after: number) => Session<unknown>) | undefined;
}

export function createElsewhere({
  runtime,
  clock,
  onError,
}: Pick<ServerDeps, 'runtime' | 'clock' | 'onError'>): Elsewhere {
  const session = (id: string, after: number) =>
    createRemoteSession({ runtime, clock }, id, { after, onError });
  return {
    session,
    of: (id) => (runtime.store.shared === undefined ? undefined : (after) => session(id, after)),
  };
}

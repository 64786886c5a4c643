import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { ReviewReply } from '../../session/reviews/read-reply.ts';
import { sessionQuarantined } from '../../session/runtime-errors.ts';
import type { Session } from '../../session/runtime-types.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import { accepted, placeHere } from '../routes/admitted.ts';
import type { ServerDeps } from '../server-edges.ts';
import { type Begun, createCurrentExchanges } from './current-exchanges.ts';
import { createElsewhere } from './elsewhere.ts';
import { createExchange, type Exchange } from './exchange/exchange.ts';
import { type Beginning, createExchangeFold } from './exchange/exchange-end.ts';
import { createIdleChats } from './idle-chats.ts';
import { notWaiting, threadBusy } from './protocol-errors.ts';
import { findRunning } from './running-exchange.ts';
import { createThreadTable } from './thread-table.ts';

/** What a client sends to a conversation. */
export type Said =
  /** `whole`: with what was said before, for a session that has not heard it. `anew`: what was said before has changed. */
  | { readonly kind: 'message'; readonly text: string; readonly whole: string; readonly anew?: boolean }
  /** People's answers to what the session waits for. */
  | {
      readonly kind: 'answers';
      readonly answers: readonly { readonly review: string; readonly reply: ReviewReply }[];
    };

export interface Asked {
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
  begin(asked: Asked): Promise<Begun>;
  /** Ends the exchange with all that runs; the conversation goes on with the next message. */
  breakOff(exchange: Exchange): void;
  /** The exchange of a conversation that is under way, of whichever agent, whoever works on it. */
  current(
    thread: string,
    agent?: string,
  ): Promise<{ readonly begun: Begun; readonly agent: string } | undefined>;
}

export function createChats(deps: ServerDeps): Chats {
  const { runtime, clock, closing, onError } = deps;
  const table = createThreadTable(runtime.store.tables);
  const idle = createIdleChats({ runtime, clock, onError });
  const currents = createCurrentExchanges(clock);
  const elsewhere = createElsewhere(deps);
  const isHere = (id: string) => runtime.session(id) !== undefined;

  const begin = async (asked: Asked): Promise<Begun> => {
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

  const say = async (asked: Asked, said: Extract<Said, { kind: 'message' }>): Promise<Begun> => {
    const { name } = asked.agent.manifest;
    const known = said.anew === true ? undefined : await table.find(name, asked.thread);
    const session = known === undefined ? undefined : await takeUp(known, asked);
    if (session === undefined) return start(asked, said.whole);
    // Whoever works on it elsewhere may be answering another server's client.
    if (!isHere(session.id) && !(await isIdle(session.id))) throw threadBusy(asked.thread, session.id);
    const begun = await join(session, asked, { kind: 'message', text: said.text });
    return doing(begun, () => session.say(said.text));
  };

  const start = async ({ agent, thread, user, replays }: Asked, input: string): Promise<Begun> => {
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

  const answer = async (asked: Asked, { answers }: Extract<Said, { kind: 'answers' }>): Promise<Begun> => {
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
    { agent, by }: Pick<Asked, 'agent' | 'by'>,
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

  const join = async (session: Session<unknown>, asked: Asked, beginning: Beginning): Promise<Begun> => {
    const { seq, metadata, open, reviews } = await runtime.state(session.id);
    const asking = reviews.filter((review) => review.answer === undefined);
    const fold = createExchangeFold(beginning, asking, true);
    const exchange = createExchange(session, {
      since: seq,
      fold,
      replays: asked.replays,
      closing,
      elsewhere: elsewhere.of(session.id),
    });
    return { exchange, metadata, open: [...open], reviews: asking };
  };

  const doing = async (begun: Begun, act: () => Promise<void>): Promise<Begun> => {
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

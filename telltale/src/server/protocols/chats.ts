import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { ReviewReply } from '../../session/reviews/read-reply.ts';
import type { Session } from '../../session/runtime-types.ts';
import { admittedHere } from '../routes/admitted.ts';
import type { ServerEdges } from '../server-edges.ts';
import { type Begun, createCurrentExchanges } from './current-exchanges.ts';
import { createExchange, type Exchange } from './exchange/exchange.ts';
import { type Beginning, createExchangeFold } from './exchange/exchange-end.ts';
import { createIdleChats } from './idle-chats.ts';
import { notWaiting } from './protocol-errors.ts';
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
  readonly user?: string | undefined;
  /** Whether others may follow the exchange while it lasts. */
  readonly replays: boolean;
}

/** The conversations of front ends: each is a session, and has one exchange at a time. */
export interface Chats {
  begin(asked: Asked): Promise<Begun>;
  /** Ends the exchange with all that runs; the conversation goes on with the next message. */
  breakOff(exchange: Exchange): void;
  /** The exchange of a conversation that is under way, of whichever agent. */
  current(thread: string, agent?: string): { readonly begun: Begun; readonly agent: string } | undefined;
}

export function createChats(edges: ServerEdges): Chats {
  const { runtime, clock, closing, onError } = edges;
  const table = createThreadTable(runtime.store.tables);
  const idle = createIdleChats({ runtime, clock, onError });
  const currents = createCurrentExchanges(clock);

  const begin = async (asked: Asked): Promise<Begun> => {
    const current = await currents.claim(asked.agent.manifest.name, asked.thread);
    try {
      const begun = await (asked.said.kind === 'message'
        ? say(asked, asked.said)
        : answer(asked, asked.said));
      current.begun = begun;
      void begun.exchange.over.then(({ kind }) => {
        current.end();
        if (kind === 'answered' || kind === 'stopped') idle.add(begun.exchange.session);
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
    const session = known === undefined ? undefined : await takeUp(known, asked.agent);
    if (session === undefined) return start(asked, said.whole);
    const begun = await join(session, asked, { kind: 'message', text: said.text });
    return doing(begun, () => session.say(said.text));
  };

  const start = async ({ agent, thread, user, replays }: Asked, input: string): Promise<Begun> => {
    await admittedHere(runtime);
    const session = runtime.start(agent, {
      ...{ input, chat: true, onWaiting: 'hold' },
      ...(user === undefined ? {} : { user }),
    });
    const fold = createExchangeFold({ kind: 'session' }, [], true);
    const exchange = createExchange(session, { since: 0, fold, replays, closing });
    return doing({ exchange, metadata: undefined, open: [], reviews: [] }, () =>
      table.set(agent.manifest.name, thread, session.id),
    );
  };

  const answer = async (asked: Asked, { answers }: Extract<Said, { kind: 'answers' }>): Promise<Begun> => {
    const known = await table.find(asked.agent.manifest.name, asked.thread);
    const session = known === undefined ? undefined : await takeUp(known, asked.agent);
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

  /** The session, at work here; undefined where it cannot go on, and a new one has to. */
  const takeUp = async (id: string, agent: LoadedAgent<unknown>): Promise<Session<unknown> | undefined> => {
    idle.take(id);
    const here = runtime.session(id);
    if (here !== undefined) return here;
    const info = await runtime.store.info(id);
    if (info === undefined || ENDED_BADLY.has(info.status)) return undefined;
    const state = await runtime.state(id);
    try {
      return await runtime.resume(id, {
        ...{ agent, chat: true, onWaiting: 'hold' },
        // Nothing of it was begun with the agent as it was.
        acceptChanges: state.idle || state.status === 'completed',
      });
    } catch (thrown) {
      // Somebody else here has taken it up meanwhile.
      const found = thrown instanceof RuntimeError && thrown.code === 'stream_owned' && runtime.session(id);
      if (found) return found;
      throw thrown;
    }
  };

  const join = async (session: Session<unknown>, asked: Asked, beginning: Beginning): Promise<Begun> => {
    const { seq, metadata, open, reviews } = await runtime.state(session.id);
    const asking = reviews.filter((review) => review.answer === undefined);
    const fold = createExchangeFold(beginning, asking, true);
    const exchange = createExchange(session, { since: seq, fold, replays: asked.replays, closing });
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
    current(thread, agent) {
      for (const { begun, ...of } of currents.all())
        if (begun !== undefined && of.thread === thread && (agent ?? of.agent) === of.agent)
          return { begun, agent: of.agent };
      return undefined;
    },
  };
}

/** What was said is given to a new session instead. */
const ENDED_BADLY: ReadonlySet<string> = new Set(['failed', 'stalled', 'cancelled']);

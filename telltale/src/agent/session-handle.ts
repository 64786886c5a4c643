import { RuntimeError } from '../lib/errors.ts';
import type { ObservedEvent } from '../log/event.ts';
import { openReviews } from '../log/reviews.ts';
import type { StreamWriter } from '../store/store.ts';
import type { ChatControl } from './chat-control.ts';
import { checkListener, checkText, checkTurn } from './check-options.ts';
import type { Begin, ChildSession } from './children/child-session.ts';
import { type IdleStatus, waitsFor } from './children/idle.ts';
import { createEventQueue, type EventQueue } from './event-queue.ts';
import { nobodyReads, notAChat } from './messages.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { RuntimeDeps, Seat, SessionHere } from './runtime-deps.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop, StopReason } from './stop.ts';

export interface LiveSession extends SessionHere, ChildSession {
  /** Resolves once the session is this process's own and has begun; rejects where it cannot. */
  readonly ready: Promise<unknown>;
}

/** What a session is while it is worked on: what its methods and its run share. */
export interface Live {
  readonly deps: RuntimeDeps;
  readonly begin: Begin;
  readonly stop: Stop;
  readonly chat: ChatControl;
  readonly rest: IdleStatus;
  /** Undefined for as long as there is no log. */
  log: SessionLog | undefined;
  writer: StreamWriter | undefined;
  prepared: PreparedAgent | undefined;
  /** Those that came before it had begun; undefined once it has. */
  early: readonly Early[] | undefined;
  readonly seat: Seat;
  /** Made for the first who reads events. */
  queue: EventQueue | undefined;
  /** The last event, once the session is over. */
  lastSeq: number | undefined;
}

interface Early {
  readonly listener: (event: ObservedEvent) => void;
  /** Ends what has become of it on the log. */
  end: (() => void) | undefined;
}

type SessionPromises = Pick<LiveSession, 'ready' | 'result'>;

/** What programs hold of the session: methods that can be taken off it, and nothing that shows the runtime behind it. */
export function createSessionHandle(live: Live, { ready, result }: SessionPromises): LiveSession {
  const { deps, begin, chat } = live;
  const { id } = begin;

  async function send(kind: 'steer' | 'message', body: string): Promise<void> {
    checkText(kind === 'steer' ? 'session.steer' : 'session.say', 'text', body);
    await ready;
    if (kind === 'message' && live.log?.state.chat !== true) throw notAChat(id);
    // A chat that has completed can be gone on with: it reads then what was said.
    if (chat.over && kind === 'steer') throw nobodyReads(id);
    const sent = await deps.store.send(id, { kind, from: 'user', body });
    // The end may have been decided while it was written down.
    if (chat.over && chat.heard < sent && kind === 'steer') throw nobodyReads(id);
  }

  const session: LiveSession = {
    id,
    ready,
    result,
    rest: live.rest,

    get events() {
      live.queue ??= openEvents(live, ready);
      return live.queue;
    },

    subscribe(listener) {
      checkListener('session.subscribe', listener);
      if (live.log !== undefined && live.early === undefined) return live.log.subscribe(listener);
      const early: Early = { listener, end: live.log?.subscribe(listener) };
      live.early = [...(live.early ?? []), early];
      return () => {
        live.early = live.early?.filter((each) => each !== early);
        early.end?.();
      };
    },

    speech(told) {
      if (live.log === undefined) told(undefined, 0);
      else live.log.speech(told);
    },

    steer: (text) => send('steer', text),
    say: (text) => send('message', text),
    breakOff: () => chat.breakOff(),
    finish: () => chat.finish(),

    async prompt(turn) {
      checkTurn('session.prompt', turn);
      return session.showPrompt({ turn });
    },

    async showPrompt(asked) {
      await ready;
      const { readPrompt } = await import('./prompts.ts');
      return readPrompt(deps, id, begin.agent, asked, live.prepared);
    },

    peek: () => live.log?.state,
    isOver: () => chat.over,
    hasHeard: (message) => chat.heard >= message,
    stop: (reason) => end(live, reason),

    async cancel(reason = 'asked to') {
      checkText('session.cancel', 'reason', reason);
      end(live, { kind: 'cancel', reason, by: 'user' });
      const { status } = await result;
      if (status !== 'waiting' && status !== 'interrupted') return;
      // It was let go of before: somebody else may have it, or nobody.
      const { store, clock, runs } = deps;
      const { cancelHere } = await import('./ending/cancel-session.ts');
      await cancelHere({ store, clock, workflows: runs }, id, reason, 'user').catch(unlessClosed);
    },

    async interrupt() {
      end(live, { kind: 'interrupt' });
      await result.catch(() => undefined); // somebody else hears of it
    },
  };
  // For whoever prints it: behind it stands the whole runtime, keys of providers among it.
  const shown = { value: () => ({ id }) };
  return Object.defineProperties(session, {
    toJSON: shown,
    [Symbol.for('nodejs.util.inspect.custom')]: shown,
  });
}

function openEvents({ deps, begin, log, lastSeq }: Live, ready: Promise<unknown>): EventQueue {
  const queue = createEventQueue(deps.store, begin.id, ready);
  if (log !== undefined) queue.attach(log);
  if (lastSeq !== undefined) queue.end(lastSeq);
  return queue;
}

/** With the runtime closed it stays as it is: its result says so. */
function unlessClosed(thrown: unknown): void {
  const code = thrown instanceof RuntimeError ? thrown.code : undefined;
  if (code !== 'store_closed' && code !== 'runtime_closed') throw thrown;
}

function end({ log, rest, stop }: Live, reason: StopReason): void {
  if (reason.kind === 'wait' && log?.state.status === 'running' && rest.reviews() !== undefined)
    log.append({ type: 'session.waiting', for: waitsFor(log.state, openReviews(log.state)) });
  if (reason.kind === 'interrupt' || reason.kind === 'wait') log?.seal();
  stop.now(reason);
}

import { RuntimeError } from '../lib/errors.ts';
import { added, NONE } from '../lib/grow.ts';
import { lateMethods } from '../lib/late-methods.ts';
import { withMethods } from '../lib/with-methods.ts';
import type { ObservedEvent } from '../log/event.ts';
import { openReviews } from '../log/reviews.ts';
import type { SessionPrompt } from '../log/session-prompt.ts';
import type { SessionState } from '../log/state.ts';
import type { StreamWriter } from '../store/store.ts';
import type { AskedPrompt } from './asked-prompt.ts';
import type { Talk } from './chat-control.ts';
import { checkListener, checkText, checkTurn } from './check-options.ts';
import type { Begin, ChildSession } from './children/child-session.ts';
import { type Rest, waitsFor } from './children/idle.ts';
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
  readonly talk: Talk;
  readonly rest: Rest;
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

/** Not for programs: under a name that they do not know. */
const LIVE = Symbol('live');

interface SessionFace extends LiveSession {
  readonly [LIVE]: Live;
}

type SessionFacePromised = Pick<LiveSession, 'ready' | 'result'>;

/** What programs hold of the session. */
export const createSessionFace = (live: Live, { ready, result }: SessionFacePromised): LiveSession =>
  withMethods<SessionFace, keyof typeof FACE>(FACE, {
    // A copy: docs/decisions/copies.md
    id: live.begin.id,
    ready,
    result,
    rest: live.rest,
    [LIVE]: live,
  });

const METHODS = {
  subscribe,
  speech,
  steer,
  say,
  breakOff,
  finish,
  peek,
  isOver,
  hasHeard,
  stop,
  cancel,
  interrupt,
  prompt,
  showPrompt,
};

const FACE = Object.defineProperties(
  lateMethods<SessionFace, typeof METHODS, Pick<SessionFace, 'events'>>(METHODS, { events }),
  { toJSON: { value: shown }, [Symbol.for('nodejs.util.inspect.custom')]: { value: shown } },
);

/** For whoever prints it: behind it stands the whole runtime, keys of providers among it. */
function shown(this: SessionFace): Pick<SessionFace, 'id'> {
  return { id: this.id };
}

function events({ [LIVE]: live, ready }: SessionFace): EventQueue {
  const { deps, begin, log, lastSeq } = live;
  const queue = createEventQueue(deps.store, begin.id, ready);
  live.queue = queue;
  if (log !== undefined) queue.attach(log);
  if (lastSeq !== undefined) queue.end(lastSeq);
  return queue;
}

function subscribe(this: SessionFace, listener: Early['listener']): () => void {
  checkListener('session.subscribe', listener);
  const live = this[LIVE];
  if (live.log !== undefined && live.early === undefined) return live.log.subscribe(listener);
  // A copy: docs/decisions/copies.md
  const early: Early = { listener, end: live.log?.subscribe(listener) };
  live.early = added(live.early ?? NONE, early);
  return () => {
    live.early = live.early?.filter((each) => each !== early);
    early.end?.();
  };
}

function speech(this: SessionFace, told: Parameters<LiveSession['speech']>[0]): void {
  const { log } = this[LIVE];
  if (log === undefined) told(undefined, 0);
  else log.speech(told);
}

function steer(this: SessionFace, text: string): Promise<void> {
  return send(this, 'steer', text);
}

function say(this: SessionFace, text: string): Promise<void> {
  return send(this, 'message', text);
}

async function send(face: SessionFace, kind: 'steer' | 'message', body: string): Promise<void> {
  const live = face[LIVE];
  const { deps, begin, talk } = live;
  checkText(kind === 'steer' ? 'session.steer' : 'session.say', 'text', body);
  await face.ready;
  if (kind === 'message' && live.log?.state.chat !== true) throw notAChat(begin.id);
  // A chat that has completed can be gone on with: it reads then what was said.
  if (talk.over && kind === 'steer') throw nobodyReads(begin.id);
  const sent = await deps.store.send(begin.id, { kind, from: 'user', body });
  // The end may have been decided while it was written down.
  if (talk.over && talk.heard < sent && kind === 'steer') throw nobodyReads(begin.id);
}

function breakOff(this: SessionFace): void {
  this[LIVE].talk.breakOff();
}

function finish(this: SessionFace): void {
  this[LIVE].talk.finish();
}

async function prompt(this: SessionFace, turn?: number): Promise<SessionPrompt> {
  checkTurn('session.prompt', turn);
  return this.showPrompt({ turn });
}

async function showPrompt(this: SessionFace, asked: AskedPrompt): Promise<SessionPrompt> {
  const live = this[LIVE];
  await this.ready;
  const { readPrompt } = await import('./prompts.ts');
  return readPrompt(live.deps, live.begin.id, live.begin.agent, asked, live.prepared);
}

function peek(this: SessionFace): SessionState | undefined {
  return this[LIVE].log?.state;
}

function isOver(this: SessionFace): boolean {
  return this[LIVE].talk.over;
}

function hasHeard(this: SessionFace, message: number): boolean {
  return this[LIVE].talk.heard >= message;
}

function stop(this: SessionFace, reason: StopReason): void {
  end(this[LIVE], reason);
}

async function cancel(this: SessionFace, reason = 'asked to'): Promise<void> {
  checkText('session.cancel', 'reason', reason);
  const live = this[LIVE];
  end(live, { kind: 'cancel', reason, by: 'user' });
  const { status } = await this.result;
  if (status !== 'waiting' && status !== 'interrupted') return;
  // It was let go of before: somebody else may have it, or nobody.
  const { store, clock, runs } = live.deps;
  const { cancelHere } = await import('./ending/cancel-session.ts');
  await cancelHere({ store, clock, workflows: runs }, this.id, reason, 'user').catch(unlessClosed);
}

/** With the runtime closed it stays as it is: its result says so. */
function unlessClosed(thrown: unknown): void {
  const code = thrown instanceof RuntimeError ? thrown.code : undefined;
  if (code !== 'store_closed' && code !== 'runtime_closed') throw thrown;
}

async function interrupt(this: SessionFace): Promise<void> {
  end(this[LIVE], { kind: 'interrupt' });
  await this.result.catch(() => undefined); // somebody else hears of it
}

function end({ log, rest, stop: ending }: Live, reason: StopReason): void {
  if (reason.kind === 'wait' && log?.state.status === 'running' && rest.reviews() !== undefined)
    log.append({ type: 'session.waiting', for: waitsFor(log.state, openReviews(log.state)) });
  if (reason.kind === 'interrupt' || reason.kind === 'wait') log?.seal();
  ending.now(reason);
}

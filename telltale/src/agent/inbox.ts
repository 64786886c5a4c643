import { toRuntimeError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Cause, MessageFrom } from '../log/event.ts';
import type { InboxMessage, StreamWriter } from '../store/store.ts';
import type { ChatControl } from './chat-control.ts';
import type { Reviews } from './reviews/create-reviews.ts';
import { takeAnswer } from './reviews/take-answer.ts';
import type { SessionLog } from './session-log.ts';
import type { Stop } from './stop.ts';

/** Whose inbox is read, in order, each message once: when that is asked for, and whenever one may have come. */
export interface Drain {
  readonly writer: Pick<StreamWriter, 'inbox' | 'onWake'>;
  receive(message: InboxMessage): void;
  /** It could not be read when a message may have come. */
  onError(error: unknown): void;
  handled: number;
  draining: Promise<void> | undefined;
  again: boolean;
  /** Whether nothing is received any more. */
  closed: boolean;
}

/** From here on until the writer is let go of, or the returned function is called. */
export const drainWhenWoken = (drain: Drain): (() => void) =>
  drain.writer.onWake(() => {
    if (!drain.closed) drainNow(drain).catch((error: unknown) => drain.onError(error));
  });

/** Resolves when all that waits has been received. */
export function drainNow(drain: Drain): Promise<void> {
  if (drain.draining !== undefined) {
    drain.again = true;
    return drain.draining;
  }
  drain.draining = drainOnce(drain);
  return drain.draining;
}

async function drainOnce(drain: Drain): Promise<void> {
  const { writer } = drain;
  try {
    do {
      drain.again = false;
      for (const message of await writer.inbox()) {
        if (drain.closed || message.id <= drain.handled) continue;
        drain.handled = message.id;
        drain.receive(message);
      }
    } while (drain.again && !drain.closed);
  } finally {
    drain.draining = undefined; // in the same step: whoever asks now is not told that it is being read
  }
}

/** Moves what others put into the session's inbox onto its log, in order, each once. */
export interface Inbox {
  /** Reads what waits; resolves when it is on the log. */
  drain(): Promise<void>;
  /** Calls back once, when the next message for the agent is on the log. The returned function forgets it. */
  onMessage(then: () => void): () => void;
  /** The last message for the agent that came through here. */
  lastMessage(): Cause | undefined;
  /** What is being read out of it now; undefined where nothing is. Whoever stopped the session knows why it could not be. */
  underWay(): Promise<void> | undefined;
  /** The end is decided: messages for the agent are taken no more, and stay where they are. */
  hearNoMore(): void;
  close(): void;
}

/** Whose messages are nobody's in particular. */
const USER = 'user';

/** The kind of message in which a conversation tells the session of another agent what was said. */
export const TOLD = 'told';

/** Variables and metadata that the conversation shares with the agent that speaks. */
export interface SharedValues {
  readonly vars: JsonObject;
  readonly metadata: JsonObject;
}

export interface InboxTold extends SharedValues {
  readonly from: MessageFrom;
  readonly text: string;
  /** Where it stands on the log of the conversation. */
  readonly seq: number;
  readonly depth: number;
}

export interface InboxDeps {
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly reviews: Pick<Reviews, 'decide' | 'moved'>;
  /** What a run asks or tells; false where the message is not a run's. */
  takeOrder(message: InboxMessage): boolean;
  takeValues(values: SharedValues, cause: Cause): void;
  /** How a person leads a chat, from another process. */
  readonly chat: Pick<ChatControl, 'breakOff' | 'finish' | 'over' | 'heard'>;
  readonly sentBefore: number;
}

export function createInbox(writer: StreamWriter, deps: InboxDeps): Inbox {
  const inbox = new SessionInbox(writer, deps);
  drainWhenWoken(inbox);
  return inbox;
}

class SessionInbox implements Inbox, Drain {
  readonly writer: StreamWriter;
  handled = 0;
  draining: Promise<void> | undefined;
  again = false;
  closed = false;
  private readonly deps: InboxDeps;
  private last: Cause | undefined;
  private waiting = new Set<() => void>();

  constructor(writer: StreamWriter, deps: InboxDeps) {
    this.writer = writer;
    this.deps = deps;
  }

  receive(message: InboxMessage): void {
    const { writer, deps } = this;
    const { log, stop, reviews, chat, sentBefore } = deps;
    if (deps.takeOrder(message)) return;
    if (message.kind === TOLD) {
      this.receiveTold(message);
      return;
    }
    const { id, kind, from, body } = message;
    if (chat.over && isForAgent(kind)) return;
    const consumed = { consumed: [id] };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    // A message comes from outside the log: it is a beginning of its own.
    const outside = { stream: writer.stream, seq: 0, depth: 0 };
    if (isForAgent(kind)) {
      const sender = kind === 'steer' ? 'steer' : 'user';
      this.last = log.append({ type: 'message.received', from: sender, text }, outside, consumed);
      chat.heard = id;
      // Whose words they are, where that is not what the message itself says. In the same append: both, or none.
      if (from !== USER) log.append({ type: 'audit', who: from, what: kind }, this.last);
      this.wakeListeners();
    } else if (kind !== 'review' || !takeAnswer(reviews, from, body, [id]))
      log.append(
        { type: 'audit', who: from, what: text === '' ? kind : `${kind}: ${text}` },
        outside,
        consumed,
      );
    // One that came when it was over, a second one for example, is no reason to end what was resumed since.
    if (kind === 'cancel' && id > sentBefore) stop.now({ kind: 'cancel', reason: text, by: from });
    if (kind === 'break_off') chat.breakOff();
    if (kind === 'finish') chat.finish();
  }

  /** What the conversation that this session speaks in tells it, each once: a message of the person, or a handoff. */
  private receiveTold({ id, body }: InboxMessage): void {
    const { log } = this.deps;
    const { from, text, seq, depth, vars, metadata } = body as unknown as InboxTold;
    const { parent, toldSeq = 0 } = log.state;
    const consumed = { consumed: [id] };
    if (parent === undefined || seq <= toldSeq) {
      log.append({ type: 'audit', who: 'parent', what: `told again: ${seq}` }, undefined, consumed);
      return;
    }
    const cause = { stream: parent.session, seq, depth };
    this.deps.takeValues({ vars, metadata }, cause);
    this.last = log.append({ type: 'message.received', from, text }, cause, consumed);
    this.wakeListeners();
  }

  private wakeListeners(): void {
    const listeners = this.waiting;
    this.waiting = new Set();
    for (const then of listeners) then();
    this.deps.reviews.moved();
  }

  onError(error: unknown): void {
    this.deps.stop.now({ kind: 'lost', error: toRuntimeError(error) });
  }

  drain(): Promise<void> {
    return drainNow(this);
  }

  onMessage(then: () => void): () => void {
    this.waiting.add(then);
    return () => this.waiting.delete(then);
  }

  lastMessage(): Cause | undefined {
    return this.last;
  }

  underWay(): Promise<void> | undefined {
    return this.draining?.catch(() => undefined);
  }

  hearNoMore(): void {
    this.deps.chat.over = true;
  }

  close(): void {
    this.closed = true; // its writer is let go of next
  }
}

const isForAgent = (kind: string): boolean => kind === 'steer' || kind === 'message';

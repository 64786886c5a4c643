import type { Session, SessionResult } from '../../agent/runtime-types.ts';
import { createTimeSaved } from '../../log/time-saved.ts';
import type { Chat } from '../chat/chat.ts';
import { readTyped } from '../chat/read-typing.ts';
import type { Io } from '../io.ts';
import { type ActionView, createActionLog, createWorkedTime } from '../view/action-log.ts';
import type { Times } from '../view/closing-lines.ts';
import { createRootCauseFold, type RootCause } from '../view/root-cause.ts';
import type { RunMode } from './run-mode.ts';
import type { RunView } from './run-view.ts';

/** A workflow run that a trigger started. */
export interface StartedWorkflow {
  readonly run: string;
  readonly workflow: string;
}

export interface FollowedSession {
  readonly result: SessionResult;
  /** The last turn on its log; 0 before the first. The turns in `result` are only those that completed. */
  readonly turn: number;
  readonly times: Times;
  /** The actions that were running when the session was interrupted here. */
  readonly cutOff: readonly ActionView[];
  /** Whether the reader of our output has gone. */
  readonly unread: boolean;
  /** Workflow runs that it started and whose end is not on its log. */
  readonly runs: readonly StartedWorkflow[];
  /** Who cancelled it and why. */
  readonly cancelled?: string;
  /** Whether it was a chat that waited for a message when it was released. */
  readonly idle: boolean;
  /** What somebody must fix, if anything. */
  readonly rootCause?: RootCause;
}

export interface FollowSessionOptions {
  readonly view: RunView;
  /** Events up to this one were shown before. */
  readonly seen: number;
  /** Sends a message whenever the session waits for one. */
  readonly chat?: Chat;
  /** What a person types in the meantime. */
  readonly steering?: Steering | undefined;
}

/** Shows a session until it ends. Ctrl-C interrupts it, and so does a reader who goes away. */
export async function followSession(
  session: Session,
  { stdout, signal, clock }: Pick<Io, 'stdout' | 'signal' | 'clock'>,
  { view, seen, chat, steering }: FollowSessionOptions,
): Promise<FollowedSession> {
  const actions = createActionLog();
  const worked = createWorkedTime();
  const saved = createTimeSaved();
  const causes = createRootCauseFold();
  const runs = new Map<string, StartedWorkflow>();
  let cutOff: readonly ActionView[] = [];
  let turn = 0;
  let cancelled: string | undefined;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    cutOff = actions.running().map((action) => ({ ...action }));
    stopped ??= session.interrupt();
    // It is awaited below. Until then, Node must not report it as unhandled.
    stopped.catch(() => undefined);
  };
  const watch = async () => {
    for await (const event of session.events) {
      actions.take(event);
      if (event.type === 'trigger.fired') runs.set(event.run, { run: event.run, workflow: event.workflow });
      else if (event.type.startsWith('workflow.') && 'run' in event) runs.delete(String(event.run));
      if (event.type === 'session.cancelled') cancelled = `by ${event.by}: ${event.reason}`;
      else if (event.type === 'session.resumed') cancelled = undefined;
      if ('seq' in event) {
        worked.add(event);
        saved.add(event);
        turn = event.turn;
      }
      if ('seq' in event && event.seq <= seen) view.recall(event);
      else {
        causes.take(event);
        await chat?.before(event);
        await view.show(event);
        chat?.after(event);
      }
      if (stdout.closed && stopped === undefined) stop();
    }
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    view.showWaiting?.();
    chat?.lead(session);
    steering?.begin(session);
    const [result] = await Promise.all([session.result, watch()]);
    await stopped;
    const idle = chat?.idle ?? false;
    await chat?.end();
    await steering?.end();
    const workedMs = worked.result(result.status === 'interrupted' ? clock.now() : undefined);
    const times = { workedMs, saved: saved.at(), isIdle: idle };
    const rootCause = causes.of(result);
    await view.end(result, times, rootCause);
    const unread = stdout.closed;
    const shown = { times, cutOff, unread, runs: [...runs.values()], idle };
    return {
      result,
      turn,
      ...shown,
      ...(cancelled === undefined ? {} : { cancelled }),
      ...(rootCause === undefined ? {} : { rootCause }),
    };
  } finally {
    signal.removeEventListener('abort', stop);
    await steering?.end();
  }
}

/** Lines that a person types while the agent works. Each one is a message for the agent. */
export interface Steering {
  begin(session: Session): void;
  /**
   * Gives the keyboard to `ask` until it is done. A question waits until no line is half typed, because the rest of it
   * would become the answer. A prompt for a message continues that line.
   */
  aside<T>(ask: (draft: string) => Promise<T>, kind?: 'message'): Promise<T>;
  /** No more lines are read. */
  end(): Promise<void>;
}

export interface SteeringOptions {
  readonly mode: RunMode;
  /** For a conversation: the text of /status. */
  readonly status?: () => string;
}

/** Undefined without a terminal, or if the view cannot show what is typed. */
export function steerByTyping(
  { stdin, signal }: Pick<Io, 'stdin' | 'signal'>,
  view: Pick<RunView, 'showTyped' | 'showLine'>,
  { mode, status }: SteeringOptions,
): Steering | undefined {
  const { readTyping } = stdin;
  const { showTyped: typed, showLine: tell } = view;
  if (mode !== 'live' || !stdin.isTerminal) return undefined;
  if (readTyping === undefined || typed === undefined || tell === undefined) return undefined;
  let session: Session | undefined;
  let draft = '';
  let reading: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;
  let whenEmpty: (() => void) | undefined;
  let asides = 0;
  let isOver = false;

  const setDraft = (text: string) => {
    draft = text;
    if (text === '') whenEmpty?.();
    typed(text, whenEmpty !== undefined);
  };
  const send = async (text: string): Promise<void> => {
    if (session === undefined) return;
    const said = status === undefined ? undefined : readTyped(text, status);
    if (said?.kind === 'answer') return tell(said.text);
    if (said?.kind === 'quit') return session.finish();
    try {
      await session.steer(text);
    } catch (thrown) {
      tell(`Not sent: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  };
  const read = () => {
    if (isOver || asides > 0 || session === undefined || reading !== undefined) return;
    const abort = new AbortController();
    const done = readTyping.call(stdin, AbortSignal.any([abort.signal, signal]), {
      draft: setDraft,
      line: (text) => void send(text),
    });
    reading = { abort, done };
    typed('', false);
  };
  const stop = async () => {
    const now = reading;
    if (now === undefined) return;
    reading = undefined;
    now.abort.abort();
    await now.done;
    draft = '';
    typed(undefined, false);
  };

  return {
    begin(given) {
      session = given;
      read();
    },
    async aside(ask, kind) {
      asides++;
      try {
        if (kind !== 'message' && draft !== '' && reading !== undefined && !signal.aborted) {
          const { done } = reading;
          await Promise.race([
            done,
            new Promise<void>((resolve) => {
              whenEmpty = resolve;
              typed(draft, true);
            }),
          ]);
          whenEmpty = undefined;
        }
        const left = draft;
        await stop();
        return await ask(left);
      } finally {
        asides--;
        read();
      }
    },
    async end() {
      isOver = true;
      await stop();
    },
  };
}

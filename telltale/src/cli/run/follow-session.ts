import { createTimeSaved } from '../../events/time-saved.ts';
import type { Session, SessionResult } from '../../session/runtime-types.ts';
import type { Chat } from '../chat/create-chat.ts';
import type { Io } from '../io.ts';
import { type ActionView, createActionLog } from '../view/action-log.ts';
import type { Times } from '../view/closing-lines.ts';
import { createRootCauseFold, type RootCause } from '../view/root-cause.ts';
import { createWorkedTime } from '../view/worked-time.ts';
import type { RunView } from './run-view.ts';
import type { Steering } from './steer-by-typing.ts';

/** A workflow run that a trigger started. */
export interface SetOff {
  readonly run: string;
  readonly workflow: string;
}

export interface Followed {
  readonly result: SessionResult;
  /** The turn in which its log ends; 0 before the first. Those of `result` are only those that ended well. */
  readonly turn: number;
  readonly times: Times;
  /** What was running when the session was interrupted here. */
  readonly cutOff: readonly ActionView[];
  /** Whether the reader of our output has gone away. */
  readonly unread: boolean;
  /** Workflow runs that it set off and whose end is not on its log. */
  readonly runs: readonly SetOff[];
  /** Who cancelled it and why, where somebody did. */
  readonly cancelled?: string;
  /** Whether it was a chat that waited for a message when it was let go of. */
  readonly idle: boolean;
  /** What somebody has to fix, where there is something. */
  readonly rootCause?: RootCause;
}

export interface FollowOptions {
  readonly view: RunView;
  /** Events up to this one have been seen before. */
  readonly seen: number;
  /** Says something whenever the session waits for it. */
  readonly chat?: Chat;
  /** What a person types meanwhile. */
  readonly steering?: Steering | undefined;
}

/** Shows a session to its end. Ctrl-C, and a reader who goes away, interrupt it. */
export async function followSession(
  session: Session,
  { stdout, signal, clock }: Pick<Io, 'stdout' | 'signal' | 'clock'>,
  { view, seen, chat, steering }: FollowOptions,
): Promise<Followed> {
  const actions = createActionLog();
  const worked = createWorkedTime();
  const saved = createTimeSaved();
  const causes = createRootCauseFold();
  const runs = new Map<string, SetOff>();
  let cutOff: readonly ActionView[] = [];
  let turn = 0;
  let cancelled: string | undefined;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    cutOff = actions.running().map((action) => ({ ...action }));
    stopped ??= session.interrupt();
    // Awaited below; until then nobody may take it for unhandled.
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
    view.waits?.();
    chat?.lead(session);
    steering?.begin(session);
    const [result] = await Promise.all([session.result, watch()]);
    await stopped;
    const idle = chat?.idle ?? false;
    await chat?.end();
    await steering?.end();
    const workedMs = worked.result(result.status === 'interrupted' ? clock.now() : undefined);
    const times = { workedMs, saved: saved.at() };
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

import type { Clock } from '../../kernel/clock.ts';
import type { Runtime, Session } from '../../session/runtime-types.ts';

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

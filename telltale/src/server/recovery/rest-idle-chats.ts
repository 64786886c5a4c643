import type { Clock } from '../../kernel/clock.ts';
import type { Runtime } from '../../session/runtime-types.ts';

export interface RestIdleChatsDeps {
  readonly runtime: Pick<Runtime, 'watch' | 'session'>;
  readonly clock: Pick<Clock, 'after'>;
}

/** For how long a conversation stays in its process after its last word: the next one often comes soon. */
const IDLE_MS = 60_000;

/**
 * Lets go of conversations in which nobody has said anything for a while: their places are for others of the fleet's
 * streams, and a message has them taken up by whoever has room. The returned function ends that.
 */
export function restIdleChats({ runtime, clock }: RestIdleChatsDeps): () => void {
  /** By session, what takes its letting go back. */
  const idle = new Map<string, () => void>();
  const unwatch = runtime.watch((event) => {
    if (!('session' in event) || event.session === undefined) return;
    const { session } = event;
    if (idle.size > 0) {
      idle.get(session)?.();
      idle.delete(session);
    }
    if (event.type !== 'session.waiting' || event.for !== 'message') return;
    const letGo = () => {
      idle.delete(session);
      // What is said in this very moment waits in its inbox: that has it taken up again.
      void runtime.session(session)?.interrupt();
    };
    idle.set(session, clock.after(IDLE_MS, letGo));
  });
  return () => {
    unwatch();
    for (const cancel of idle.values()) cancel();
    idle.clear();
  };
}

import { RUN_SUMMARY_TYPES } from '../../events/run-summary.ts';
import { SUMMARY_TYPES } from '../../events/session-summary.ts';
import { isRunEvent, type StreamEvent, streamOf } from '../../session/log/stream-event.ts';
import { createBroadcast } from './broadcast.ts';
import type { Connection } from './connection.ts';
import { noticeFrame, plainFrame } from './frames.ts';
import type { HeadlinesDeps } from './headlines-edges.ts';
import { createNewsOfOthers } from './news-of-others.ts';

/**
 * What changes any list, over all sessions and runs of the store. Nothing is resumed: whoever lists after `ready` misses
 * nothing, and may be told of an event that its list has already.
 */
export interface Headlines {
  /** An event that was committed in this process. */
  told(event: StreamEvent): void;
  /** Serves one client, until it is gone. */
  follow(connection: Connection): Promise<void>;
  close(): void;
}

export function createHeadlines(deps: HeadlinesDeps): Headlines {
  const { limits, pulse } = deps;
  const broadcast = createBroadcast('', pulse, limits.maxClientBytes);
  const push = (event: StreamEvent) => {
    if (broadcast.size === 0) return;
    const types: ReadonlySet<string> = isRunEvent(event) ? RUN_SUMMARY_TYPES : SUMMARY_TYPES;
    if (types.has(event.type)) broadcast.push(plainFrame(JSON.stringify(event)), undefined);
  };
  const others = createNewsOfOthers(deps, push);
  let clients = 0;

  return {
    told(event) {
      if (clients === 0) return;
      others.isKnown(streamOf(event), event.seq);
      push(event);
    },
    async follow(connection) {
      let wake: () => void = () => undefined;
      const isLeft = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const follower = { connection, live: true, position: 0, onFull: () => wake() };
      void connection.closed.then(() => wake());
      clients++;
      try {
        await others.begun();
        broadcast.add(follower);
        connection.send(noticeFrame({ kind: 'ready' }));
        await isLeft;
        await connection.drained();
        connection.end(noticeFrame({ kind: 'dropped', reason: 'Some of it was missed: list again.' }));
      } finally {
        broadcast.remove(follower);
        clients--;
        if (clients === 0) others.stop();
      }
    },
    close: others.stop,
  };
}

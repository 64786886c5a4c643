import type { LiveEvent } from '../../events/live-event.ts';
import type { Connection } from './connection.ts';
import { createMergedDeltas } from './merged-deltas.ts';
import type { Gatherer, Pulse } from './pulse.ts';

/** A client that gets events as they come. */
export interface Follower {
  readonly connection: Connection;
  /** Whether it gets deltas and progress. */
  readonly live: boolean;
  /** The seq of the last event that it was sent. */
  position: number;
  /** It does not take any more for now, and follows no longer. */
  onFull(): void;
}

/** Events for all followers of one thing: each is encoded once, and what is gathered is one write a client. */
export interface Broadcast {
  readonly size: number;
  add(follower: Follower): void;
  remove(follower: Follower): void;
  followers(): readonly Follower[];
  /** `seq` is undefined for what is not on the log. */
  push(frame: string, seq: number | undefined): void;
  pushLive(event: LiveEvent): void;
  /** Writes what was gathered now. */
  flush(): void;
}

/** `stream`: whose deltas they are. At most `maxGathered` characters wait to be written. */
export function createBroadcast(stream: string, pulse: Pulse, maxGathered: number): Broadcast {
  const followers = new Set<Follower>();
  const deltas = createMergedDeltas(stream);
  /** Those that do not want what is live. */
  let sober = 0;
  let all = '';
  let onLog = '';
  let seq = 0;

  const remove = (follower: Follower) => {
    if (followers.delete(follower) && !follower.live) sober--;
    broadcast.size = followers.size;
  };

  const flush = () => {
    all += deltas.close();
    if (all === '') return;
    const shared = followers.size - sober > 1 ? Buffer.from(all) : all;
    const sharedOnLog = sober > 1 ? Buffer.from(onLog) : onLog;
    all = '';
    onLog = '';
    for (const follower of followers) {
      const data = follower.live ? shared : sharedOnLog;
      if (data.length === 0) continue;
      const { connection } = follower;
      if (connection.isOpen) {
        follower.position = seq;
        if (connection.send(data)) continue;
        remove(follower);
        follower.onFull();
      } else remove(follower);
    }
  };
  const gatherer: Gatherer = { flushedAt: Number.NEGATIVE_INFINITY, isDue: false, flush };

  const soon = () => {
    if (all.length + deltas.length > maxGathered) flush();
    else pulse.soon(gatherer, followers.size);
  };

  const broadcast: Broadcast & { size: number } = {
    size: 0,
    add(follower) {
      flush(); // what was gathered before is not for it
      followers.add(follower);
      broadcast.size = followers.size;
      seq = follower.position;
      if (!follower.live) sober++;
    },
    remove,
    followers: () => [...followers],
    push(frame, at) {
      all += deltas.close();
      all += frame;
      if (at !== undefined) {
        seq = at;
        if (sober > 0) onLog += frame;
      }
      soon();
    },
    pushLive(event) {
      all += deltas.add(event);
      soon();
    },
    flush,
  };
  return broadcast;
}

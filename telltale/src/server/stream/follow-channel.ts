import type { Follower } from './broadcast.ts';
import type { Channel } from './channel.ts';
import type { Connection } from './connection.ts';
import { logTooShort } from './stream-errors.ts';

/** A page is handed over in pieces of that size, so that a slow client is seen to take them one by one. */
const PIECE_BYTES = 64 * 1024;

export interface FollowOptions {
  /** The seq of the last event that the client has. One beyond the log's end counts as its end. */
  readonly after: number;
  readonly live: boolean;
}

/**
 * One client of a channel: what it lacks is read from the log, then it follows. When it does not keep up it is left alone
 * until it has read what waits for it, and then reads from the log again; what was live in between is lost to it.
 */
export async function followChannel(
  channel: Channel,
  connection: Connection,
  { after, live }: FollowOptions,
): Promise<void> {
  let wake: () => void = () => undefined;
  const follower: Follower = {
    connection,
    live,
    position: Math.min(after, channel.place.head),
    onFull: () => wake(),
  };
  void connection.closed.then(() => wake());
  try {
    while (connection.isOpen) {
      const isLeft = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await readUp(channel, follower);
      if (!connection.isOpen || !channel.join(follower)) continue;
      await isLeft;
      await connection.drained();
    }
  } finally {
    channel.leave(follower);
  }
}

/** Sends what is on the log up to the channel's head, which moves on meanwhile. */
async function readUp(channel: Channel, follower: Follower): Promise<void> {
  const { connection } = follower;
  const page = channel.pages();
  while (connection.isOpen && follower.position < channel.place.head) {
    const lines = await page(follower.position + 1);
    // What is behind the head comes to all followers alike.
    const mine = lines.slice(0, channel.place.head - follower.position);
    if (mine.length === 0) throw logTooShort(channel.place.stream, follower.position + 1, follower.position);
    let frames = '';
    for (const line of mine) frames += channel.frameOf(++follower.position, line);
    await feed(connection, frames);
  }
}

async function feed(connection: Connection, frames: string): Promise<void> {
  const bytes = Buffer.from(frames);
  for (let at = 0; at < bytes.length && connection.isOpen; at += PIECE_BYTES)
    if (!connection.feed(bytes.subarray(at, at + PIECE_BYTES))) await connection.drained();
}

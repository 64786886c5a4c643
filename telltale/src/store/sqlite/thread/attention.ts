import type { DatabaseSync } from 'node:sqlite';
import type { FromBackend } from '../../grouped/messages.ts';
import type { Ownership } from './ownership.ts';

/** How late a follower of another process's stream hears of new events. */
const WATCH_POLL_MS = 200;
/** How late a message is found whose sender could not ring. */
const INBOX_POLL_MS = 1000;
const BEAT_MS = 10_000;
/** The mark of a stream without events and messages. */
const NOTHING = '0 0';

/** Notices what other connections have written. Costs a pragma a poll while they write nothing. */
export interface Attention {
  watch(stream: string, on: boolean): void;
  /** From the first owned stream on: polls inboxes and keeps the owner's heart beating. */
  startOwning(): void;
  look(): void;
  stop(): void;
}

export interface AttentionDeps {
  readonly db: DatabaseSync;
  readonly ownership: Ownership;
  readonly tell: (message: FromBackend) => void;
}

export function createAttention({ db, ownership, tell }: AttentionDeps): Attention {
  const version = db.prepare('PRAGMA data_version');
  const markOf = db.prepare(
    `SELECT h.head || ' ' || coalesce((SELECT max(id) FROM inbox i WHERE i.stream = s.id), 0) AS mark
      FROM streams s JOIN heads h ON h.id = s.id WHERE s.stream = ?`,
  );
  const lastMessage = db.prepare('SELECT coalesce(max(id), 0) AS id FROM inbox');
  const messagesAfter = db.prepare(
    `SELECT DISTINCT s.stream FROM inbox i JOIN heads h ON h.id = i.stream JOIN streams s ON s.id = i.stream
      WHERE i.id > ? AND i.id <= ? AND h.owner = ?`,
  );
  const watched = new Map<string, string>();
  let seenVersion = -1;
  let seenMessage = 0;
  let isOwning = false;
  let watchTimer: ReturnType<typeof setInterval> | undefined;
  const ownTimers: ReturnType<typeof setInterval>[] = [];

  /** How far a stream is: its last event, and the last message that waits. */
  const mark = (stream: string) => String(markOf.get(stream)?.mark ?? NOTHING);
  const newestMessage = () => Number(lastMessage.get()?.id ?? 0);

  /**
   * A poll that meets a locked or full file is one poll less: the next comes soon, and whoever needs the file hears of
   * the trouble from his own request.
   */
  const patiently = (work: () => void) => () => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Error && 'errcode' in error)) throw error;
    }
  };

  // Before anything is owned: a message may come right behind the commit that makes the first stream.
  patiently(() => {
    seenMessage = newestMessage();
  })();

  const look = patiently(() => {
    const now = Number(version.get()?.data_version);
    if (now === seenVersion) return;
    seenVersion = now;
    const moved: string[] = [];
    for (const [stream, seen] of watched) {
      const found = mark(stream);
      if (found !== seen) moved.push(stream);
      watched.set(stream, found);
    }
    if (moved.length > 0) tell({ kind: 'moved', streams: moved });
    if (!isOwning) return;
    const newest = newestMessage();
    if (newest > seenMessage) {
      const rows = messagesAfter.all(seenMessage, newest, ownership.id);
      seenMessage = newest;
      if (rows.length > 0) tell({ kind: 'woken', streams: rows.map((row) => String(row.stream)) });
    }
  });

  /**
   * Events may have come since the caller asked: he is told once too often rather than once too seldom. The others are
   * not looked at: with ten thousand that would be what the thread does all day.
   */
  const begin = (stream: string) => {
    watched.set(stream, NOTHING);
    patiently(() => {
      const found = mark(stream);
      watched.set(stream, found);
      if (found !== NOTHING) tell({ kind: 'moved', streams: [stream] });
    })();
  };

  return {
    watch(stream, on) {
      if (on) begin(stream);
      else watched.delete(stream);
      if (watched.size > 0) watchTimer ??= setInterval(look, WATCH_POLL_MS);
      else {
        clearInterval(watchTimer);
        watchTimer = undefined;
      }
    },
    startOwning() {
      if (isOwning) return;
      isOwning = true;
      ownTimers.push(setInterval(look, INBOX_POLL_MS), setInterval(patiently(ownership.beat), BEAT_MS));
    },
    look,
    stop() {
      clearInterval(watchTimer);
      for (const timer of ownTimers) clearInterval(timer);
    },
  };
}

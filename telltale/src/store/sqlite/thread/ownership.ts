import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Server } from 'node:net';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { FromBackend, NotedOwner } from '../../grouped/messages.ts';
import type { ThreadSettings } from '../open-sqlite-store.ts';
import { createProcessView, type ProcessIdentity, processStartedAt } from '../process-view.ts';

/** How late a follower of another process's stream hears of new events. */
const WATCH_POLL_MS = 200;
/** How late a message is found whose sender could not ring. */
const INBOX_POLL_MS = 1000;
const BEAT_MS = 10_000;
/** The mark of a stream without events and messages. */
const NOTHING = '0 0';

/** Notices what other connections have written. Costs a pragma a poll while they write nothing. */
export interface OwnershipAttention {
  watch(stream: string, on: boolean): void;
  /** From the first owned stream on: polls inboxes and keeps the owner's heart beating. */
  startOwning(): void;
  look(): void;
  stop(): void;
}

export interface OwnershipAttentionDeps {
  readonly db: DatabaseSync;
  readonly ownership: ThreadOwnership;
  readonly tell: (message: FromBackend) => void;
}

export function createAttention({ db, ownership, tell }: OwnershipAttentionDeps): OwnershipAttention {
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

/** This store as an owner of streams: one row for all of them, made with the first. */
export interface ThreadOwnership {
  /** The row's id; makes it if need be, or again if others took this owner for dead. Only inside a transaction. */
  claim(): number;
  /** The row's id if it is there. */
  readonly id: number | null;
  committed(): void;
  rolledBack(): void;
  /** Says that this owner is still alive. */
  beat(): void;
  /** Gives up every stream of an owner, and the owner. Only inside a transaction. */
  dissolve(owner: number): void;
  /** Gives up all of its own, in a transaction of its own. */
  resign(): void;
  all(): readonly NotedOwner[];
  /** What is noted of an owner. */
  noted(owner: number, epoch: number): NotedOwner | null;
  doorbellOf(owner: number): string | undefined;
}

type OwnershipSettings = Pick<ThreadSettings, 'pid' | 'startedAt' | 'place'>;

export function createOwnership(
  db: DatabaseSync,
  settings: OwnershipSettings,
  bell: Doorbell,
): ThreadOwnership {
  const insert = db.prepare(
    'INSERT INTO owners (pid, started_at, place, doorbell, beat_at) VALUES (?, ?, ?, ?, ?)',
  );
  const select = db.prepare('SELECT pid, started_at, place, doorbell, beat_at FROM owners WHERE id = ?');
  const everybody = db.prepare('SELECT id FROM owners');
  const touch = db.prepare('UPDATE owners SET beat_at = ? WHERE id = ?');
  const giveUp = db.prepare('UPDATE heads SET owner = NULL WHERE owner = ?');
  const remove = db.prepare('DELETE FROM owners WHERE id = ?');
  let id: number | null = null;
  let isCommitted = false;
  /** Whether the row was seen in this transaction: nobody else can take it away before its end. */
  let isSeen = false;
  let silenced: string[] = [];

  const dissolve = (owner: number) => {
    const path = select.get(owner)?.doorbell;
    giveUp.run(owner);
    remove.run(owner);
    if (owner === id) isSeen = false;
    if (owner !== id && path !== undefined) silenced.push(String(path));
  };

  const noted = (owner: number, epoch: number): NotedOwner | null => {
    const row = select.get(owner);
    if (row === undefined) return null;
    return {
      id: owner,
      pid: Number(row.pid),
      startedAt: Number(row.started_at),
      place: String(row.place),
      beatAgeMs: Date.now() - Number(row.beat_at),
      epoch,
    };
  };

  return {
    claim() {
      if (id === null || (!isSeen && select.get(id) === undefined)) {
        const { pid, startedAt, place } = settings;
        isCommitted = false;
        id = Number(insert.run(pid, startedAt, place, bell.path, Date.now()).lastInsertRowid);
      }
      isSeen = true;
      return id;
    },
    get id() {
      return isCommitted ? id : null;
    },
    committed() {
      isSeen = false;
      isCommitted = id !== null;
      for (const path of silenced) bell.remove(path);
      silenced = [];
    },
    rolledBack() {
      isSeen = false;
      silenced = [];
      if (!isCommitted) id = null;
    },
    beat() {
      if (isCommitted) touch.run(Date.now(), id);
    },
    dissolve,
    resign() {
      if (id === null || !isCommitted) return;
      db.exec('BEGIN IMMEDIATE');
      dissolve(id);
      db.exec('COMMIT');
    },
    all: () => everybody.all().flatMap(({ id: owner }) => noted(Number(owner), 0) ?? []),
    noted,
    doorbellOf(owner) {
      const row = select.get(owner);
      return row === undefined ? undefined : String(row.doorbell);
    },
  };
}

/** Unix allows about a hundred bytes in a socket's path. */
const MAX_PATH = 100;
const MAX_CALLERS = 64;
const RING_TIMEOUT_MS = 1000;
/** The pid of its process, when that began, and where: so that whoever finds the socket knows whether it is in use. */
const NAME = /telltale-(\d+)-(\d+)-([0-9a-f]{8})-[0-9a-f]{8}(?:\.sock)?$/;
/** As versions before called them. */
const OLD_NAME = /telltale-[0-9a-f]{16}(?:\.sock)?$/;

const isDoorbell = (path: string): boolean => NAME.test(path) || OLD_NAME.test(path);

/**
 * A local socket on which other processes say that an inbox may have a message. A connection is all they say: nothing
 * is read from it, so nobody can send anything wrong. It makes waking quick and nothing depends on it: whoever cannot
 * open or reach one is served by the poll (`attention.ts`).
 */
export interface Doorbell {
  /** Where others ring; written into the store. */
  readonly path: string;
  listen(rung: () => void): void;
  ring(path: string): void;
  /** Clears away the socket of a process that was killed. */
  remove(path: string): void;
  /** Clears away the sockets of all processes that are dead, whichever store they worked on. Never a live one's. */
  sweep(): void;
  close(): void;
}

export function createDoorbell(self: ProcessIdentity = createProcessView({}).self): Doorbell {
  const isWindows = platform() === 'win32';
  const place = createHash('sha256').update(self.place).digest('hex').slice(0, 8);
  const name = `telltale-${self.pid}-${self.startedAt}-${place}-${randomBytes(4).toString('hex')}`;
  const path = isWindows ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
  let server: Server | undefined;

  const remove = (other: string) => {
    if (isWindows || !other.startsWith(tmpdir()) || !isDoorbell(other)) return;
    try {
      rmSync(other, { force: true });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error; // another user's: his to clear away
    }
  };

  /** Nobody listens on a socket whose process is dead, wherever it ran: the kernel refuses who connects. */
  const removeIfRefused = (other: string) => {
    const call = createConnection(other);
    call.unref();
    call.setTimeout(RING_TIMEOUT_MS, () => call.destroy());
    call.on('connect', () => call.end());
    call.on('error', (error: NodeJS.ErrnoException) => {
      call.destroy();
      if (error.code === 'ECONNREFUSED') remove(other);
    });
  };

  return {
    path,
    listen(rung) {
      if (server !== undefined || path.length > MAX_PATH) return;
      server = createServer((caller) => {
        caller.on('error', () => caller.destroy()); // whoever rang has hung up: he has been heard
        caller.destroy();
        rung();
      });
      server.maxConnections = MAX_CALLERS;
      server.on('error', () => server?.close());
      server.listen(path);
    },
    ring(other) {
      if (other === path || !isDoorbell(other)) return;
      const call = createConnection(other);
      call.setTimeout(RING_TIMEOUT_MS, () => call.destroy());
      call.on('connect', () => call.end());
      call.on('error', () => call.destroy()); // nobody listens there; his poll finds the message
    },
    remove,
    sweep() {
      if (isWindows) return;
      for (const file of filesIn(tmpdir())) {
        const found = join(tmpdir(), file);
        if (!isDoorbell(found) || !isSocket(found)) continue;
        const [, pid, startedAt, at] = NAME.exec(file) ?? [];
        // Where pids mean the same as here, the pid and the start of the process tell; else only the socket does.
        if (at !== place || processStartedAt(self.pid) === undefined) removeIfRefused(found);
        else if (processStartedAt(Number(pid)) !== Number(startedAt)) remove(found);
      }
    },
    close() {
      server?.close();
      if (server !== undefined) remove(path);
    },
  };
}

/** Empty where the folder cannot be read: then there is nothing to clear away. */
function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Another process may have cleared it away meanwhile. */
const isSocket = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;

import type { DatabaseSync } from 'node:sqlite';
import type { NotedOwner } from '../../grouped/messages.ts';
import type { ThreadSettings } from '../thread-settings.ts';
import type { Doorbell } from './doorbell.ts';

/** This store as an owner of streams: one row for all of them, made with the first. */
export interface Ownership {
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

type Settings = Pick<ThreadSettings, 'pid' | 'startedAt' | 'place'>;

export function createOwnership(db: DatabaseSync, settings: Settings, bell: Doorbell): Ownership {
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

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Io } from '../io.ts';
import { shellWord, usage } from '../usage.ts';

const DEFAULT = 'sqlite:.telltale/telltale.db';
const MEMORY = 'memory';
const SQLITE = 'sqlite:';
/** A scheme has two letters at least: `C:\x` is a path. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;

/** Where sessions are kept: `--store`, else TELLTALE_STORE, else a file below the current folder. A bare path is SQLite's. */
export function storeLocation(option: string | undefined, { env }: Pick<Io, 'env'>): string {
  if (option === '') throw usage('--store names no store.', 'Write --store ./telltale.db, or leave it out.');
  const asked = option ?? (env.TELLTALE_STORE || DEFAULT);
  return asked === MEMORY || SCHEME.test(asked) ? asked : `${SQLITE}${asked}`;
}

export const isInMemory = (location: string): boolean => location === MEMORY;

/** Whether there can be something in it: a look must not make a file. One that may not be looked at is opened, to say why. */
export function storeExists(location: string, { cwd }: Pick<Io, 'cwd'>): boolean {
  if (isInMemory(location)) return false;
  if (!location.startsWith(SQLITE)) return true;
  try {
    return statSync(resolve(cwd, location.slice(SQLITE.length)), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** Whether no other machine can share it. */
export const isOfOneMachine = (location: string): boolean =>
  isInMemory(location) || location.startsWith(SQLITE);

/** Whether it is one that several machines share. */
export const isDatabase = (location: string): boolean => /^postgres(?:ql)?:/i.test(location);

/** As people may see it: without the password of a database. */
export const shownLocation = (location: string): string =>
  location.replace(/^([a-z]+:\/\/[^:/?#]*):[^@]*@/i, '$1@');

/** What a command that names this store has to be called with; nothing for the one that is taken anyway. */
export function storeFlag(option: string | undefined): string {
  return option === undefined ? '' : ` --store ${shellWord(shownLocation(option))}`;
}

import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { isDatabase, shownLocation, storeLocation } from '../session/store-location.ts';
import type { Check, CheckContext, Finding } from './check.ts';

/** Writes to a store of its own, at the level that runs use; then looks whether the one in reach could be written. */
export const checkStore: Check = async (context) => [await tryStore(context), await storeInReach(context)];

async function tryStore({ io, runtimes, machine }: CheckContext): Promise<Finding> {
  const name = 'Store';
  const { cwd, clock } = io;
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(machine.temporaryFolder, 'telltale-doctor-'));
    const store = await runtimes.openStore(`sqlite:${join(folder, 'try.db')}`, {
      cwd,
      clock,
      durability: 'power',
    });
    const began = clock.monotonic();
    await store.tables.set('doctor', 'written', true);
    const ms = clock.monotonic() - began;
    const isThere = (await store.tables.get('doctor', 'written')) === true;
    await store.close();
    if (!isThere) return { name, status: 'fail', detail: 'SQLite does not keep what Telltale writes.' };
    return {
      name,
      status: 'ok',
      detail: `SQLite writes, and waits for the disk (fsync): ${ms.toFixed(1)} ms`,
    };
  } catch (thrown) {
    const { message, hint } =
      thrown instanceof RuntimeError ? thrown : { message: String(thrown), hint: undefined };
    const fix = hint ?? `Free some space in ${machine.temporaryFolder}, or set TMPDIR to another folder.`;
    return { name, status: 'fail', detail: message, fix };
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function storeInReach(context: CheckContext): Promise<Finding> {
  const { io } = context;
  const name = 'Sessions';
  const location = storeLocation(undefined, io);
  if (isDatabase(location)) return databaseInReach(context, location);
  if (!location.startsWith('sqlite:')) return { name, status: 'ok', detail: `kept in ${location}` };
  const file = resolve(io.cwd, location.slice('sqlite:'.length));
  const near = nearestFolder(dirname(file));
  if (!mayWrite(existsSync(file) ? file : near) || !statSync(near).isDirectory())
    return {
      name,
      status: 'fail',
      detail: `${file} cannot be written`,
      fix: 'Go to a folder that you may write to, or set TELLTALE_STORE to a file elsewhere.',
    };
  return { name, status: 'ok', detail: existsSync(file) ? `kept in ${file}` : `will be kept in ${file}` };
}

/** Opens it as a worker would, but for a new one: its tables are made by what is run on it, not by a look. */
async function databaseInReach({ io, runtimes }: CheckContext, location: string): Promise<Finding> {
  const name = 'Sessions';
  const { cwd, clock } = io;
  try {
    const store = await runtimes.openStore(location, { cwd, clock, durability: 'power', mustExist: true });
    try {
      const began = clock.monotonic();
      await store.list({ limit: 1 });
      const ms = clock.monotonic() - began;
      return { name, status: 'ok', detail: `kept in ${store.location}: answers in ${ms.toFixed(1)} ms` };
    } finally {
      await store.close();
    }
  } catch (thrown) {
    const { code, message, hint } = toRuntimeError(thrown);
    if (code === 'store_empty') return { name, status: 'ok', detail: willBeKept(location) };
    return { name, status: 'fail', detail: message, ...(hint === undefined ? {} : { fix: hint }) };
  }
}

const willBeKept = (location: string) =>
  `will be kept in ${shownLocation(location)}, which answers; the first run creates the tables`;

/** The folder itself, or the nearest one above that is there. */
function nearestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

export function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

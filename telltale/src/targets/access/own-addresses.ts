import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { Env } from '../process/child-environment.ts';
import { isThisMachine } from './addresses.ts';
import { DAEMONS, stateFolders } from './store-files.ts';

/** The addresses of Telltale's own servers. An action that reached one could answer its own reviews. */
export interface OwnAddresses {
  /** Rejects an IP address and a port that lead to one of them with `not_permitted`; other hosts pass. */
  check(address: string, port: string): void;
}

interface Listener {
  readonly host: string;
  readonly port: number;
}

/** The servers of this process. */
const listeners = new Set<Listener>();

/** To be called by each server of ours once it listens. What it returns is to be called when the server closes. */
export function registerListener(host: string, port: number): () => void {
  const listener = { host, port };
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * The servers of this process, and those that other processes of the user have written down in a state folder
 * (`daemons/*.json`): they may have been started with another environment. Both are read at each check, since servers come and go.
 */
export function createOwnAddresses(env: Env): OwnAddresses {
  const folders = stateFolders(env).map((folder) => join(folder, DAEMONS));
  return {
    check(address, port) {
      const at = [...listeners, ...folders.flatMap(writtenDown)].find((each) => String(each.port) === port);
      if (at !== undefined && (isThisMachine(address) || address === at.host))
        throw ownAddress(address, port);
    },
  };
}

function writtenDown(folder: string): readonly Listener[] {
  return namesIn(folder).flatMap((name) => {
    const { host, port, pid } = readDaemon(join(folder, name));
    if (typeof port !== 'number' || isGone(pid)) return [];
    return [{ host: typeof host === 'string' ? host : '', port }];
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return []; // no daemon has been started yet
  }
}

function readDaemon(path: string): {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly pid?: unknown;
} {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) ?? {}) as object;
  } catch {
    return {}; // it ended meanwhile, or is being written
  }
}

/** A daemon that was killed leaves its file, and the port may be another server's by now. */
const isGone = (pid: unknown): boolean =>
  platform() === 'linux' &&
  typeof pid === 'number' &&
  existsSync('/proc/self') &&
  !existsSync(`/proc/${pid}`);

const ownAddress = (address: string, port: string) =>
  new RuntimeError(
    'not_permitted',
    `"${clip(address, 100)}" (port ${port}) is the address of a Telltale server on this machine. Actions must not reach it.`,
    {
      hint: 'An agent that reaches it could approve its own actions. No entry in "permissions: { network }" allows it.',
    },
  );

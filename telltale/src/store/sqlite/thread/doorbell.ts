import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Server } from 'node:net';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProcessView, type ProcessIdentity, processStartedAt } from '../process-view.ts';

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

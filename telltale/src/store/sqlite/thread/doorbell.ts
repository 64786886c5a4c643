import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createConnection, createServer, type Server } from 'node:net';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Unix allows about a hundred bytes in a socket's path. */
const MAX_PATH = 100;
const MAX_CALLERS = 64;
const RING_TIMEOUT_MS = 1000;
const NAME = /telltale-[0-9a-f]{16}(\.sock)?$/;

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
  close(): void;
}

export function createDoorbell(): Doorbell {
  const isWindows = platform() === 'win32';
  const name = `telltale-${randomBytes(8).toString('hex')}`;
  const path = isWindows ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
  let server: Server | undefined;

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
      if (other === path || !NAME.test(other)) return;
      const call = createConnection(other);
      call.setTimeout(RING_TIMEOUT_MS, () => call.destroy());
      call.on('connect', () => call.end());
      call.on('error', () => call.destroy()); // nobody listens there; his poll finds the message
    },
    remove(other) {
      if (isWindows || !other.startsWith(tmpdir()) || !NAME.test(other)) return;
      try {
        rmSync(other, { force: true });
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) throw error; // another user's: his to clear away
      }
    },
    close() {
      server?.close();
    },
  };
}

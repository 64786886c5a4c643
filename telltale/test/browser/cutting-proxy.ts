import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A line between browser and server that can be cut. */
export interface CuttingProxy {
  readonly port: number;
  /** Ends every connection as a pulled plug does: in the middle of whatever it carries. */
  cut(): void;
  /** From now on each new connection is cut when it has carried so many bytes to the browser: wherever that is. */
  cutAfter(bytes: number): void;
  /** How many were cut for that. */
  cuts(): number;
  /** Cuts, and takes no connection until `up`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

export async function openCuttingProxy(to: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let isDown = false;
  let limit = Number.POSITIVE_INFINITY;
  let cuts = 0;
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    // Cutting is what it is for: the ends learn of it by their own errors.
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((near) => {
    if (isDown) return void near.resetAndDestroy();
    const far = connect(to, '127.0.0.1');
    keep(near, far);
    keep(far, near);
    near.pipe(far);
    let left = limit;
    far.on('data', (bytes) => {
      near.write(bytes.subarray(0, Math.min(left, bytes.length)));
      left -= bytes.length;
      if (left > 0) return;
      cuts++;
      // What it has carried is read before the end is seen.
      near.end();
      far.destroy();
    });
    far.on('end', () => near.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    cutAfter(bytes) {
      limit = bytes;
    },
    cuts: () => cuts,
    down() {
      isDown = true;
      cut();
    },
    up() {
      isDown = false;
    },
    async close() {
      cut();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

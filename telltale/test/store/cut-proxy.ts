import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

/** A way to a server that can be cut. */
export interface CutProxy {
  /** The address of the server, by way of the proxy. */
  readonly url: string;
  /** Ends all connections, and lets in nobody until `mend`. */
  cut(): void;
  /** The next connection that answers something after this has its answer swallowed, and is cut. */
  swallow(when: (request: string) => boolean): Promise<void>;
  /** The next connection that asks for this is silent from then on, without an end. */
  hush(when: (request: string) => boolean): Promise<void>;
  mend(): void;
  close(): Promise<void>;
}

export async function openCutProxy(to: string): Promise<CutProxy> {
  const target = new URL(to);
  const sockets = new Set<Socket>();
  let isCut = false;
  let hushing: { readonly when: (request: string) => boolean; readonly done: () => void } | undefined;
  let swallowing: { readonly when: (request: string) => boolean; readonly done: () => void } | undefined;

  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = createConnection(Number(target.port), target.hostname);
    let swallows: (() => void) | undefined;
    let isHushed = false;
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end).on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    near.on('data', (chunk) => {
      if (hushing?.when(chunk.toString('latin1')) === true) {
        isHushed = true;
        hushing.done();
        hushing = undefined;
      }
      if (isHushed) return;
      if (swallowing?.when(chunk.toString('latin1')) === true) {
        swallows = swallowing.done;
        swallowing = undefined;
      }
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (isHushed) return;
      if (swallows === undefined) near.write(chunk);
      else {
        swallows();
        end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = new URL(to);
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    swallow: (when) =>
      new Promise((done) => {
        swallowing = { when, done };
      }),
    hush: (when) =>
      new Promise((done) => {
        hushing = { when, done };
      }),
    mend() {
      isCut = false;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

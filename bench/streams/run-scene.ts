import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ClientFigures, Scene, ServerFigures } from './scene.ts';

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url));

export interface Figures extends ServerFigures, ClientFigures {
  /** Events that reached a client, in a second. */
  readonly perSecond: number;
  /** Of one core. */
  readonly cpu: number;
}

export interface Pace {
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** A way of streaming, on sessions that only talk. */
export const runScene = (contestant: string, scene: Scene, pace: Pace): Promise<Figures> =>
  run(fork(at('./server.ts'), [at(contestant), JSON.stringify(scene)]), '/ID', scene, pace);

/** The whole daemon, on sessions of a real runtime. */
export const runDaemon = (scene: Scene, pace: Pace): Promise<Figures> =>
  run(fork(at('./daemon.ts'), [JSON.stringify(scene)]), '/sessions/ID/events', scene, pace);

/** Clients and server in a process each: what is counted of CPU time is the server's alone. */
async function run(server: ChildProcess, path: string, scene: Scene, pace: Pace): Promise<Figures> {
  let clients: ChildProcess | undefined;
  try {
    const { port, token = '' } = (await answer(server)) as { readonly port: number; readonly token?: string };
    clients = fork(at('./clients.ts'), [String(port), JSON.stringify(scene), path, token]);
    await answer(clients);
    server.send('talk');
    await pass(pace.warmUpMs);
    server.send('measure');
    clients.send('measure');
    await pass(pace.measureMs);
    const figures = Promise.all([answer(server), answer(clients)]);
    server.send('stop');
    clients.send('stop');
    const [served, got] = (await figures) as [ServerFigures, ClientFigures];
    const seconds = served.wallMs / 1000;
    return { ...served, ...got, perSecond: got.received / seconds, cpu: served.cpuMs / served.wallMs };
  } finally {
    server.kill();
    clients?.kill();
  }
}

async function answer(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`A process of the bench ended with ${code}.`);
  });
  ended.catch(() => undefined); // it ends when the figures are in
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  return message;
}

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ClientFigures, Scene, ServerFigures } from './scene.ts';

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url));

export interface Figures extends ServerFigures, ClientFigures {
  /** Events per second that reached a client. */
  readonly perSecond: number;
}

export interface Pace {
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Server and clients run in a process each, so that the CPU time is the server's alone. */
export async function runScene(contestant: string, scene: Scene, pace: Pace): Promise<Figures> {
  const server = fork(at('./server.ts'), [at(contestant), JSON.stringify(scene)]);
  let clients: ChildProcess | undefined;
  try {
    const { port } = (await answer(server)) as { readonly port: number };
    clients = fork(at('./clients.ts'), [String(port), JSON.stringify(scene)]);
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
    return { ...served, ...got, perSecond: (got.received * 1000) / served.wallMs };
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

// The server's side of one measurement, in a process of its own: `server.ts CONTESTANT SCENE`. Talks to its parent by IPC.
import type { Server } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createEmitter, type Emitter } from './emitter.ts';
import type { Scene, ServerFigures } from './scene.ts';

const [contestant = '', scene = '{}'] = process.argv.slice(2);
const { serve } = (await import(contestant)) as { serve(emitter: Emitter): Server };
const emitter = createEmitter(JSON.parse(scene) as Scene);
const server = serve(emitter);
flushCompileCache(); // the process is killed in the end: see `run-scene.ts`

let cpu = process.cpuUsage();
let began = 0;
process.on('message', (message) => {
  if (message === 'talk') emitter.start();
  if (message === 'measure') {
    cpu = process.cpuUsage();
    began = performance.now();
  }
  if (message !== 'stop') return;
  const { user, system } = process.cpuUsage(cpu);
  const figures: ServerFigures = { cpuMs: (user + system) / 1000, wallMs: performance.now() - began };
  process.send?.(figures);
  emitter.stop();
});
server.listen(0, '127.0.0.1', 4096, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});

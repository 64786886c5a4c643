// The clients' side of one measurement, in a process of its own: `clients.ts PORT SCENE`. Talks to its parent by IPC.
import { connect } from 'node:net';
import { createDelays } from './delays.ts';
import { type ClientFigures, followed, type Scene, sharedMs } from './scene.ts';

const [port = '0', given = '{}'] = process.argv.slice(2);
const scene = JSON.parse(given) as Scene;
const TIME = /@([\d.]+) /g;

const live = createDelays();
let logged = 0;
let isMeasuring = false;

/** Each piece of a delta holds the time it was said. */
function read(frame: string, now: number): void {
  if (!frame.includes('.delta"')) {
    if (frame.includes('"at":')) logged += 1;
    return;
  }
  for (const [, time] of frame.matchAll(TIME)) live.add(now - Number(time));
}

let open = 0;
for (let client = 0; client < scene.clients; client++) {
  const socket = connect(Number(port), '127.0.0.1');
  let rest = '';
  let isAnswered = false;
  socket.write(
    `GET /${followed(client, scene)} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\nlast-event-id: 0\r\n\r\n`,
  );
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    if (!isAnswered) {
      isAnswered = true;
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(text.slice(0, 500));
      open++;
      if (open === scene.clients) process.send?.('open');
    }
    if (!isMeasuring) return;
    const now = sharedMs();
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) read(frame, now);
  });
  socket.on('error', () => undefined);
}

process.on('message', (message) => {
  if (message === 'measure') isMeasuring = true;
  if (message !== 'stop') return;
  isMeasuring = false;
  const figures: ClientFigures = {
    received: live.count + logged,
    p50: live.quantile(0.5),
    p99: live.quantile(0.99),
  };
  process.send?.(figures);
});

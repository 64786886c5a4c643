// The clients' side of one measurement, in a process of its own: `clients.ts PORT SCENE PATH TOKEN`. Talks to its parent by IPC.
import { connect } from 'node:net';
import { createDelays } from './delays.ts';
import { type ClientFigures, followed, type Scene, sharedMs } from './scene.ts';

const [port = '0', given = '{}', path = '/ID', token = ''] = process.argv.slice(2);
const scene = JSON.parse(given) as Scene;
const TIME = /@([\d.]+) /g;
const AT = /"at":(\d+)/;

const live = createDelays();
const onLog = createDelays();
let isMeasuring = false;

/** A delta tells when each of its pieces was said; what is on the log, when it was written. */
function read(frame: string, now: number): void {
  if (frame.includes('.delta"')) for (const [, time] of frame.matchAll(TIME)) live.add(now - Number(time));
  else {
    const at = AT.exec(frame)?.[1];
    if (at !== undefined) onLog.add(Date.now() - Number(at));
  }
}

let open = 0;
for (let client = 0; client < scene.clients; client++) {
  const socket = connect(Number(port), '127.0.0.1');
  let rest = '';
  let isAnswered = false;
  const target = path.replace('ID', followed(client, scene));
  socket.write(
    `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\naccept: text/event-stream\r\nlast-event-id: 0\r\n\r\n`,
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
    received: live.count + onLog.count,
    p50: live.quantile(0.5),
    p99: live.quantile(0.99),
    logged: { received: onLog.count, p50: onLog.quantile(0.5), p99: onLog.quantile(0.99) },
  };
  process.send?.(figures);
});

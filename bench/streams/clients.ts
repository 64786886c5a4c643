// The clients' side of one measurement, in a process of its own: `clients.ts PORT SCENE`. Talks to its parent by IPC.
import { connect } from 'node:net';
import { type ClientFigures, followed, type Scene, sharedMs } from './scene.ts';

const [port = '0', given = '{}'] = process.argv.slice(2);
const scene = JSON.parse(given) as Scene;
/** Before the time that each event holds, be it alone or one of several that came as one. */
const MARK = 0x40;
const DIGIT_0 = 0x30;
const DOT = 0x2e;

/** Delays by tenths of a millisecond, up to ten seconds. */
const delays = new Uint32Array(100_000);
let received = 0;
let isMeasuring = false;

/** Every event holds the time at which it was said. Those that two reads share between them are left out of the delays. */
function read(data: Buffer): void {
  if (!isMeasuring) return;
  const now = sharedMs();
  for (let at = data.indexOf(MARK); at !== -1; at = data.indexOf(MARK, at)) {
    at++;
    received++;
    let time = 0;
    for (let byte = data[at]; byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_0 + 9; byte = data[++at])
      time = time * 10 + byte - DIGIT_0;
    if (data[at] === DOT && at + 4 < data.length) time += (data[at + 1]! - DIGIT_0) / 10;
    else if (at >= data.length) continue;
    delays[Math.min(delays.length - 1, Math.max(0, Math.round((now - time) * 10)))]!++;
  }
}

function quantile(part: number): number {
  const total = delays.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (let at = 0; at < delays.length; at++) {
    seen += delays[at]!;
    if (seen >= total * part) return at / 10;
  }
  return Number.NaN;
}

let open = 0;
for (let client = 0; client < scene.clients; client++) {
  const socket = connect(Number(port), '127.0.0.1');
  let isAnswered = false;
  socket.write(
    `GET /${followed(client, scene)} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n`,
  );
  socket.on('data', (data) => {
    if (!isAnswered) {
      isAnswered = true;
      open++;
      if (open === scene.clients) process.send?.('open');
    }
    read(data);
  });
  socket.on('error', () => undefined);
}

process.on('message', (message) => {
  if (message === 'measure') isMeasuring = true;
  if (message !== 'stop') return;
  isMeasuring = false;
  const figures: ClientFigures = { received, p50: quantile(0.5), p99: quantile(0.99) };
  process.send?.(figures);
});

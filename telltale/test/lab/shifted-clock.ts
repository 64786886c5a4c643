// Loaded into a process before its program (`node --import`): from then on the wall clock of all its threads is off by as
// many milliseconds as the file LAB_CLOCK holds, and is set anew whenever that changes. Time that passes (timers,
// `performance.now()`) is left alone, as it is where a machine's clock is set.
import { readFileSync } from 'node:fs';

/** A step is noticed that much later at the most. */
const LOOK_MS = 20;

const RealDate = Date;
const realNow = Date.now.bind(Date);
const realOrigin = performance.timeOrigin;
const file = process.env.LAB_CLOCK ?? '';
let shiftMs = 0;

const look = () => {
  try {
    const text = readFileSync(file, 'utf8').trim();
    // It may be caught while it is written.
    if (/^-?\d+$/.test(text)) shiftMs = Number(text);
  } catch {
    shiftMs = 0; // no file: nobody has set it
  }
};

const now = (): number => realNow() + shiftMs;
RealDate.now = now;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
});
Object.defineProperty(performance, 'timeOrigin', { configurable: true, get: () => realOrigin + shiftMs });

if (file !== '') {
  look();
  setInterval(look, LOOK_MS).unref();
}

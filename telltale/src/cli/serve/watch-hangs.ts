import { readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { HangWatch } from '../../server/recovery/recovery-guard.ts';
import type { Io } from '../io.ts';

/** How long the process may be busy with one thing while something is recovered. */
const HANG_MS = 30_000;
const BEAT_MS = 250;

/**
 * Runs in a thread of its own: where the event loop of the process does not turn for too long while something is
 * recovered, it notes what that was and ends the process. Its time is counted in its own ticks, so a process that was
 * suspended, or a machine that slept, is no hang.
 */
const WATCH = `
const { parentPort, workerData } = require('node:worker_threads');
const { writeFileSync, writeSync } = require('node:fs');
const { beats, marker, hangMs, beatMs } = workerData;
const view = new Int32Array(beats);
const open = new Set();
let last = 0;
let stalled = 0;
parentPort.on('message', ({ begin, past }) => {
  if (begin !== undefined) open.add(begin);
  if (past !== undefined) open.delete(past);
});
setInterval(() => {
  const now = Atomics.load(view, 0);
  stalled = now === last ? stalled + beatMs : 0;
  last = now;
  if (stalled < hangMs || open.size === 0) return;
  const streams = [...open];
  try {
    writeFileSync(marker, JSON.stringify(streams), { mode: 0o600 });
  } catch {} // the next start then counts a death in place of a hang
  writeSync(2, 'error: The process hung for ' + hangMs / 1000 + ' s while it recovered ' + streams.slice(0, 5).join(', ') + (streams.length > 5 ? ' and others' : '') + ', and is ended. Start it again: what hangs again is quarantined, and the rest goes on.\\n');
  process.kill(process.pid, 'SIGKILL');
}, beatMs);
`;

/** Beside the file of a SQLite store; undefined where the store is in memory or in a database. */
export function watchHangs(
  location: string,
  io: Pick<Io, 'cwd' | 'env'>,
  onError: (thrown: unknown) => void,
): HangWatch | undefined {
  if (!location.startsWith('sqlite:')) return undefined;
  const marker = `${resolve(io.cwd, location.slice('sqlite:'.length))}-hung`;
  const hungBefore = readMarker(marker);
  const asked = Number(io.env.TELLTALE_HANG_SECONDS);
  const hangMs = asked > 0 ? asked * 1_000 : HANG_MS;
  const beats = new SharedArrayBuffer(4);
  const view = new Int32Array(beats);
  const beat = setInterval(() => Atomics.add(view, 0, 1), BEAT_MS).unref();
  const workerData = { beats, marker, hangMs, beatMs: BEAT_MS };
  // Without the flags of the process, which may have the text read as a module.
  const worker = new Worker(WATCH, { eval: true, execArgv: [], workerData });
  worker.on('error', onError); // without it a hang is not noticed, and everything else works
  worker.unref();
  return {
    hungBefore,
    begin: (stream) => worker.postMessage({ begin: stream }),
    past: (stream) => worker.postMessage({ past: stream }),
    async close() {
      clearInterval(beat);
      await worker.terminate();
    },
  };
}

/** Read once: it is of the process before this one. */
function readMarker(marker: string): readonly string[] {
  try {
    const streams: unknown = JSON.parse(readFileSync(marker, 'utf8'));
    rmSync(marker, { force: true });
    return Array.isArray(streams) ? streams.map(String) : [];
  } catch {
    return []; // there is none, or it was not written whole
  }
}

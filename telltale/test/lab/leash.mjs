// Ends what the lab has started when the lab has gone, however it went, stopped processes included: `node leash.mjs`, with
// lines on its input: `+PID`, `-PID` (it has ended), `mount PATH`, `unmount PATH`. The lab holds the input open.
import { execFileSync } from 'node:child_process';

/** @type {Set<number>} */
const pids = new Set();
/** @type {Set<string>} */
const mounts = new Set();
let rest = '';
process.stdin.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) take(line);
});

/** @param {string} line */
function take(line) {
  if (line.startsWith('+')) pids.add(Number(line.slice(1)));
  else if (line.startsWith('-')) pids.delete(Number(line.slice(1)));
  else if (line.startsWith('mount ')) mounts.add(line.slice(6));
  else if (line.startsWith('unmount ')) mounts.delete(line.slice(8));
}

const end = () => {
  for (const pid of pids)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it has ended
    }
  for (const path of mounts)
    try {
      execFileSync('umount', ['-l', path], { stdio: 'ignore' });
    } catch {
      // it was not mounted
    }
  process.exit(0);
};
process.stdin.on('end', end).on('error', end);
// The lab gets them, too, and ends: its end is what counts.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

// Records the demo as an animated SVG: `node scripts/record-demo.ts`, after `npm run build`. It runs the demo in a
// terminal that util-linux's `script` provides, and draws what that terminal showed, when it showed it.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawTerminal } from './record-demo/draw-terminal.ts';
import { Terminal } from './record-demo/terminal.ts';

const COLUMNS = 88;
const ROWS = 34;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'telltale-record-'));

try {
  const command = `stty cols ${COLUMNS} rows ${ROWS}; telltale demo --dir ${join(folder, 'demo')}`;
  const typescript = join(folder, 'out');
  const timing = join(folder, 'timing');
  const { status } = spawnSync(
    'script',
    ['--quiet', '--flush', '--log-out', typescript, '--log-timing', timing, '--command', command],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        TERM: 'xterm-256color',
        PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH ?? ''}`,
      },
    },
  );
  if (status !== 0) throw new Error(`The demo ended with ${status}.`);
  const terminal = new Terminal(COLUMNS);
  // The first line is `script`'s own; each line of the timing is a delay and a number of bytes.
  const recorded = readFileSync(typescript);
  let at = recorded.indexOf('\n') + 1;
  let seconds = 0;
  for (const line of readFileSync(timing, 'utf8').trim().split('\n')) {
    const [delay = 0, bytes = 0] = line.split(' ').map(Number);
    seconds += delay;
    terminal.write(recorded.subarray(at, at + bytes), seconds);
    at += bytes;
  }
  // What follows the run are hints for whoever ran it.
  const shown = terminal.end();
  const end = shown.find(({ spans }) => spans[0]?.text.startsWith('Changed on disk'))?.row ?? Infinity;
  const picture = drawTerminal(
    shown.filter(({ row }) => row < end),
    COLUMNS,
    ROWS,
  );
  writeFileSync(join(root, 'docs', 'images', 'demo.svg'), picture);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

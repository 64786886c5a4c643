import type { Io } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { recordedIo } from './recorded-io.ts';
import { createTerminal } from './terminal.ts';

const COLUMNS = 80;
const ROWS = 40;
const WIDE = 1000;

/** What stands on a terminal of 80 columns once the demo is over, at a pace that no model has. */
export async function demoScreen(): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  const env = { PATH: process.env.PATH };
  const recorded = recordedIo({ terminal: true, columns: COLUMNS, rows: ROWS, env, program: 'npm start --' });
  const io: Io = { ...recorded, clock: createSystemClock() };
  const code = await main(['demo', '--rate', '100000'], io);
  // Wide enough for the path of any temporary folder: the view itself keeps to its columns.
  const terminal = createTerminal(WIDE, ROWS);
  terminal.write(recorded.out());
  return { code, lines: terminal.lines() };
}

/**
 * What of such a screen is the same in every run and on every machine: no times, no ids, no folders, and not when a
 * workflow ended (⚙), which nobody waits for.
 */
export function steadyScreen(screen: string): string {
  return screen
    .replace(/^( {2}[✓✗▶] \S+ \S+).*$/gm, '$1')
    .replace(/^✓ \d+ turns[\s\S]*?\n\n/m, '✓ …\n\n')
    .replace(/^ *⚙.*\n/gm, '')
    .replace(/^noted: runtime: \S.*commands run without a sandbox.*\n/gm, '')
    .replace(/ses_\w+/g, 'SESSION')
    .replace(/[^\s=]*telltale-demo-\w+/g, 'FOLDER')
    .replace(/(?<= )\S*\/again/g, 'AGAIN')
    .trimEnd();
}

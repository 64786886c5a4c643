import { parseArgs } from 'node:util';
import { launchBrowser } from '../telltale/test/browser/launch-browser.ts';
import { BROWSERS } from '../telltale/test/servers/browsers.ts';
import { findProgram } from '../telltale/test/servers/find-program.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { judgeConsole, summarise } from './console/console-targets.ts';
import { type ConsoleFigures, type ConsoleLoad, measureConsole } from './console/measure-console.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- console [options]
  --events N   events of the session, about (50000)
  --rounds N   times that pages are opened (5)
  --steps N    moves of the slider a round (60)
  --no-fail    print the targets, but end with 0 when one is missed
  --json       machine-readable output`;

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '5' },
    steps: { type: 'string', default: '60' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const load: ConsoleLoad = {
  events: Number(options.events),
  rounds: Number(options.rounds),
  steps: Number(options.steps),
};
if (options.help || !Object.values(load).every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const path = BROWSERS.map((name) => findProgram(name)).find((found) => found !== undefined);
if (path === undefined) {
  console.error('✗ Chromium is not installed: apt-get install chromium (or install Chrome)');
  process.exit(1);
}
const browser = await launchBrowser(path);
try {
  report(await measureConsole(browser, load), browser.version());
} finally {
  await browser.close();
}

function report(figures: ConsoleFigures, version: string): void {
  const verdicts = judgeConsole(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), ...load, figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}, Chromium ${version}`);
  console.log(
    `A session of ${figures.events.toLocaleString('en')} events, opened from the list of sessions and scrubbed through: ${load.rounds} times in a new page, ${load.steps} moves of the slider each, half of them over all of the log. A step is the time from the slider's move until the next picture is drawn, the wait for a frame included.\n`,
  );
  console.log(
    table(
      ['', 'median', 'p95', 'best', ''],
      summarise(figures).map(({ what, median, p95, best, unit }) => [
        what,
        figure(median),
        figure(p95),
        figure(best),
        unit,
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

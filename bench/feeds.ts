import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runNode } from './agents/run-child.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { judgeFeeds } from './feeds/feed-targets.ts';
import type { FeedLoad, MixFigures } from './feeds/turn-costs.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- feeds [options]
  --sessions N   sessions of each agent at once (100)
  --feeds N      feeds of each session, at the most (1000)
  --turns N      turns of each session in a sample (10)
  --rounds N     samples of each agent (60)
  --handicap     each turn looks at all feeds: shows that growth is found out
  --no-fail      print the targets, but end with 0 when one is missed
  --json         machine-readable output`;

const { values: options } = parseArgs({
  options: {
    sessions: { type: 'string', default: '100' },
    feeds: { type: 'string', default: '1000' },
    turns: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '60' },
    handicap: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const load: FeedLoad = {
  sessions: Number(options.sessions),
  feeds: Number(options.feeds),
  turns: Number(options.turns),
  rounds: Number(options.rounds),
  handicap: options.handicap,
};
const numbers = [load.sessions, load.feeds, load.turns, load.rounds];
if (options.help || !numbers.every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const CHILD = fileURLToPath(new URL('./feeds/child.ts', import.meta.url));
const measure = async () =>
  (await runNode(
    ['--expose-gc', CHILD, JSON.stringify(load)],
    undefined,
    'inherit',
  )) as readonly MixFigures[];
try {
  let figures = await measure();
  if (exitCode(judgeFeeds(figures), false) !== 0) {
    process.stderr.write('it grows: measured again, which counts instead\n');
    figures = await measure();
  }
  report(figures);
} catch (error) {
  process.stderr.write(`✗ ${(error as Error).message}\n`);
  process.exitCode = 1;
}

function report(figures: readonly MixFigures[]): void {
  const verdicts = judgeFeeds(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), ...load, figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    `${load.sessions} sessions of each agent at once, in memory, a step with one tool each turn; medians of ${load.rounds} samples of ${load.turns} turns, in turns; CPU time of all threads. Not used: a quarter each switched off, switched off by CEL, only by reference and never named, shown at the start. The model is not sent anything, so a request is not serialised.\n`,
  );
  const none = figures.find(({ kind }) => kind === 'none');
  const bytes = ({ heapKb, feeds }: MixFigures) =>
    feeds === 0 || none === undefined ? '–' : figure(((heapKb - none.heapKb) * 1000) / feeds);
  console.log(
    table(
      ['feeds', 'a turn, µs', '÷ none', 'start of a session, ms', 'KB a session', 'bytes a feed'],
      figures.map((mix) => [
        mix.name,
        figure(mix.turnUs),
        figure(mix.ratio),
        figure(mix.startMs),
        figure(mix.heapKb),
        bytes(mix),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

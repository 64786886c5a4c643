import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { judgeDialects } from './agents/dialect-targets.ts';
import type { LoadOptions, UnitSample } from './agents/measurements.ts';
import { runChild } from './agents/run-child.ts';
import { cpuOf } from './agents/targets.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import type { Dialect } from './agents/write-agent.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- dialects [options]
  --runs N        processes of each dialect, in turns (3)
  --sessions N    sessions at once (100)
  --steps N       steps of each session (10)
  --handicap N    the dialects besides tags do their work N times: shows that a dearer one misses the target
  --no-fail       print the targets, but end with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    sessions: { type: 'string', default: '100' },
    steps: { type: 'string', default: '10' },
    handicap: { type: 'string', default: '1' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [runs, sessions, steps, handicap] = [
  options.runs,
  options.sessions,
  options.steps,
  options.handicap,
].map(Number) as [number, number, number, number];
if (options.help || ![runs, sessions, steps, handicap].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const FILES: readonly (readonly [Dialect, string])[] = [
  ['tags', './agents/telltale-memory.ts'],
  ['tools', './agents/telltale-tools.ts'],
  ['step', './agents/telltale-step.ts'],
];

const samples = new Map<Dialect, UnitSample[]>(FILES.map(([dialect]) => [dialect, []]));
for (let run = 0; run < runs; run += 1)
  for (const [dialect, file] of FILES) {
    process.stderr.write(`${dialect}, process ${run + 1} of ${runs}\n`);
    const load: LoadOptions = {
      sessions,
      steps,
      deltas: 0,
      held: 0,
      rounds: 3,
      sampleMs: 400,
      warmUpMs: 3000,
      handicap: dialect === 'tags' ? 1 : handicap,
    };
    const taken = await runChild(fileURLToPath(new URL(file, import.meta.url)), 'steps', load);
    samples.get(dialect)?.push(...(taken as readonly UnitSample[]));
  }

const figures = [...samples].map(([dialect, taken]) => ({ dialect, cpuUs: cpuOf(taken) }));
const verdicts = judgeDialects(figures);
if (options.json) {
  console.log(JSON.stringify({ machine: describeMachine(), figures, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  const tags = figures[0]?.cpuUs ?? Number.NaN;
  console.log(`\n${describeMachine()}`);
  console.log(
    `${sessions} sessions at once in memory, ${steps} steps with one tool each; each dialect in ${runs} processes of its own, in turns. Medians, CPU time of all threads.\n`,
  );
  console.log(
    table(
      ['dialect', 'a step, µs', '÷ tags'],
      figures.map(({ dialect, cpuUs }) => [dialect, figure(cpuUs), figure(cpuUs / tags)]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

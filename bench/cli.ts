import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { atMost, printVerdicts, type Verdict } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- cli [options]
  --rounds N    rounds; each command has its turn in each (15)
  --json        machine-readable output
  --no-fail     print the result, but end with 0 when a target is missed`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
if (options.help || !Number.isInteger(rounds) || rounds < 1) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const BIN = fileURLToPath(new URL('../telltale/bin/telltale.js', import.meta.url));
/** An empty program takes Node 40 ms on a quiet machine of the kind that the targets were set on. */
const FLOOR_MS = 40;
const VERSION_MS = 150;
const RUN_MS = 400;

const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-cli-'));
writeFileSync(join(folder, 'agent.yml'), 'kind: Agent\nname: bench\nmodel: scripted:./turns.yml\n');
writeFileSync(
  join(folder, 'turns.yml'),
  'turns:\n  - <thought>Hm.</thought><response final="true">Done.</response>\n',
);

interface Contestant {
  readonly name: string;
  readonly args: readonly string[];
  readonly expected: RegExp;
  readonly wallMs: number[];
  readonly cpuMs: number[];
}
const contestant = (name: string, args: readonly string[], expected: RegExp): Contestant => ({
  name,
  args,
  expected,
  wallMs: [],
  cpuMs: [],
});

const floor = contestant('floor: node -e 0', ['-e', '0'], /^$/);
const version = contestant('telltale --version', [BIN, '--version'], /^\d+\.\d+\.\d+\n$/);
const sessions = contestant('telltale sessions', [BIN, 'sessions'], /ses_/);
const run = contestant('telltale run, one turn', [BIN, 'run', 'agent.yml', 'Go', '--quiet'], /^Done\.\n$/);
const contestants = [
  contestant('node --version', ['--version'], /^v/),
  floor,
  version,
  contestant('telltale --help', [BIN, '--help'], /Usage: telltale/),
  run,
  sessions,
  contestant('telltale show last', [BIN, 'show', 'last'], /bench/),
];

try {
  // The first round is not counted: it makes the store, and Node's cache of compiled code.
  for (let round = 0; round <= rounds; round++) {
    for (const each of contestants) measure(each, round > 0);
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = report();

function measure(one: Contestant, counts: boolean): void {
  const cpu = childrenCpuMs();
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [...one.args], {
    cwd: folder,
    encoding: 'utf8',
  });
  const wallMs = performance.now() - started;
  if (status !== 0 || !one.expected.test(stdout))
    throw new Error(`${one.name} ended with ${status} and printed ${JSON.stringify(stdout + stderr)}.`);
  if (!counts) return;
  one.wallMs.push(wallMs);
  one.cpuMs.push(childrenCpuMs() - cpu);
}

/** CPU time of all children that have ended, where the system tells; in steps of 10 ms, so that only sums say much. */
function childrenCpuMs(): number {
  if (process.platform !== 'linux') return Number.NaN;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

function report(): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const best = ({ wallMs }: Contestant) => Math.min(...wallMs);
  const times = (one: Contestant) => best(one) / best(floor);
  const rows = contestants.map((one) => [
    one.name,
    figure(best(one)),
    figure(median(one.wallMs)),
    figure(mean(one.cpuMs)),
    figure(times(one)),
    figure(mean(one.cpuMs) / mean(floor.cpuMs)),
  ]);
  const verdicts: readonly Verdict[] = [
    atMost(
      `telltale --version within ${figure(VERSION_MS / FLOOR_MS)} times an empty program (best ÷ best)`,
      times(version),
      VERSION_MS / FLOOR_MS,
      'times',
    ),
    atMost(
      `telltale run within ${figure(RUN_MS / FLOOR_MS)} times an empty program (best ÷ best)`,
      times(run),
      RUN_MS / FLOOR_MS,
      'times',
    ),
    atMost(`telltale --version within ${VERSION_MS} ms`, median(version.wallMs), VERSION_MS, 'ms', false),
    atMost(`telltale run within ${RUN_MS} ms`, median(run.wallMs), RUN_MS, 'ms', false),
  ];
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), rows, verdicts }, null, 2));
    return options['no-fail'] || verdicts.every(({ met, decides }) => met || !decides) ? 0 : 1;
  }
  console.log(`${describeMachine()}\n`);
  console.log(`From the shell to the exit, ${rounds} rounds, commands in turns; ms.\n`);
  console.log(table(['', 'best', 'median', 'CPU', 'best ÷ floor', 'CPU ÷ floor'], rows));
  return printVerdicts(verdicts, options['no-fail']);
}

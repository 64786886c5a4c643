// `npm test`: every stage runs, whatever the ones before it found. scripts/launch.js has installed all it needs.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HELP, readArguments } from './check/check-arguments.ts';
import { seedOf } from './check/seed.ts';
import { setUpServers } from './check/servers.ts';
import {
  closingLines,
  oneCheck,
  type StageReport,
  type StageResult,
  strict as strictly,
} from './check/stage-result.ts';
import { type CheckContext, createScratch, ROUNDS, STAGES, type Stage } from './check/stages.ts';
import { compilePackage } from './launch/build.js';
import { createProgress } from './launch/progress.js';
import { runCaptured } from './launch/run-captured.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const progress = createProgress(process.stdout);
const nameWidth = Math.max(...STAGES.map(({ name }) => name.length));

/** The stages that are running, by name, and what each of them does. */
const running = new Map<string, string>();

function showProgress(): void {
  if (running.size === 1) for (const [stage, what] of running) progress.start(`${stage}: ${what}`);
  else if (running.size > 1) progress.start([...running.keys()].join(', '));
}

/** Programs are installed while the first round runs. */
const serverProgress: typeof progress = {
  start(text) {
    running.set('servers', text);
    showProgress();
  },
  end(line) {
    running.delete('servers');
    progress.end(line);
    showProgress();
  },
};

async function timed(stage: string, what: string, work: () => Promise<StageResult>): Promise<StageReport> {
  const started = performance.now();
  running.set(stage, what);
  showProgress();
  const result = await work();
  const report = { ...result, stage, tookMs: performance.now() - started };
  running.delete(stage);
  progress.end(stageLine(report));
  if (report.report !== undefined) console.log(`\n${report.report}\n`);
  if (report.failures.length > 0) console.log(`\n${report.output.trimEnd()}\n`);
  showProgress();
  return report;
}

function stageLine({ stage, tookMs, passed, failures, skipped = [], note }: StageReport): string {
  const mark = failures.length > 0 ? '✗' : passed > 0 ? '✓' : '–';
  const counts = [
    `${passed} passed`,
    ...(failures.length > 0 ? [`${failures.length} failed`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
  ].join(', ');
  const seconds = `${(tookMs / 1000).toFixed(1)} s`.padStart(7);
  return `${mark} ${stage.padEnd(nameWidth)} ${seconds}  ${note ?? counts}`;
}

async function check(names: readonly string[], strict: boolean, context: CheckContext): Promise<number> {
  const chosen = STAGES.filter(({ name }) => names.includes(name));
  const reports: StageReport[] = [];
  if (!names.includes('types') && chosen.some(({ needsBuild }) => needsBuild)) {
    const built = await compilePackage(root, process.execPath);
    if (built.code !== 0)
      reports.push(await timed('build', 'the package', async () => oneCheck('the package', built)));
  }
  if (chosen.some(({ takesFilters }) => takesFilters))
    console.log(`– the seed of random tests is ${context.seed}`);
  const servers = chosen.some(({ needsServers }) => needsServers) ? setUpServers(serverProgress) : undefined;
  const runStage = ({ name, what, run }: Stage) =>
    timed(name, what, async () => (strict ? strictly(await run(context)) : run(context)));
  for (const [round, lanes] of ROUNDS.entries()) {
    if (round > 0) await servers;
    const inLanes = await Promise.all(
      lanes.map(async (lane) => {
        const inLane: StageReport[] = [];
        for (const stage of chosen) if (lane.includes(stage.name)) inLane.push(await runStage(stage));
        return inLane;
      }),
    );
    reports.push(...inLanes.flat());
  }
  console.log(closingLines(reports).join('\n'));
  return reports.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

/** The commit that the work tree stands on; other words where there is none, or no git. */
async function commitHere(): Promise<string> {
  const { code, output } = await runCaptured('git', ['rev-parse', 'HEAD'], { cwd: root });
  return code === 0 ? output : '';
}

async function main(): Promise<number> {
  const takeFilters = new Set(STAGES.filter(({ takesFilters }) => takesFilters).map(({ name }) => name));
  const read = readArguments(
    process.argv.slice(2),
    STAGES.map(({ name }) => name),
    takeFilters,
  );
  if (!read.ok) {
    console.error(`✗ ${read.error}`);
    return 2;
  }
  const { mode, stages, update, strict, filters, seed } = read.value;
  switch (mode) {
    case 'help':
      console.log(HELP.trimEnd());
      return 0;
    case 'list':
      for (const { name, what } of STAGES) console.log(`${name.padEnd(nameWidth)}  ${what}`);
      return 0;
    case 'run':
      return check(stages, strict, {
        root,
        scratch: createScratch(),
        update,
        filters,
        seed: seed ?? seedOf(await commitHere()),
      });
  }
}

process.on('exit', () => progress.end());
process.exitCode = await main();

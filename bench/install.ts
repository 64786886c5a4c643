import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pack, run } from '../telltale/test/packaging/packed.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { ANSWER, type InstallContestant, mastra, telltale } from './install/contestants.ts';
import { type InstallFigures, judgeInstall } from './install/targets.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- install [options]
  --rounds N      installations of each, in turns, after one that fills npm's cache (3)
  --handicap MS   our answer comes this much later: shows that the target can be missed
  --no-fail       print the targets, but exit with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    handicap: { type: 'string', default: '0' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [rounds, handicapMs] = [Number(options.rounds), Number(options.handicap)];
if (options.help || !(Number.isInteger(rounds) && rounds > 0 && handicapMs >= 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

interface Installation {
  readonly packages: number;
  readonly bytes: number;
  readonly installMs: number;
  readonly answerMs: number;
}

const root = mkdtempSync(join(tmpdir(), 'telltale-bench-install-'));
try {
  process.stderr.write('packing telltale\n');
  const contestants = [telltale((await pack(root)).tarball), mastra()];
  const taken: Installation[][] = contestants.map(() => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, contestant] of contestants.entries()) {
      process.stderr.write(`${contestant.name}, ${round === 0 ? 'filling the cache' : `round ${round}`}\n`);
      const installation = await install(contestant, index === 0 ? handicapMs : 0);
      if (round > 0) taken[index]!.push(installation);
    }
  report(contestants, taken);
} finally {
  rmSync(root, { recursive: true, force: true });
}

/** Installs into an empty folder and asks the agent once. */
async function install(
  { name, packages, files, program }: InstallContestant,
  delayMs: number,
): Promise<Installation> {
  const folder = mkdtempSync(join(root, 'empty-'));
  const started = performance.now();
  await succeed(
    `npm install for ${name}`,
    run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], folder),
  );
  const installed = performance.now();
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const printed = await succeed(`The agent of ${name}`, run(process.execPath, program, folder));
  if (printed.trim() !== ANSWER) throw new Error(`${name} answered ${JSON.stringify(printed)}.`);
  const answered = performance.now();
  const modules = join(folder, 'node_modules');
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as {
    readonly packages: object;
  };
  const installation: Installation = {
    packages: Object.keys(lock.packages).length,
    bytes: sizeOf(modules),
    installMs: installed - started,
    answerMs: answered - installed + delayMs,
  };
  rmSync(folder, { recursive: true, force: true });
  return installation;
}

async function succeed(what: string, running: ReturnType<typeof run>): Promise<string> {
  const { code, stdout, output } = await running;
  if (code !== 0) throw new Error(`${what} exited with ${code}:\n${output.slice(-2000)}`);
  return stdout;
}

/** Bytes of all files in a folder; links are not followed. */
function sizeOf(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? sizeOf(path) : lstatSync(path).size;
  }
  return bytes;
}

function report(contestants: readonly InstallContestant[], taken: readonly Installation[][]): void {
  const over = (installations: readonly Installation[], pick: (one: Installation) => number) =>
    median(installations.map(pick));
  const figures = contestants.map(
    ({ name }, index): InstallFigures => ({
      name,
      packages: over(taken[index]!, ({ packages }) => packages),
      megabytes: over(taken[index]!, ({ bytes }) => bytes / 1e6),
      firstAnswerMs: over(taken[index]!, ({ installMs, answerMs }) => installMs + answerMs),
    }),
  );
  const verdicts = judgeInstall(figures[0]!, figures[1]!);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), rounds, taken, figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    `From an empty folder, npm’s cache filled; medians of ${rounds} rounds in turns. The model is scripted, so no key is needed.\n`,
  );
  console.log(
    table(
      ['', 'packages', 'MB', 'npm install, s', 'then the answer, s', 'together, s'],
      figures.map(({ name, packages, megabytes, firstAnswerMs }, index) => [
        name,
        String(packages),
        figure(megabytes),
        figure(over(taken[index]!, ({ installMs }) => installMs / 1000)),
        figure(over(taken[index]!, ({ answerMs }) => answerMs / 1000)),
        figure(firstAnswerMs / 1000),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { type CommandFigures, EMPTY, judgeCommands, RUN, SERVE } from './cli/targets.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- cli [options]
  --rounds N    rounds; each command has its turn in each (15)
  --no-fail     print the targets, but exit with 0 when one is missed
  --json        machine-readable output`;

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
const POLL_MS = 2;

const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-cli-'));
writeFileSync(join(folder, 'agent.yml'), 'kind: Agent\nname: bench\nmodel: scripted:./turns.yml\n');
writeFileSync(
  join(folder, 'turns.yml'),
  'turns:\n  - <thought>Hm.</thought><response final="true">Done.</response>\n',
);

const COMMANDS: Readonly<Record<string, () => number | Promise<number>>> = {
  [EMPTY]: () => timeCommand(['-e', '0'], /^$/),
  [RUN]: () => timeCommand([BIN, 'run', 'agent.yml', 'Go', '--quiet'], /^Done\.\n$/),
  [SERVE]: timeServe,
};

const figures: readonly CommandFigures[] = Object.keys(COMMANDS).map((name) => ({ name, wallMs: [] }));
try {
  // The first round is not counted: it makes the store and Node's cache of compiled code.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, wallMs } of figures) {
      const ms = await COMMANDS[name]!();
      if (round > 0) wallMs.push(ms);
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const verdicts = judgeCommands(figures);
if (options.json) {
  console.log(JSON.stringify({ machine: describeMachine(), figures, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  const best = ({ wallMs }: CommandFigures) => Math.min(...wallMs);
  console.log(`\n${describeMachine()}`);
  console.log(`${rounds} rounds, commands in turns; milliseconds of wall time.\n`);
  console.log(
    table(
      ['', 'best', 'median', 'best ÷ empty'],
      figures.map((each) => [
        each.name,
        figure(best(each)),
        figure(median(each.wallMs)),
        figure(best(each) / best(figures[0]!)),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

/** Milliseconds from the start of a program to its exit. */
function timeCommand(args: readonly string[], expected: RegExp): number {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  const ms = performance.now() - started;
  if (status !== 0 || !expected.test(stdout))
    throw new Error(
      `node ${args.join(' ')} exited with ${status} and printed ${JSON.stringify(stdout + stderr)}.`,
    );
  return ms;
}

/** Milliseconds from the start of `telltale serve` to its first 200 from `/readyz`. */
async function timeServe(): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [BIN, 'serve', 'agent.yml', '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    const { url } = JSON.parse(await firstLine(child)) as { readonly url: string };
    while (!(await isReady(url))) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    return performance.now() - started;
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  let said = '';
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdout?.setEncoding('utf8');
  for await (const text of child.stdout ?? []) {
    said += text;
    if (said.trimEnd().endsWith('}')) return said;
  }
  throw new Error(`telltale serve exited: ${errors.slice(-2000)}`);
}

async function isReady(url: string): Promise<boolean> {
  // Until the server listens, a connection is refused.
  const answer = await fetch(`${url}/readyz`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
}

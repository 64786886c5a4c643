import { parseArgs } from 'node:util';
import { PACKAGES } from '../telltale/test/memory/oracle/code-bases.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { measureCorrectness } from './memory/correctness.ts';
import { measureIndexing } from './memory/index.ts';
import type { Measured, Measurement } from './memory/measurement.ts';
import { measureParsing } from './memory/parse-speed.ts';
import { measureQueries } from './memory/query.ts';
import { measureTokens } from './memory/tokens.ts';
import { describeMachine } from './parsing/machine.ts';

const MEASUREMENTS: Readonly<Record<string, Measurement>> = {
  correctness: measureCorrectness,
  parse: measureParsing,
  index: measureIndexing,
  query: measureQueries,
  tokens: measureTokens,
};
const names = Object.keys(MEASUREMENTS);

const USAGE = `npm run bench -- memory [options]
  --only LIST      of ${names.join(', ')} (all)
  --packages LIST  public packages to compare with the compiler (${PACKAGES.join(',')})
  --rounds N       samples of each contestant (5)
  --no-fail        print the targets, but end with 0 when one is missed
  --json           machine-readable output`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: names.join(',') },
    packages: { type: 'string', default: PACKAGES.join(',') },
    rounds: { type: 'string', default: '5' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const listed = (text: string) => text.split(',').map((word) => word.trim());
const chosen = listed(options.only);
const unknown = chosen.find((word) => !names.includes(word));
const rounds = Number(options.rounds);
const badNumber = !(Number.isInteger(rounds) && rounds > 0);
if (options.help || unknown !== undefined || badNumber) {
  if (unknown !== undefined) process.stderr.write(`There is no measurement "${unknown}".\n\n`);
  if (badNumber) process.stderr.write('The number of rounds must be whole and above zero.\n\n');
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const measured: Record<string, Measured> = {};
for (const name of names.filter((each) => chosen.includes(each))) {
  try {
    measured[name] = await MEASUREMENTS[name]!({
      packages: listed(options.packages),
      rounds,
      progress: (line) => process.stderr.write(`${name}: ${line}\n`),
    });
  } catch (error) {
    process.stderr.write(`✗ ${name}: ${(error as Error).message}\n`);
    process.exit(1);
  }
}

const verdicts = Object.values(measured).flatMap((each) => each.verdicts);
const machine = describeMachine();
if (options.json) {
  const figures = Object.fromEntries(Object.entries(measured).map(([name, each]) => [name, each.figures]));
  console.log(JSON.stringify({ machine, figures, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  console.log(`\n${machine}`);
  for (const { text } of Object.values(measured)) console.log(`\n${text}`);
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

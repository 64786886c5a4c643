import { parseArgs } from 'node:util';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { cut, cutUnevenly } from './parsing/chunks.ts';
import { fingerprint } from './parsing/fingerprint.ts';
import { htmlparser2, htmlparser2Defaults } from './parsing/htmlparser2.ts';
import { type Growth, measureLinearity } from './parsing/linear.ts';
import { describeMachine } from './parsing/machine.ts';
import { parse5SaxParser } from './parsing/parse5-sax-parser.ts';
import { pinToOneCore } from './parsing/pin.ts';
import { race, raceTable } from './parsing/race.ts';
import { saxLoose } from './parsing/sax-loose.ts';
import { saxes } from './parsing/saxes.ts';
import { createSeeded } from './parsing/seeded.ts';
import { figure, table } from './parsing/table.ts';
import { judge, type Row } from './parsing/targets.ts';
import { createTelltale } from './parsing/telltale.ts';
import { createTranscript, type Transcript } from './parsing/transcript.ts';

const USAGE = `npm run bench -- parser [options]
  --runs N       samples of each contestant (9)
  --chunk LIST   characters a chunk (4,64)
  --with LIST    peers whose name contains one of these words; ours always runs
  --no-linear    leave out the hostile input
  --handicap N   ours does its work N times: shows that a slower parser misses the targets
  --quadratic    on hostile input, ours searches all it has read on each push: shows that growth is found
  --no-fail      print the targets, but exit with 0 when one is missed
  --json         machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '9' },
    chunk: { type: 'string', default: '4,64' },
    with: { type: 'string', default: '' },
    'no-linear': { type: 'boolean', default: false },
    handicap: { type: 'string', default: '1' },
    quadratic: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const runs = Number(options.runs);
const handicap = Number(options.handicap);
const chunkSizes = options.chunk.split(',').map(Number);
const isBad = ![runs, handicap, ...chunkSizes].every((n) => Number.isInteger(n) && n > 0);
if (options.help || isBad) {
  if (isBad) process.stderr.write('The numbers must be whole and above zero.\n\n');
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const progress = (line: string) => void process.stderr.write(`${line}\n`);
const pinned = await pinToOneCore();
// Peers fail to parse the bodies that they damaged. Without this, each failure would also pay for a stack trace.
Error.stackTraceLimit = 0;

const transcript = createTranscript();
const ours = createTelltale(handicap);
const words = options.with.split(',').filter((word) => word !== '');
const field = [ours, htmlparser2Defaults, htmlparser2, saxLoose, saxes, parse5SaxParser].filter(
  (contestant) =>
    contestant === ours || words.length === 0 || words.some((word) => contestant.name.includes(word)),
);

const rows: Row[] = [];
for (const size of chunkSizes) rows.push(...(await race({ transcript, field, ours, size, rounds: runs })));
// After the race: compiling for these inputs would favor ours.
const fingerprints = fingerprintEveryCut(transcript);
const growths = options['no-linear']
  ? undefined
  : await measureLinearity({ isQuadratic: options.quadratic, progress });
const verdicts = judge({
  rows,
  ours: ours.name,
  peer: htmlparser2Defaults.name,
  bodies: transcript.actions.length,
  fingerprints,
  ...(growths === undefined ? {} : { growths }),
});

if (options.json) {
  const setting = { machine: describeMachine(), pinned, runs };
  console.log(JSON.stringify({ ...setting, rows, fingerprints, growths, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  report();
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

/** The cuts that must not matter: whole, by one, by four, by 64, and at random. */
function fingerprintEveryCut({ text }: Transcript): Readonly<Record<string, string>> {
  const seeded = createSeeded(7);
  return {
    'the whole text': fingerprint([text]).hash,
    'chunks of 1': fingerprint(cut(text, 1)).hash,
    'of 4': fingerprint(cut(text, 4)).hash,
    'of 64': fingerprint(cut(text, 64)).hash,
    'uneven cuts': fingerprint(cutUnevenly(text, () => seeded.between(1, 40))).hash,
  };
}

function report(): void {
  console.log(`\n${describeMachine()}; ${pinned}`);
  console.log(
    `Transcript: ${figure(Buffer.byteLength(transcript.text))} bytes, ${transcript.actions.length} action bodies. Medians of ${runs} interleaved samples, CPU time.\n`,
  );
  for (const size of chunkSizes) {
    const measured = rows.filter(({ chunk }) => chunk === size);
    console.log(`${raceTable(size, measured)}\n`);
  }
  if (growths === undefined) return;
  const byGrowth = [...growths].sort((a, b) => b.growth - a.growth);
  const shown: readonly Growth[] = byGrowth.slice(0, 3);
  console.log(
    `Hostile input, ${growths.length} families, one character a push: the three whose cost per character grows most.\n`,
  );
  console.log(
    table(
      ['ns per character', 'at 50,000', 'at 400,000', 'growth'],
      shown.map(({ name, small, large, growth }) => [name, figure(small), figure(large), growth.toFixed(2)]),
    ),
  );
}

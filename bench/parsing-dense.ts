import { parseArgs } from 'node:util';
import { htmlparser2 } from './parsing/htmlparser2.ts';
import { describeMachine } from './parsing/machine.ts';
import { minimalMachine } from './parsing/minimal-machine.ts';
import { pinToOneCore } from './parsing/pin.ts';
import { race, raceTable } from './parsing/race.ts';
import { saxLoose } from './parsing/sax-loose.ts';
import { saxes } from './parsing/saxes.ts';
import { figure } from './parsing/table.ts';
import { FEEDS, type Row } from './parsing/targets.ts';
import { createTelltale } from './parsing/telltale.ts';
import { createDenseTranscript } from './parsing/transcript.ts';

const USAGE = `npm run bench -- parsing-dense [options]
The tag parser beside its peers on text that is full of tags. Figures only: the targets are those of "parser".
  --runs N       samples of each contestant (9)
  --no-fail      accepted for the sake of scripts; this bench fails only when a body is damaged
  --json         machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '9' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.runs);
if (options.help || !Number.isInteger(rounds) || rounds < 1) {
  (options.help ? process.stdout : process.stderr).write(`${USAGE}\n`);
  process.exit(options.help ? 0 : 2);
}

const pinned = await pinToOneCore();
// Peers fail to parse the bodies that they damaged; without this each failure would also pay for a stack trace.
Error.stackTraceLimit = 0;

const transcript = createDenseTranscript();
const ours = createTelltale();
const field = [minimalMachine, ours, htmlparser2, saxLoose, saxes];
const tables: { readonly title: string; readonly rows: readonly Row[] }[] = [];
for (const feed of ['stream', 'turns'] as const) {
  for (const size of [4, 64]) {
    const title = `dense: a tag every 70 characters; ${size} a chunk, ${FEEDS[feed]}`;
    tables.push({ title, rows: await race({ transcript, field, ours, feed, size, rounds }) });
  }
}

const machine = `${describeMachine()}; ${pinned}`;
if (options.json) console.log(JSON.stringify({ machine, tables }, null, 2));
else {
  const { text, turns, actions } = transcript;
  console.log(`\n${machine}`);
  console.log(
    `Dense transcript: ${figure(Buffer.byteLength(text))} bytes, ${turns.length} turns, ${actions.length} action bodies, ${figure(text.split('<').length - 1)} "<".\n`,
  );
  for (const { title, rows } of tables) console.log(`${raceTable(title, rows)}\n`);
}
const damaged = tables.some(({ rows }) =>
  rows.some(
    (row) => row.name === ours.name && (row.intact !== transcript.actions.length || row.phantom !== 0),
  ),
);
process.exitCode = damaged && !options['no-fail'] ? 1 : 0;

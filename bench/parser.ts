import { parseArgs } from 'node:util';
import { cut, cutUnevenly } from './parsing/chunks.ts';
import type { Contestant } from './parsing/contestant.ts';
import { fingerprint } from './parsing/fingerprint.ts';
import { floor } from './parsing/floor.ts';
import { htmlparser2, htmlparser2Defaults } from './parsing/htmlparser2.ts';
import { createJsonFloor } from './parsing/json-floor.ts';
import { describeMachine } from './parsing/machine.ts';
import { minimalMachine } from './parsing/minimal-machine.ts';
import { minimalWithBodies } from './parsing/minimal-with-bodies.ts';
import { parse5SaxParser } from './parsing/parse5-sax-parser.ts';
import { pinToOneCore } from './parsing/pin.ts';
import { race, raceTable } from './parsing/race.ts';
import { saxLoose } from './parsing/sax-loose.ts';
import { saxes } from './parsing/saxes.ts';
import { createSeeded } from './parsing/seeded.ts';
import { figure } from './parsing/table.ts';
import { FEEDS, type Feed, judge, type Row } from './parsing/targets.ts';
import { createTelltale } from './parsing/telltale.ts';
import { createTranscript, type Transcript } from './parsing/transcript.ts';

const USAGE = `npm run bench -- parser [options]
  --runs N       samples of each contestant (9; the targets ask for at least 7)
  --chunk LIST   characters a chunk (4,64)
  --only LIST    contestants whose name holds one of these words; ours always runs
  --handicap N   ours does its work N times: shows that a slower parser misses the targets
  --no-fail      print the targets, but end with 0 when one is missed
  --json         machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '9' },
    chunk: { type: 'string', default: '4,64' },
    only: { type: 'string', default: '' },
    handicap: { type: 'string', default: '1' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const runs = positive('--runs', options.runs);
const chunkSizes = options.chunk.split(',').map((size) => positive('--chunk', size));
const handicap = positive('--handicap', options.handicap);
if (options.help) {
  console.log(USAGE);
  process.exit(0);
}

const pinned = await pinToOneCore();
// Peers fail to parse the bodies that they damaged; without this each failure would also pay for a stack trace.
Error.stackTraceLimit = 0;

const transcript = createTranscript();
const bytes = Buffer.byteLength(transcript.text);
const ours = createTelltale(handicap);
const words = options.only.split(',').filter((word) => word !== '');
const jsonFloor = createJsonFloor(transcript);
const contestants = [
  floor,
  jsonFloor,
  minimalMachine,
  minimalWithBodies,
  ours,
  htmlparser2,
  htmlparser2Defaults,
  saxLoose,
  saxes,
  parse5SaxParser,
].filter(
  (contestant) =>
    contestant === ours || words.length === 0 || words.some((word) => contestant.name.includes(word)),
);

const rows: Row[] = [];
const common = { transcript, ours, rounds: runs };
for (const size of chunkSizes)
  rows.push(...(await race({ ...common, field: contestants, feed: 'stream', size })));
for (const size of chunkSizes)
  rows.push(...(await race({ ...common, field: contestants.filter(racesByTurn), feed: 'turns', size })));
// After the race: what it feeds must not teach the engine anything about ours that it does not learn about the others.
const feedings = feedEveryWay(transcript);
const fingerprints = Object.fromEntries(Object.entries(feedings).map(([way, { hash }]) => [way, hash]));
const verdicts = judge({
  rows,
  ours: ours.name,
  minimal: minimalMachine.name,
  htmlparser2: htmlparser2.name,
  bodies: transcript.actions.length,
  fingerprints,
});

const setting = {
  machine: describeMachine(),
  pinned,
  runs,
  transcript: {
    bytes,
    characters: transcript.text.length,
    turns: transcript.turns.length,
    bodies: transcript.actions.length,
  },
};
if (options.json) console.log(JSON.stringify({ ...setting, rows, feedings, verdicts }, null, 2));
else report();
process.exitCode = verdicts.every(({ met }) => met) || options['no-fail'] ? 0 : 1;

/** The second table is about ours and those that bound it; the other peers do not care how turns are cut. */
function racesByTurn(contestant: Contestant): boolean {
  return [ours, minimalMachine, minimalWithBodies, htmlparser2].includes(contestant);
}

/** The ways of cutting that must not matter: whole, by one, by four, by 64, and at random. */
function feedEveryWay({ text }: Transcript) {
  process.stderr.write('feeding the transcript in five ways\n');
  const seeded = createSeeded(7);
  return {
    whole: fingerprint([text]),
    '1 character': fingerprint(cut(text, 1)),
    '4 characters': fingerprint(cut(text, 4)),
    '64 characters': fingerprint(cut(text, 64)),
    'uneven cuts': fingerprint(cutUnevenly(text, () => seeded.between(1, 40))),
  };
}

function report(): void {
  const { characters, turns, bodies } = setting.transcript;
  console.log(`\n${setting.machine}; ${pinned}`);
  console.log(
    `Transcript: ${figure(bytes)} bytes, ${figure(characters)} characters, ${turns} turns, ${bodies} action bodies; it gives ${feedings.whole.events} events, ${feedings.whole.faults} of them faults.`,
  );
  console.log(
    `Medians of ${runs} interleaved samples, CPU time; ratios are medians of the ratios in each round.\n`,
  );
  for (const feed of ['stream', 'turns'] as const) for (const size of chunkSizes) printTable(feed, size);
  for (const row of rows) if (row.stopped !== undefined) console.log(`${row.name} stopped ${row.stopped}`);
  for (const { target, found, met } of verdicts) console.log(`${met ? '✓' : '✗'} ${target}: ${found}`);
}

function printTable(feed: Feed, size: number): void {
  const measured = rows.filter((row) => row.chunk === size && row.feed === feed);
  console.log(`${raceTable(`${size} characters a chunk, ${FEEDS[feed]}`, measured)}\n`);
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  process.stderr.write(`${option} takes whole numbers above zero, not "${text}".\n\n${USAGE}\n`);
  process.exit(2);
}

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runNode } from './agents/run-child.ts';
import { atMost, exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { table } from './parsing/table.ts';
import type { DeltaMemory } from './streams/follow-deltas.ts';

const USAGE = `npm run bench -- deltas [options]
  Memory of a session whose provider sends a long answer in deltas of one character, 100,000 a second, and
  of one that sends the same answer in large deltas.
  --characters N  length of the answer (300,000)
  --no-fail       print the targets, but end with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    characters: { type: 'string', default: '300000' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const characters = Number(options.characters);
const isGood = Number.isInteger(characters) && characters > 0;
if (options.help || !isGood) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const PER_SECOND = 100_000;
const LARGE = 16_384;
/** What may be held for the deltas that are under way, whatever the answer's length. */
const MOST_MORE_MB = 16;
const FOLLOW = fileURLToPath(new URL('./streams/follow-deltas.ts', import.meta.url));
const CASES = [
  { dialect: 'tags', model: 'large' },
  { dialect: 'tags', model: 'tiny' },
  { dialect: 'tools', model: 'large' },
  { dialect: 'tools', model: 'tiny' },
] as const;

const text = wordsOf(characters);
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => {
    body += part;
  });
  request.on('end', () => {
    const { model, tools } = JSON.parse(body) as { model: string; tools?: unknown };
    // In the dialect `tools`, text without a call is the answer.
    const answer = tools === undefined ? `<response>${text}</response>` : text;
    void (model === 'tiny' ? send(response, answer, 1, PER_SECOND) : send(response, answer, LARGE, 1_000));
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

const found: (DeltaMemory & (typeof CASES)[number])[] = [];
for (const each of CASES) {
  process.stderr.write(`${each.dialect}, ${each.model} deltas\n`);
  const memory = (await runNode(['--expose-gc', FOLLOW, url, each.dialect, each.model])) as DeltaMemory;
  if (memory.characters !== characters) throw new Error(`The answer has ${memory.characters} characters.`);
  found.push({ ...each, ...memory });
}
server.close();

const verdicts = ['tags', 'tools'].map((dialect) => {
  const [large, tiny] = found.filter((each) => each.dialect === dialect);
  const more = (tiny?.liveMb ?? 0) - (large?.liveMb ?? 0);
  return atMost(`${dialect}: live heap more than with large deltas`, more, MOST_MORE_MB, 'MB');
});
if (options.json) console.log(JSON.stringify({ machine: describeMachine(), found, verdicts }, null, 2));
else {
  const whole = (value: number) => value.toLocaleString('en-US');
  console.log(`\n${describeMachine()}; an answer of ${whole(characters)} characters\n`);
  console.log(
    table(
      ['', 'deltas', 'seconds', 'live heap, MB', 'RSS, MB'],
      found.map(({ dialect, model, seconds, liveMb, rssMb }) => [
        `${dialect}, ${model} deltas`,
        whole(model === 'tiny' ? characters : Math.ceil(characters / LARGE)),
        seconds.toFixed(1),
        liveMb.toFixed(0),
        rssMb.toFixed(0),
      ]),
    ),
  );
  console.log('\nBoth are the most that was seen; live heap is what a garbage collection leaves.\n');
}
process.exitCode = options.json
  ? exitCode(verdicts, options['no-fail'])
  : printVerdicts(verdicts, options['no-fail']);

/** Sends a text in deltas of `size`, `perSecond` of them, or as many as the reader takes. */
async function send(response: ServerResponse, answer: string, size: number, perSecond: number) {
  response.setHeader('content-type', 'text/event-stream');
  const started = performance.now();
  for (let at = 0, sent = 0; at < answer.length; ) {
    const due = ((performance.now() - started) / 1000) * perSecond + 1;
    let frames = '';
    for (; at < answer.length && sent < due && frames.length < 1_000_000; at += size, sent++)
      frames += frame({ content: answer.slice(at, at + size) }, null);
    if (response.write(frames)) await new Promise((resolve) => setTimeout(resolve, 5));
    else await new Promise((resolve) => response.once('drain', resolve));
  }
  response.end(`${frame({}, 'stop')}data: [DONE]\n\n`);
}

function frame(delta: object, finish: string | null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const chunk = { id: 'bench', object: 'chat.completion.chunk', created: 0, model: 'bench', choices };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** Words in no order that repeats, so that nothing takes the model for one that repeats itself. */
function wordsOf(length: number): string {
  let seed = 1;
  let words = '';
  while (words.length < length) {
    seed = (seed * 48_271) % 2_147_483_647;
    words += `${seed.toString(36)}${seed % 12 === 0 ? '.\n' : ' '}`;
  }
  return `${words.slice(0, length - 1)}.`;
}

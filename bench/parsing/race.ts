import { cut } from './chunks.ts';
import type { Contestant, Outcome } from './contestant.ts';
import { countIntact } from './intact.ts';
import { measure, median, type Sample } from './measure.ts';
import { figure, table } from './table.ts';
import { FEEDS, type Feed, type Row } from './targets.ts';
import type { Transcript } from './transcript.ts';

export interface RaceOptions {
  readonly transcript: Transcript;
  readonly field: readonly Contestant[];
  /** The one of the field that the others are compared with. */
  readonly ours: Contestant;
  readonly feed: Feed;
  /** Characters a chunk. */
  readonly size: number;
  readonly rounds: number;
}

/** One table: all of the field over the same chunks, in turns. */
export async function race({ transcript, field, ours, feed, size, rounds }: RaceOptions): Promise<Row[]> {
  const { text, turns, actions } = transcript;
  const bytes = Buffer.byteLength(text);
  const pieces = (feed === 'stream' ? [text] : turns).map((turn) => cut(turn, size));
  const chunks = pieces.reduce((sum, turn) => sum + turn.length, 0);
  const outcomes: Outcome[] = [];
  for (const contestant of field) outcomes.push(await contestant.run(pieces));
  const subjects = field.map((contestant) => ({ name: contestant.name, run: () => contestant.run(pieces) }));
  const progress = (line: string) =>
    process.stderr.write(`${size}-character chunks, ${FEEDS[feed]}: ${line}\n`);
  const samples = await measure(subjects, { rounds, progress });
  const own = samples[field.indexOf(ours)]!;
  return field.map((contestant, index): Row => {
    const taken = samples[index]!;
    const outcome = outcomes[index]!;
    const cpuMs = median(taken.map((sample) => sample.cpuMs));
    const ratios = taken.map((sample, round) => sample.cpuMs / own[round]!.cpuMs);
    return {
      name: contestant.name,
      feed,
      chunk: size,
      megabytesPerSecond: bytes / 1000 / cpuMs,
      nsPerChunk: (cpuMs * 1e6) / chunks,
      cpuMs,
      wallMs: median(taken.map((sample) => sample.wallMs)),
      timeToOurs: median(ratios),
      timeToOursRange: [Math.min(...ratios), Math.max(...ratios)],
      bestToOurs: quickest(taken) / quickest(own),
      ...(contestant.readsBodies ? countIntact(actions, outcome.bodies) : {}),
      ...(outcome.stopped === undefined ? {} : { stopped: outcome.stopped }),
    };
  });
}

function quickest(samples: readonly Sample[]): number {
  return Math.min(...samples.map(({ cpuMs }) => cpuMs));
}

const COLUMNS = [
  'MB/s',
  'ns a chunk',
  'wall ms',
  'time ÷ ours',
  'low–high',
  'best ÷ best',
  'bodies intact',
  'not said',
];

/** The rows of one race as a Markdown table. */
export function raceTable(title: string, rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.name,
    figure(row.megabytesPerSecond),
    figure(row.nsPerChunk),
    figure(row.wallMs),
    row.timeToOurs.toFixed(2),
    row.timeToOursRange.map((ratio) => ratio.toFixed(2)).join('–'),
    row.bestToOurs.toFixed(2),
    row.intact === undefined ? '–' : String(row.intact),
    row.phantom === undefined ? '–' : String(row.phantom),
  ]);
  return table([title, ...COLUMNS], lines);
}

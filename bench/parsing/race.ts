import { cut } from './chunks.ts';
import type { Contestant, Outcome } from './contestant.ts';
import { countIntact } from './intact.ts';
import { measure, median } from './measure.ts';
import { figure, table } from './table.ts';
import type { Row } from './targets.ts';
import type { Transcript } from './transcript.ts';

export interface RaceOptions {
  readonly transcript: Transcript;
  readonly field: readonly Contestant[];
  /** The contestant that the others are compared with. */
  readonly ours: Contestant;
  /** Characters a chunk. */
  readonly size: number;
  readonly rounds: number;
}

/** Runs all contestants over the same chunks, in turns. */
export async function race({ transcript, field, ours, size, rounds }: RaceOptions): Promise<Row[]> {
  const { text, actions } = transcript;
  const bytes = Buffer.byteLength(text);
  const pieces = [cut(text, size)];
  const outcomes: Outcome[] = [];
  for (const contestant of field) outcomes.push(await contestant.run(pieces));
  const subjects = field.map((contestant) => ({ name: contestant.name, run: () => contestant.run(pieces) }));
  const progress = (line: string) => process.stderr.write(`${size}-character chunks: ${line}\n`);
  const samples = await measure(subjects, { rounds, progress });
  const own = samples[field.indexOf(ours)]!;
  return field.map((contestant, index): Row => {
    const { bodies, stopped } = outcomes[index]!;
    if (stopped !== undefined) throw new Error(`${contestant.name} stopped: ${stopped}`);
    const taken = samples[index]!;
    const ratios = taken.map(({ cpuMs }, round) => cpuMs / own[round]!.cpuMs);
    return {
      name: contestant.name,
      chunk: size,
      megabytesPerSecond: bytes / 1000 / median(taken.map(({ cpuMs }) => cpuMs)),
      timeToOurs: median(ratios),
      timeToOursRange: [Math.min(...ratios), Math.max(...ratios)],
      ...countIntact(actions, bodies),
    };
  });
}

/** The rows of one race as a Markdown table. */
export function raceTable(size: number, rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.name,
    figure(row.megabytesPerSecond),
    row.timeToOurs.toFixed(2),
    row.timeToOursRange.map((ratio) => ratio.toFixed(2)).join('–'),
    String(row.intact),
    String(row.phantom),
  ]);
  const title = `${size} characters a chunk`;
  return table([title, 'MB/s', 'time ÷ ours', 'low–high', 'bodies intact', 'invented'], lines);
}

import { expect, it } from 'vitest';
import { type Judged, judge, type Row } from '../../../bench/parsing/targets.ts';

const row = (name: string, chunk: number, timeToOurs: number, found: Partial<Row> = {}): Row => ({
  name,
  feed: 'stream',
  chunk,
  timeToOurs,
  timeToOursRange: [timeToOurs, timeToOurs],
  bestToOurs: timeToOurs,
  megabytesPerSecond: 40,
  nsPerChunk: 100,
  cpuMs: 25,
  wallMs: 25,
  ...found,
});

/** A run whose figures are `slower` times worse for ours than one that just meets every target. */
const run = (slower: number, found: Partial<Row> = {}, hashes = ['x', 'x']): Judged => ({
  rows: [
    row('minimal', 4, 1 / 1.5 / slower),
    row('ours', 4, 1, { intact: 871, phantom: 0, ...found }),
    row('html', 4, 2 / slower),
    row('ours', 64, 1, { intact: 871, phantom: 0 }),
    row('html', 64, 3 / slower),
  ],
  ours: 'ours',
  minimal: 'minimal',
  htmlparser2: 'html',
  bodies: 871,
  fingerprints: { whole: hashes[0]!, '1 character': hashes[1]! },
});
const met = (judged: Judged) => judge(judged).map((verdict) => verdict.met);

it('a parser that is exactly as fast as the targets ask meets them all', () => {
  expect(met(run(1))).toEqual([true, true, true, true, true, true]);
});

it('a parser five percent slower misses each target of speed and no other', () => {
  expect(met(run(1.05))).toEqual([false, false, true, false, true, true]);
});

it('one body lost, or one that nobody said, misses the target of bodies', () => {
  expect(met(run(1, { intact: 870 }))).toEqual([true, true, false, true, true, true]);
  expect(met(run(1, { phantom: 1 }))).toEqual([true, true, false, true, true, true]);
});

it('events that depend on the cut miss the target of chunking', () => {
  expect(met(run(1, {}, ['x', 'y']))).toEqual([true, true, true, true, true, false]);
});

it('a target whose contestant or chunk size was left out is not judged', () => {
  const { rows, ...rest } = run(1);
  expect(judge({ ...rest, rows: rows.filter(({ name }) => name === 'ours') })).toHaveLength(3);
});

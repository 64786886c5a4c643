import { expect, it } from 'vitest';
import { exitCode } from '../../../bench/agents/verdict.ts';
import { type FleetFigures, judgeFleet } from '../../../bench/fleet/fleet-targets.ts';
import type { ContestFigures } from '../../../bench/workflows/contestant.ts';

const ran = (perSecond: number): ContestFigures => ({
  perSecond: [perSecond],
  cpuUs: [1],
  startMs: [],
  expected: 10,
  ran: 10,
});

const good: FleetFigures = {
  floor: ran(100_000),
  store: ran(40_000),
  one: ran(18_000),
  slowOne: ran(1_000),
  slowTwo: [ran(800), ran(800)],
  peers: [
    { name: 'DBOS 5.3', figures: ran(4_500) },
    { name: 'Restate 1.7', figures: ran(9_000) },
  ],
  failOver: { takenMs: [10_000], wrong: '' },
};
const code = (change: Partial<FleetFigures>) => exitCode(judgeFleet({ ...good, ...change }), false);

it('a fleet that meets each target just so is good', () => {
  expect(code({})).toBe(0);
});

it.each<[string, Partial<FleetFigures>]>([
  ['slower beside a bare loop on the same store', { store: ran(40_010) }],
  ['slower beside a peer', { peers: [{ name: 'DBOS 5.3', figures: ran(4_510) }] }],
  ['two workers that are hardly more than one', { slowTwo: [ran(799), ran(800)] }],
  ['runs that stay with a dead worker for longer', { failOver: { takenMs: [10_001], wrong: '' } }],
  ['a step that ran twice', { one: { ...ran(18_000), ran: 11 } }],
  ['a run that nobody took over', { failOver: { takenMs: [1], wrong: '1 of 2 runs' } }],
])('%s is a miss', (_, change) => {
  expect(code(change)).toBe(1);
});

it('bare inserts into one table, without owners, are told, not judged', () => {
  expect(code({ floor: ran(1_000_000) })).toBe(0);
});

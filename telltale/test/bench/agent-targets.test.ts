import { expect, it } from 'vitest';
import {
  AI_SDK,
  LANGGRAPH_SQLITE,
  OURS,
  OURS_DURABLE,
  PROBE,
  PROBE_DURABLE,
} from '../../../bench/agents/field.ts';
import { type AgentFigures, askedOfPeers, judgeAgent } from '../../../bench/agents/targets.ts';
import { exitCode, type Verdict } from '../../../bench/agents/verdict.ts';

const units = (cpuUs: number) =>
  [9 * cpuUs, cpuUs, 0.1 * cpuUs].map((each) => ({ cpuUs: each, wallUs: each }));

/** A run whose figures are `slower` times worse for ours than one that just meets every target. */
const run = (slower: number): readonly AgentFigures[] => [
  { name: OURS, steps: units(25 * slower), imports: [40 * slower] },
  {
    name: OURS_DURABLE,
    steps: units(40 * slower),
    deltas: units(slower),
    held: { heapMb: 10 * slower, rssMb: 90 },
    throughput: [{ ours: 45 / slower, bare: 100, bareByEvent: 50, bareOnStore: 100 }],
  },
  { name: PROBE, steps: units(5.4) },
  { name: PROBE_DURABLE, steps: units(9.6) },
  { name: AI_SDK, steps: units(1250), deltas: units(40), imports: [133] },
  { name: LANGGRAPH_SQLITE, steps: units(4000) },
];
const missed = (verdicts: readonly Verdict[]) => verdicts.filter(({ met }) => !met);

it('a runtime that is exactly as fast as the targets ask meets them all', () => {
  const verdicts = judgeAgent(run(1));
  expect(verdicts).toHaveLength(13);
  expect(missed(verdicts)).toEqual([]);
  expect(exitCode(verdicts, false)).toBe(0);
});

it('a runtime five percent worse misses every target', () => {
  const verdicts = judgeAgent(run(1.05));
  expect(verdicts.filter(({ met }) => met)).toEqual([]);
  expect(exitCode(verdicts, false)).toBe(1);
});

it('what was missed is printed but not failed on when the caller says so', () => {
  expect(exitCode(judgeAgent(run(2)), true)).toBe(0);
});

it('a figure for a quiet machine decides nothing where the ratio to a peer in the same run is met', () => {
  const twiceAsSlow = run(2).map((figures) =>
    figures.name === PROBE || figures.name === PROBE_DURABLE
      ? { name: figures.name, steps: units(20) }
      : figures.name === AI_SDK || figures.name === LANGGRAPH_SQLITE
        ? { name: figures.name, steps: units(8000), deltas: units(80), imports: [266] }
        : {
            ...figures,
            held: { heapMb: 9, rssMb: 90 },
            throughput: [{ ours: 50, bare: 100, bareByEvent: 50, bareOnStore: 120 }],
          },
  );
  const verdicts = judgeAgent(twiceAsSlow);
  expect(missed(verdicts).every(({ decides }) => !decides)).toBe(true);
  expect(missed(verdicts)).toHaveLength(5);
  expect(exitCode(verdicts, false)).toBe(0);
});

it('a target whose contestant was left out is not judged', () => {
  expect(judgeAgent(run(1).filter(({ name }) => name === OURS)).map(({ decides }) => decides)).toEqual([
    false,
    false,
  ]);
});

it('what the ratios to peers ask for is told in microseconds, and beside the probe', () => {
  expect(askedOfPeers(run(1))).toEqual([
    '50 times under AI SDK 7 is 25.0 µs a step: 4.63 times what the probe, in memory takes (5.4 µs).',
    '100 times under LangGraph 1.4, SQLite is 40.0 µs a step: 4.17 times what the probe, group commit takes (9.6 µs).',
  ]);
  expect(askedOfPeers(run(1).filter(({ name }) => name !== PROBE && name !== LANGGRAPH_SQLITE))).toEqual([]);
});

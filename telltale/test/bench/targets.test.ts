// A target must be able to fail: for each bench, the figures that just meet it, and figures that just miss it.
import { describe, expect, it } from 'vitest';
import { judgeEarly } from '../../../bench/agents/action-start.ts';
import { AI_SDK, LANGGRAPH_SQLITE, OURS, OURS_DURABLE } from '../../../bench/agents/field.ts';
import { type AgentFigures, judgeAgent } from '../../../bench/agents/targets.ts';
import { exitCode, type Verdict } from '../../../bench/agents/verdict.ts';
import { EMPTY, judgeCommands, RUN, SERVE } from '../../../bench/cli/targets.ts';
import { judgeFleet } from '../../../bench/fleet/fleet-targets.ts';
import { judgeGrowth } from '../../../bench/growth/targets.ts';
import { type InstallFigures, judgeInstall } from '../../../bench/install/targets.ts';
import { type Judged, judge, type Row } from '../../../bench/parsing/targets.ts';
import { judgeSse, RAW, OURS as SSE_OURS } from '../../../bench/streams/sse-targets.ts';
import { judgeTriggers } from '../../../bench/triggers/targets.ts';
import type { ContestFigures } from '../../../bench/workflows/contestant.ts';
import { judgeWorkflows, type WorkflowFigures } from '../../../bench/workflows/workflow-targets.ts';

const met = (verdicts: readonly Verdict[]) => verdicts.map((verdict) => verdict.met);

it('a missed target fails the bench, unless the caller asks for no failure', () => {
  const verdict = (isMet: boolean): Verdict => ({ target: 't', found: '1', met: isMet });
  expect(exitCode([verdict(true)], false)).toBe(0);
  expect(exitCode([verdict(true), verdict(false)], false)).toBe(1);
  expect(exitCode([verdict(false)], true)).toBe(0);
});

describe('early', () => {
  it('allows 1 ms above the p99 of a bare commit', () => {
    expect(met(judgeEarly({ starts: [3], commits: [2] }))).toEqual([true]);
    expect(met(judgeEarly({ starts: [3.01], commits: [2] }))).toEqual([false]);
  });

  it('compares the slowest one percent, not the typical start', () => {
    const starts = [...Array.from({ length: 98 }, () => 1), 9, 9];
    expect(met(judgeEarly({ starts, commits: [1] }))).toEqual([false]);
  });
});

describe('agent', () => {
  /** Each of our figures is `worse` times what the target allows. */
  const run = (worse: number): readonly AgentFigures[] => [
    { name: OURS, isPeer: false, steps: [900, 80 * worse, 1], held: { heapMb: 20 * worse } },
    { name: OURS_DURABLE, isPeer: false, steps: [160 * worse], held: { heapMb: 20 * worse } },
    { name: AI_SDK, isPeer: true, steps: [1000], held: { heapMb: 140 } },
    { name: LANGGRAPH_SQLITE, isPeer: true, steps: [2000], held: { heapMb: 40 } },
  ];

  it('allows 0.08 × the CPU of AI SDK in memory and LangGraph on SQLite, and half the memory of the best peer', () => {
    expect(met(judgeAgent(run(1)))).toEqual([true, true, true, true]);
    expect(met(judgeAgent(run(1.01)))).toEqual([false, false, false, false]);
  });

  it('does not judge a target whose peer was left out', () => {
    expect(judgeAgent(run(1).filter(({ isPeer }) => !isPeer))).toEqual([]);
  });
});

describe('parser', () => {
  const row = (name: string, chunk: number, timeToOurs: number, found: Partial<Row> = {}): Row => ({
    name,
    chunk,
    timeToOurs,
    timeToOursRange: [timeToOurs, timeToOurs],
    megabytesPerSecond: 40,
    intact: 871,
    phantom: 0,
    ...found,
  });
  const growth = { name: 'emoji', small: 1, large: 1, growth: 1, isLinear: true };
  const run = (speed: number, change: Partial<Judged> = {}, found: Partial<Row> = {}): Judged => ({
    rows: [row('ours', 4, 1, found), row('html', 4, speed), row('ours', 64, 1), row('html', 64, speed)],
    ours: 'ours',
    peer: 'html',
    bodies: 871,
    fingerprints: { whole: 'x', 'chunks of 1': 'x' },
    growths: [growth],
    ...change,
  });

  it('must not be behind htmlparser2 with its defaults', () => {
    expect(met(judge(run(1)))).toEqual([true, true, true, true, true, true]);
    expect(met(judge(run(0.99)))).toEqual([false, true, false, true, true, true]);
  });

  it('must not lose or invent a body', () => {
    expect(met(judge(run(1, {}, { intact: 870 })))[1]).toBe(false);
    expect(met(judge(run(1, {}, { phantom: 1 })))[1]).toBe(false);
  });

  it('must give the same events for every cut', () => {
    expect(met(judge(run(1, { fingerprints: { whole: 'x', 'chunks of 1': 'y' } })))[4]).toBe(false);
  });

  it('must be linear on every hostile family', () => {
    expect(met(judge(run(1, { growths: [growth, { ...growth, isLinear: false }] })))[5]).toBe(false);
    expect(met(judge(run(1, { growths: [] })))[5]).toBe(false);
  });
});

it('triggers have to be 200 × as fast as a naive loop, at 10,000', () => {
  const at = (naive: number, triggers = 10_000) =>
    met(judgeTriggers([{ triggers, fired: 1, ours: 10, naive }]));
  expect(at(2_000)).toEqual([true]);
  expect(at(1_990)).toEqual([false]);
  expect(at(1_990, 1_000)).toEqual([]);
});

const ran = (perSecond: number, steps = 10): ContestFigures => ({
  perSecond: [perSecond],
  expected: 10,
  ran: steps,
});

describe('workflows', () => {
  const judged = (ours: ContestFigures, ...peers: readonly number[]) => {
    const raced = peers.map((speed): WorkflowFigures => ({ name: 'peer', isPeer: true, ...ran(speed) }));
    return met(judgeWorkflows([{ name: 'ours', isPeer: false, ...ours }, ...raced]));
  };

  it('have to be ahead of every peer', () => {
    expect(judged(ran(500), 100, 500)).toEqual([true, true, true]);
    expect(judged(ran(499), 100, 500)).toEqual([true, true, false]);
  });

  it('must run every step once', () => {
    expect(judged(ran(500, 9), 100)[0]).toBe(false);
    expect(judged(ran(500, 11), 100)[0]).toBe(false);
  });

  it('must be measured at all', () => {
    expect(met(judgeWorkflows([]))).toEqual([false]);
  });
});

describe('fleet', () => {
  const peers = [{ name: 'DBOS', figures: ran(1_000) }];

  it('has to be ahead of every peer with one worker, and run every step once', () => {
    expect(met(judgeFleet({ one: ran(1_000), peers }))).toEqual([true, true]);
    expect(met(judgeFleet({ one: ran(999), peers }))).toEqual([true, false]);
    expect(met(judgeFleet({ one: ran(1_000, 11), peers }))).toEqual([false, true]);
  });

  it('must not lose a run of a killed worker', () => {
    const scale = {
      slowOne: ran(1),
      slowTwo: [ran(1)],
      failOver: { takenMs: [1], wrong: 'run_1 stayed where it was' },
    };
    expect(met(judgeFleet({ one: ran(1_000), peers, scale }))).toEqual([true, true, false]);
  });
});

it('streams to clients may cost 1.5 × raw responses', () => {
  const judged = (usPerEvent: number) => {
    const row = { perSecond: 100_000, p50: 25, p99: 500 };
    return judgeSse('a scene', [
      { name: RAW, usPerEvent: 2, ...row },
      { name: SSE_OURS, usPerEvent, ...row },
    ]).met;
  };
  expect(judged(3)).toBe(true);
  expect(judged(3.01)).toBe(false);
});

it('growth may make a turn or an append 1.2 × as expensive', () => {
  const judged = (ratio: number) =>
    met(
      judgeGrowth({
        turns: { earlyUs: 1, lateUs: 1, ratio },
        appends: [{ name: 'SQLite', fewUs: 1, manyUs: 1, ratio }],
      }),
    );
  expect(judged(1.2)).toEqual([true, true]);
  expect(judged(1.21)).toEqual([false, false]);
});

it('commands may take 15 × an empty program, in their best round', () => {
  const judged = (wallMs: number[]) =>
    met(
      judgeCommands([{ name: EMPTY, wallMs: [10, 30] }, ...[RUN, SERVE].map((name) => ({ name, wallMs }))]),
    );
  expect(judged([900, 150])).toEqual([true, true]);
  expect(judged([900, 151])).toEqual([false, false]);
  expect(met(judgeCommands([{ name: EMPTY, wallMs: [10] }]))).toEqual([false, false]);
});

describe('install', () => {
  const peer: InstallFigures = { name: 'peer', packages: 100, megabytes: 70, firstAnswerMs: 9_000 };
  const judged = (change: Partial<InstallFigures>, other = peer) =>
    met(judgeInstall({ ...peer, name: 'ours', megabytes: 60, ...change }, other));

  it('allows 60 MB and must not be behind the peer in any figure', () => {
    expect(judged({})).toEqual([true, true, true, true]);
    expect(judged({ megabytes: 60.1 })).toEqual([false, true, true, true]);
    expect(judged({ packages: 101 })).toEqual([true, false, true, true]);
    expect(judged({}, { ...peer, megabytes: 59.9 })).toEqual([true, true, false, true]);
    expect(judged({ firstAnswerMs: 9_001 })).toEqual([true, true, true, false]);
  });
});

import { median } from '../parsing/measure.ts';
import { AI_SDK, LANGGRAPH_SQLITE, OURS, OURS_DURABLE, PROBE, PROBE_DURABLE } from './field.ts';
import type { HeldMemory, UnitSample } from './measurements.ts';
import type { ThroughputRound } from './throughput.ts';
import { atLeast, atMost, type Verdict } from './verdict.ts';

/** What is known of one contestant; what was not measured, or failed, is absent. */
export interface AgentFigures {
  readonly name: string;
  readonly steps?: readonly UnitSample[];
  readonly deltas?: readonly UnitSample[];
  readonly held?: HeldMemory;
  /** Wall milliseconds of the import in a fresh process. */
  readonly imports?: readonly number[];
  /** Wall milliseconds from the process's start to the end of its first session. */
  readonly firsts?: readonly number[];
  readonly throughput?: readonly ThroughputRound[];
}

export const cpuOf = (samples: readonly UnitSample[]): number => median(samples.map(({ cpuUs }) => cpuUs));

/** 40 ms where the AI SDK took 133: what the target is on a machine of another speed. */
const IMPORT_TO_AI_SDK = 40 / 133;
const LEAST_OF_FLOOR = 0.45;
/** 25 µs where the probe took 5.4, and 40 durable where it took 9.6: what the targets are on a machine of another speed. */
const TO_PROBE = 25 / 5.4;
const TO_PROBE_DURABLE = 40 / 9.6;

const UNDER_AI_SDK = 50;
const UNDER_LANGGRAPH = 100;

/** What the ratios to peers leave a step in this run, and what of that the probe takes, which does nothing for it. */
export function askedOfPeers(figures: readonly AgentFigures[]): readonly string[] {
  const stepOf = (name: string) => {
    const steps = figures.find((each) => each.name === name)?.steps;
    return steps === undefined ? undefined : cpuOf(steps);
  };
  const line = (times: number, peer: string, floor: string) => {
    const [theirs, probe] = [stepOf(peer), stepOf(floor)];
    if (theirs === undefined || probe === undefined) return [];
    const left = theirs / times;
    return [
      `${times} times under ${peer} is ${left.toFixed(1)} µs a step: ${(left / probe).toFixed(2)} times what the ${floor} takes (${probe.toFixed(1)} µs).`,
    ];
  };
  return [...line(UNDER_AI_SDK, AI_SDK, PROBE), ...line(UNDER_LANGGRAPH, LANGGRAPH_SQLITE, PROBE_DURABLE)];
}

/** The targets of the agent loop, as far as what was measured can decide them. */
export function judgeAgent(figures: readonly AgentFigures[]): readonly Verdict[] {
  const of = (name: string) => figures.find((each) => each.name === name);
  const [memory, durable] = [of(OURS), of(OURS_DURABLE)];
  const [aiSdk, langGraph] = [of(AI_SDK), of(LANGGRAPH_SQLITE)];
  const verdicts: Verdict[] = [];
  for (const ours of [memory, durable]) {
    if (ours?.steps === undefined) continue;
    const own = cpuOf(ours.steps);
    const most = ours === memory ? 25 : 40;
    verdicts.push(atMost(`a step of ${ours.name} takes at most ${most} µs of CPU`, own, most, 'µs', false));
    const probe = of(ours === memory ? PROBE : PROBE_DURABLE);
    const times = ours === memory ? TO_PROBE : TO_PROBE_DURABLE;
    if (probe?.steps)
      verdicts.push(
        atMost(
          `a step of ${ours.name} takes at most ${times.toFixed(1)} times the probe’s (${most} µs to ${ours === memory ? 5.4 : 9.6})`,
          own / cpuOf(probe.steps),
          times,
          'times',
        ),
      );
    // Like with like: the AI SDK keeps no log.
    if (ours === memory && aiSdk?.steps)
      verdicts.push(
        atLeast(
          `a step of ${ours.name} is at least ${UNDER_AI_SDK} times under AI SDK 7’s`,
          cpuOf(aiSdk.steps) / own,
          UNDER_AI_SDK,
          'times',
        ),
      );
    if (ours === durable && langGraph?.steps)
      verdicts.push(
        atLeast(
          `a step of ${ours.name} is at least ${UNDER_LANGGRAPH} times under LangGraph’s with SQLite`,
          cpuOf(langGraph.steps) / own,
          UNDER_LANGGRAPH,
          'times',
        ),
      );
  }
  if (durable?.deltas) {
    const own = cpuOf(durable.deltas);
    verdicts.push(atMost('a delta takes at most 1 µs of CPU', own, 1, 'µs', false));
    if (aiSdk?.deltas)
      verdicts.push(
        atLeast('a delta is at least 40 times under AI SDK 7’s', cpuOf(aiSdk.deltas) / own, 40, 'times'),
      );
  }
  if (durable?.held)
    verdicts.push(atMost('1,000 sessions in mid-turn keep at most 10 MB', durable.held.heapMb, 10, 'MB'));
  if (memory?.imports) {
    const own = median(memory.imports);
    verdicts.push(atMost('the import takes at most 40 ms', own, 40, 'ms', false));
    if (aiSdk?.imports)
      verdicts.push(
        atMost(
          `the import takes at most ${IMPORT_TO_AI_SDK.toFixed(2)} times AI SDK 7’s (40 ms to 133)`,
          own / median(aiSdk.imports),
          IMPORT_TO_AI_SDK,
          'times',
        ),
      );
  }
  if (durable?.throughput) {
    const { throughput } = durable;
    const beside = (floor: 'bare' | 'bareOnStore') =>
      median(throughput.map((round) => round.ours / round[floor]));
    verdicts.push(
      atLeast(
        'durable steps/s are at least 0.45 times a bare group-commit loop’s',
        beside('bare'),
        LEAST_OF_FLOOR,
        'times',
      ),
      atLeast(
        'durable steps/s are at least 0.45 times those of a bare loop on the same store',
        beside('bareOnStore'),
        LEAST_OF_FLOOR,
        'times',
        false,
      ),
    );
  }
  return verdicts;
}

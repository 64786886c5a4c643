import { median } from '../parsing/measure.ts';
import { AI_SDK, LANGGRAPH_SQLITE, OURS, OURS_DURABLE } from './field.ts';
import type { HeldMemory } from './measurements.ts';
import { atMost, type Verdict } from './verdict.ts';

/** The figures of one contestant. Whatever was not measured, or failed, is absent. */
export interface AgentFigures {
  readonly name: string;
  readonly isPeer: boolean;
  /** Microseconds of CPU time per step, one for each round. */
  readonly steps?: readonly number[];
  readonly held?: HeldMemory;
}

const MOST_OF_A_STEP = 0.08;
const MOST_OF_MEMORY = 0.5;

/** The targets of the agent loop. A target is left out if one of its two figures was not measured. */
export function judgeAgent(figures: readonly AgentFigures[]): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  const stepOf = (name: string) => figures.find((each) => each.name === name)?.steps;
  for (const [name, peer] of [
    [OURS, AI_SDK],
    [OURS_DURABLE, LANGGRAPH_SQLITE],
  ] as const) {
    const [own, theirs] = [stepOf(name), stepOf(peer)];
    if (own === undefined || theirs === undefined) continue;
    verdicts.push(
      atMost(
        `a step of ${name} takes at most ${MOST_OF_A_STEP} × the CPU of ${peer}`,
        median(own) / median(theirs),
        MOST_OF_A_STEP,
        '×',
      ),
    );
  }
  const held = figures.flatMap(({ name, isPeer, held }) =>
    held === undefined ? [] : [{ name, isPeer, mb: held.heapMb }],
  );
  const best = held.filter(({ isPeer }) => isPeer).sort((a, b) => a.mb - b.mb)[0];
  if (best !== undefined)
    for (const { name, mb } of held.filter(({ isPeer }) => !isPeer))
      verdicts.push(
        atMost(
          `1,000 sessions of ${name} in mid-turn keep at most ${MOST_OF_MEMORY} × ${best.name}, the best peer`,
          mb / best.mb,
          MOST_OF_MEMORY,
          '×',
        ),
      );
  return verdicts;
}

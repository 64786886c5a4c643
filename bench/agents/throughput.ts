import { join } from 'node:path';
import { createBareLoop } from '../storing/bare-loop.ts';
import type { AgentContestant } from './contestant.ts';
import type { Folders, LoadOptions } from './measurements.ts';
import { stepScript } from './scenario.ts';

export interface ThroughputRound {
  readonly oursPerSecond: number;
  readonly barePerSecond: number;
}

/** Passes of a sample: long enough that a checkpoint of either log falls into most of them. */
const PASSES = 5;

/**
 * Steps a second of wall time, ours and the least that a durable journal can do, in turns: one row of 300 characters a
 * step, one transaction with an fsync for each step of all sessions. Ours writes some ten events a step.
 */
export async function measureThroughput(
  contestant: AgentContestant,
  { sessions, steps, rounds, handicap }: LoadOptions,
  folders: Folders,
): Promise<readonly ThroughputRound[]> {
  const agent = await contestant.open(stepScript(steps), folders());
  const bare = createBareLoop(join(folders(), 'bare.db'), sessions);
  const perSecond = async (pass: () => Promise<unknown>) => {
    const started = performance.now();
    for (let time = 0; time < PASSES; time += 1) await pass();
    return (PASSES * sessions * steps * 1000) / (performance.now() - started);
  };
  const ours = async () => {
    for (let time = 0; time < handicap; time += 1)
      await Promise.all(Array.from({ length: sessions }, () => agent.session()));
  };
  const taken: ThroughputRound[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const figures = {
      oursPerSecond: await perSecond(ours),
      barePerSecond: await perSecond(() => bare.together(steps)),
    };
    if (round >= 0) taken.push(figures);
  }
  await agent.close();
  await bare.close();
  return taken;
}

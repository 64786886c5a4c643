import type { AgentContestant, OpenAgent } from './contestant.ts';
import { charactersOf, heldScript, type Script, stepScript } from './scenario.ts';

export interface LoadOptions {
  readonly sessions: number;
  readonly steps: number;
  readonly held: number;
  readonly rounds: number;
  /** A sample repeats its pass until it has taken about this much CPU time. */
  readonly sampleMs: number;
  /** CPU time of passes that are not counted. */
  readonly warmUpMs: number;
  /** How often the work is done for each time that it counts. */
  readonly handicap: number;
}

/** What the sessions keep on the heap and outside it, after a collection. */
export interface HeldMemory {
  readonly heapMb: number;
}

/** Empty folders, one for each agent that is opened. */
export type Folders = () => string;

/** How long an agent runs before a sample of it counts: its store may have a thread that also has to warm up. */
const LEAD_MS = 1_000;

/**
 * Microseconds of CPU time per step, all threads, one figure per round. Each sample has its own agent and store, so no
 * sample pays for what the previous one left behind.
 */
export async function measureSteps(
  contestant: AgentContestant,
  options: LoadOptions,
  folders: Folders,
): Promise<readonly number[]> {
  const { sessions, steps, rounds, sampleMs, warmUpMs, handicap } = options;
  const script = stepScript(steps);
  const characters = charactersOf(script, steps + 1);
  const pass = async (agent: OpenAgent) => {
    const before = agent.calls();
    const outcomes = await Promise.all(Array.from({ length: sessions }, () => agent.session()));
    const right = outcomes.every((outcome) => outcome.characters === characters);
    const called = agent.calls() - before;
    if (!right || called !== sessions * steps)
      throw new Error(
        `${contestant.name} ran the tool ${called} times, not ${sessions * steps}, and its sessions gave ${outcomes[0]?.characters} characters, not ${characters}.`,
      );
  };

  let quickest = Number.POSITIVE_INFINITY;
  const warmUp = async (agent: OpenAgent, forMs: number) => {
    for (let spent = 0, passes = 0; passes < 2 || spent < forMs; passes += 1) {
      const cpu = process.cpuUsage();
      await pass(agent);
      const ms = cpuMs(cpu);
      spent += ms;
      quickest = Math.min(quickest, Math.max(ms, 0.01));
    }
  };
  const warm = await contestant.open(script, folders());
  await warmUp(warm, warmUpMs);
  await warm.close();
  collect();

  const passes = Math.max(1, Math.ceil(sampleMs / quickest));
  const samples: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const agent = await contestant.open(script, folders());
    await warmUp(agent, LEAD_MS);
    const cpu = process.cpuUsage();
    for (let time = 0; time < passes * handicap; time += 1) await pass(agent);
    samples.push((cpuMs(cpu) * 1000) / (passes * sessions * steps));
    await agent.close();
    collect();
  }
  return samples;
}

/** Children are started with `--expose-gc`. */
const collect = () => globalThis.gc?.();

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

/** How long the sessions may take to reach the point where the model stops. */
const PATIENCE_MS = 120_000;
const SETTLING_MS = 1000;

/** Stops the model of many sessions in the middle of their second turn and measures what they keep. */
export async function measureHeld(
  contestant: AgentContestant,
  { held, handicap }: LoadOptions,
  folders: Folders,
): Promise<HeldMemory> {
  // As many sessions as below, so that compiled code is not counted.
  const warm = await contestant.open(stepScript(1), folders());
  await Promise.all(Array.from({ length: held }, () => warm.session()));
  await warm.close();

  let release: () => void = () => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  const script = heldScript(until);
  let stopped = 0;
  const counting: Script = (turn) => {
    if (turn === 1) stopped += 1;
    return script(turn);
  };
  const agent = await contestant.open(counting, folders());
  const before = await settledMemory();
  const all = held * handicap;
  const running = Promise.all(Array.from({ length: all }, () => agent.session()));
  running.catch(() => {}); // awaited below, unless the sessions never get there
  const deadline = performance.now() + PATIENCE_MS;
  while (stopped < all) {
    if (performance.now() > deadline)
      throw new Error(`${contestant.name}: only ${stopped} of ${all} sessions came to their second turn.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const after = await settledMemory();
  release();
  await running;
  await agent.close();
  return { heapMb: after - before };
}

async function settledMemory(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
  for (let time = 0; time < 3; time += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

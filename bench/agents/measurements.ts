import type { AgentContestant, OpenAgent } from './contestant.ts';
import { charactersOf, deltaScript, heldScript, type Script, stepScript } from './scenario.ts';

export interface LoadOptions {
  readonly sessions: number;
  readonly steps: number;
  readonly deltas: number;
  readonly held: number;
  readonly rounds: number;
  /** A sample repeats its pass until it has taken about this much CPU time. */
  readonly sampleMs: number;
  /** CPU time of passes that are not counted. */
  readonly warmUpMs: number;
  /** How often the work is done for each time that it counts. */
  readonly handicap: number;
}

/** Of one unit of work: a step, or a delta. */
export interface UnitSample {
  /** Microseconds of CPU time, all threads. */
  readonly cpuUs: number;
  readonly wallUs: number;
}

export interface HeldMemory {
  /** What the sessions keep on the heap and beside it, after a collection. */
  readonly heapMb: number;
  readonly rssMb: number;
}

/** Empty folders, one for each agent that is opened. */
export type Folders = () => string;

export const measureSteps = (contestant: AgentContestant, options: LoadOptions, folders: Folders) =>
  sampleUnits(contestant, stepScript(options.steps), options.steps, options, folders);

export const measureDeltas = (contestant: AgentContestant, options: LoadOptions, folders: Folders) =>
  sampleUnits(contestant, deltaScript(options.deltas), options.deltas, options, folders);

/** How long an agent runs before a sample of it counts: its store may have a thread of its own, which has to warm up, too. */
const LEAD_MS = 1_000;

/**
 * Each sample has an agent and a store of its own, so that none pays for what the one before has left. That is collected,
 * too: a store in memory keeps all that it was given, and in a process that had grown to 1.7 GB a scavenge of as many
 * bytes took 5.5 ms in one sample and 12.5 in the next.
 */
async function sampleUnits(
  contestant: AgentContestant,
  script: Script,
  units: number,
  options: LoadOptions,
  folders: Folders,
): Promise<readonly UnitSample[]> {
  const { sessions, rounds, sampleMs, warmUpMs, handicap } = options;
  const calls = script(0).call === undefined ? 0 : units;
  const characters = charactersOf(script, calls + 1);
  const pass = async (agent: OpenAgent) => {
    const before = agent.calls();
    const outcomes = await Promise.all(Array.from({ length: sessions }, () => agent.session()));
    const right = outcomes.every((outcome) => outcome.characters === characters);
    const called = agent.calls() - before;
    if (!right || called !== sessions * calls)
      throw new Error(
        `${contestant.name} ran the tool ${called} times, not ${sessions * calls}, and its sessions gave ${outcomes[0]?.characters} characters, not ${characters}.`,
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
  const samples: UnitSample[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const agent = await contestant.open(script, folders());
    await warmUp(agent, LEAD_MS);
    const wall = performance.now();
    const cpu = process.cpuUsage();
    for (let time = 0; time < passes * handicap; time += 1) await pass(agent);
    const per = 1000 / (passes * sessions * units);
    samples.push({ cpuUs: cpuMs(cpu) * per, wallUs: (performance.now() - wall) * per });
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

/** How long the sessions may take to get to where the model stops. */
const PATIENCE_MS = 120_000;
const SETTLING_MS = 1000;

/** Stops the model of many sessions in the middle of their second turn and looks at what they hold. */
export async function measureHeld(
  contestant: AgentContestant,
  { held, handicap }: LoadOptions,
  folders: Folders,
): Promise<HeldMemory> {
  // As many as are held below: the code that the engine compiles for them is kept however many there are.
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
  running.catch(() => {}); // heard below, unless the sessions never get there
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
  return { heapMb: after.heapMb - before.heapMb, rssMb: after.rssMb - before.rssMb };
}

async function settledMemory(): Promise<HeldMemory> {
  await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
  for (let time = 0; time < 3; time += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapMb: (heapUsed + external) / 1e6, rssMb: rss / 1e6 };
}

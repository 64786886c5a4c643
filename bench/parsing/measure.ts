export interface Sample {
  /** CPU time of the whole process for one pass, user and system, in milliseconds. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

export interface Subject {
  readonly name: string;
  run(): unknown;
}

export interface MeasureOptions {
  readonly rounds: number;
  /** A sample repeats its subject until it has taken about this long: well above the timer's noise. */
  readonly sampleMs?: number;
  /** CPU time of passes that are not counted; a big parser is still being optimised after a second. */
  readonly warmUpMs?: number;
  readonly progress?: (line: string) => void;
}

/**
 * Warms every subject up, then takes one sample of each in every round, starting one further on in each round: drift of
 * a noisy machine hits all alike, and nobody always runs in the wake of the same neighbour. A pass before each sample is
 * not counted: it finds the caches as the neighbour left them. Garbage is left to the engine; a forced collection
 * would also throw away optimised code, which it does far less often in a server.
 */
export async function measure(
  subjects: readonly Subject[],
  options: MeasureOptions,
): Promise<readonly Sample[][]> {
  const { rounds, sampleMs = 120, warmUpMs = 1500, progress = () => {} } = options;
  const quickest: number[] = [];
  for (const subject of subjects) quickest.push(await warmUp(subject, warmUpMs));
  progress('warmed up');
  const samples: Sample[][] = subjects.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (let step = 0; step < subjects.length; step += 1) {
      const index = (round + step) % subjects.length;
      const subject = subjects[index]!;
      if (quickest[index]! < sampleMs) await subject.run();
      samples[index]!.push(await sample(subject, Math.ceil(sampleMs / quickest[index]!)));
    }
    progress(`round ${round + 1} of ${rounds}`);
  }
  return samples;
}

/** Returns the milliseconds of CPU time of the quickest pass. */
async function warmUp(subject: Subject, warmUpMs: number): Promise<number> {
  let spent = 0;
  let quickest = Number.POSITIVE_INFINITY;
  for (let pass = 0; pass < 2 || spent < warmUpMs; pass += 1) {
    const { cpuMs } = await sample(subject, 1);
    spent += cpuMs;
    quickest = Math.min(quickest, Math.max(cpuMs, 0.01));
  }
  return quickest;
}

async function sample(subject: Subject, repeats: number): Promise<Sample> {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  for (let pass = 0; pass < repeats; pass += 1) await subject.run();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1000 / repeats, wallMs: (performance.now() - wall) / repeats };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

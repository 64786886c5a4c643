import { seeded } from '../recovery/seeded.ts';

/** What can happen. */
export type FaultKind =
  | 'kill'
  | 'stop'
  | 'term'
  | 'clock'
  | 'cut-one'
  | 'cut-all'
  | 'refuse'
  | 'half-open'
  | 'delay'
  | 'trickle'
  | 'database-fast'
  | 'database-immediate'
  | 'disk-full'
  | 'lock';

export const FAULTS: Readonly<Record<FaultKind, string>> = {
  kill: 'a worker is killed (SIGKILL)',
  stop: 'a worker is stopped (SIGSTOP) and goes on later (SIGCONT), mostly beyond its lease',
  term: 'a worker is told to end (SIGTERM): it hands over what it has',
  clock: "a worker's clock is set forward or back by minutes, then right again",
  'cut-one': 'one connection to the database is cut',
  'cut-all': 'all connections of a worker are cut',
  refuse: 'connections of a worker are cut, and refused for a while',
  'half-open': 'connections stay open, and questions or answers are lost',
  delay: 'what goes over the network comes late',
  trickle: 'what goes over the network comes a few bytes at a time',
  'database-fast': 'the database is restarted (fast)',
  'database-immediate': 'the database is restarted (immediate: as if it crashed)',
  'disk-full': 'the disk of the store is full for a while',
  lock: 'the store is locked by another process for a while: a slow disk',
};

export type HomeKind = 'sqlite' | 'postgres';

/** How often a kind comes up, of so many. */
const SHARES: Readonly<Record<HomeKind, Readonly<Partial<Record<FaultKind, number>>>>> = {
  sqlite: { kill: 5, stop: 2, term: 2, clock: 2, 'disk-full': 2, lock: 2 },
  postgres: {
    kill: 5,
    stop: 3,
    term: 2,
    clock: 2,
    'cut-one': 2,
    'cut-all': 2,
    refuse: 2,
    'half-open': 3,
    delay: 2,
    trickle: 1,
    'database-fast': 1,
    'database-immediate': 1,
  },
};

/** One fault: what, to whom, when, for how long. */
export interface Fault {
  /** From 1 on. */
  readonly n: number;
  readonly kind: FaultKind;
  readonly worker: number;
  /** It comes when the journal has grown by so many lines since the fault before. */
  readonly after: number;
  /** Until it is lifted: the process goes on or is started again, the line is calm, the clock is right. */
  readonly ms: number;
  /** From 0 to below 1: which connection, which direction, how far the clock is set. */
  readonly detail: number;
}

export interface FaultPlan {
  readonly seed: number;
  readonly faults: number;
  readonly home: HomeKind;
  readonly workers: number;
  /** How long a silent worker counts as alive. */
  readonly leaseMs: number;
  /** Those that cannot be had here. */
  readonly without?: readonly FaultKind[];
}

export const kindsOf = (home: HomeKind, without: readonly FaultKind[] = []): readonly FaultKind[] =>
  (Object.keys(SHARES[home]) as FaultKind[]).filter((kind) => !without.includes(kind));

/** The same plan for the same seed. Every kind comes before any comes twice as often as its share. */
export function planFaults({ seed, faults, home, workers, leaseMs, without }: FaultPlan): readonly Fault[] {
  const random = seeded(seed);
  const kinds = kindsOf(home, without);
  const plan: Fault[] = [];
  let deck: FaultKind[] = shuffled(kinds, random);
  while (plan.length < faults) {
    for (const kind of deck.slice(0, faults - plan.length))
      plan.push({
        n: plan.length + 1,
        kind,
        worker: Math.floor(random() * workers),
        after: Math.floor(random() * 14),
        ms: lasts(kind, leaseMs, random),
        detail: random(),
      });
    // Beyond the first of each, as often as their shares say.
    deck = shuffled(
      kinds.flatMap((kind) => Array.from({ length: SHARES[home][kind] ?? 0 }, () => kind)),
      random,
    );
  }
  return plan;
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const all = [...items];
  for (let left = all.length; left > 1; left--) {
    const at = Math.floor(random() * left);
    const [last, other] = [all[left - 1] as Item, all[at] as Item];
    [all[left - 1], all[at]] = [other, last];
  }
  return all;
}

function lasts(kind: FaultKind, leaseMs: number, random: () => number): number {
  const between = (from: number, to: number) => Math.round(from + random() * (to - from));
  switch (kind) {
    case 'kill':
      return between(0, 800);
    case 'stop':
      return random() < 0.7 ? between(leaseMs * 1.2, leaseMs * 2) : between(50, 600);
    case 'term':
      return between(0, 300);
    case 'clock':
      return between(300, 2_000);
    case 'cut-one':
    case 'cut-all':
    case 'database-fast':
    case 'database-immediate':
      return 0;
    case 'refuse':
    case 'half-open':
      return between(200, leaseMs * 1.6);
    case 'delay':
    case 'trickle':
      return between(500, 2_500);
    case 'disk-full':
      return between(200, 1_500);
    case 'lock':
      return between(200, 2_500);
  }
}

import { type Breach, INVARIANTS, type Invariant } from './evidence.ts';
import { type LabRound, labRound } from './lab-round.ts';
import { FAULTS, type FaultKind, type HomeKind } from './plan-faults.ts';

/** One store and one fleet go through so many at the most: then all is checked, and the next begins anew. */
const FAULTS_A_ROUND = 40;

export interface SpendOptions {
  readonly home: HomeKind;
  readonly seed: number;
  readonly faults: number;
  readonly workers: number;
  readonly print: (line: string) => void;
}

/** What was given and what was checked, over all rounds. */
export interface Spent {
  readonly rounds: readonly LabRound[];
  readonly failed: readonly LabRound[];
}

/** Sends one fleet after another through faults until so many were given. Goes on behind a round that failed. */
export async function spendFaults({ home, seed, faults, workers, print }: SpendOptions): Promise<Spent> {
  const rounds: LabRound[] = [];
  for (let given = 0; given < faults; ) {
    const count = Math.min(FAULTS_A_ROUND, faults - given);
    const own = seed + rounds.length;
    const round = await labRound({
      seed: own,
      faults: count,
      home,
      workers,
      onProgress: (line) => print(`  ${home} ${own}  ${line}`),
    });
    rounds.push(round);
    given += count;
    print(roundText(home, round, workers, count));
  }
  return { rounds, failed: rounds.filter(({ folder }) => folder !== undefined) };
}

/** Of so many breaches all are told; the rest is in the round's folder. */
const SHOWN = 12;

function roundText(home: HomeKind, round: LabRound, workers: number, faults: number): string {
  const { seed, verdict, streams, events, effects, interrupted, seconds, oddities, folder } = round;
  const lines = [
    `${folder === undefined ? '✓' : '✗'} ${home} seed ${seed}: ${sum(round.given)} faults, ${streams} sessions and runs, ${events} events, ${effects} effects, ${interrupted} interrupted, ${seconds.toFixed(0)} s`,
    ...oddities.map((each) => `    ${each}`),
    ...verdict.breaches.slice(0, SHOWN).map(breachText),
  ];
  if (verdict.breaches.length > SHOWN) lines.push(`    and ${verdict.breaches.length - SHOWN} more`);
  if (folder !== undefined) lines.push(whereToLook(home, seed, workers, faults, folder));
  return lines.join('\n');
}

const breachText = ({ invariant, about }: Breach): string =>
  `    ✗ not so: ${INVARIANTS[invariant]} (${invariant})\n      ${about.slice(0, 400)}`;

const whereToLook = (home: HomeKind, seed: number, workers: number, faults: number, folder: string): string =>
  [
    `    What is left of it: ${folder}`,
    '      journal.jsonl   what tools did, in order     streams/*.jsonl   each log, as it is in the end',
    '      logs/*.log      what processes said          breaches.json     all that did not hold',
    ...(home === 'sqlite'
      ? ['      store/store.db  the store: telltale show SESSION --store sqlite:store/store.db']
      : []),
    `    The same plan again: npm run lab -- ${home === 'sqlite' ? 'sqlite' : 'fleet'} --seed ${seed} --faults ${faults} --workers ${workers}`,
  ].join('\n');

const sum = (counts: Readonly<Partial<Record<string, number>>>): number =>
  Object.values(counts).reduce<number>((all, count) => all + (count ?? 0), 0);

/** How often each kind of fault came, and how often each invariant was looked at. */
export function spentText(rounds: readonly LabRound[]): string {
  const total = (of: (round: LabRound) => number) => rounds.reduce((all, round) => all + of(round), 0);
  const faults = (Object.keys(FAULTS) as FaultKind[]).map(
    (kind) => [kind, total(({ given }) => given[kind] ?? 0), FAULTS[kind]] as const,
  );
  const invariants = (Object.keys(INVARIANTS) as Invariant[]).map((name) => {
    const broken = total(
      ({ verdict }) => verdict.breaches.filter(({ invariant }) => invariant === name).length,
    );
    const checked = total(({ verdict }) => verdict.checked[name]);
    return [name, checked, `${INVARIANTS[name]}${broken === 0 ? '' : `: not so ${broken} times`}`] as const;
  });
  return [
    `${total(({ given }) => sum(given))} faults in ${rounds.length} rounds, ${total(({ streams }) => streams)} sessions and runs, ${total(({ effects }) => effects)} effects:`,
    ...table(faults.filter(([, count]) => count > 0)),
    'What was looked at, and how often:',
    ...table(invariants),
  ].join('\n');
}

const table = (rows: readonly (readonly [string, number, string])[]): readonly string[] => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, count, text]) => `  ${name.padEnd(width)} ${String(count).padStart(7)}  ${text}`);
};

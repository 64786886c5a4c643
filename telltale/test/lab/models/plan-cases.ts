import { createHash } from 'node:crypto';
import type { LabCase, Planned } from './lab-case.ts';
import { MISTAKES, mistakeOf } from './mistakes.ts';
import { DIALECTS, type Dialect } from './move.ts';
import { type Spoken, taskOf } from './run-case.ts';
import { WIRES } from './stand-in.ts';
import { TASKS } from './tasks/tasks.ts';
import type { ProviderName } from './words.ts';

const PROVIDERS = Object.keys(WIRES) as readonly ProviderName[];

export interface Selection {
  readonly tasks: readonly string[];
  readonly dialects: readonly Dialect[];
  readonly providers: readonly ProviderName[];
  readonly mistakes: readonly string[];
  readonly seed: number;
}

export const EVERYTHING: Omit<Selection, 'seed'> = {
  tasks: TASKS.map(({ name }) => name),
  dialects: DIALECTS,
  providers: PROVIDERS,
  mistakes: MISTAKES.map(({ name }) => name),
};

/** What a faultless model said, turn by turn: where mistakes can be made. */
export type Trace = readonly Spoken[];

const traceKey = (task: string, dialect: Dialect) => `${task} ${dialect}`;
export type Traces = ReadonlyMap<string, Trace>;

/** One run without mistakes for each task, dialect and provider. */
export const faultlessCases = ({ tasks, dialects, providers, seed }: Selection): readonly LabCase[] =>
  tasks.flatMap((task) =>
    dialects.flatMap((dialect) =>
      providers.map((provider) => withSeed({ task, dialect, provider, mistakes: [] }, seed)),
    ),
  );

/** Traces of these runs; of several providers one, since they say the same. */
export function tracesOf(runs: readonly { readonly case: LabCase; readonly spoken: Trace }[]): Traces {
  return new Map(runs.map(({ case: { task, dialect }, spoken }) => [traceKey(task, dialect), spoken]));
}

/** Every mistake at every turn at which it can be made; the providers take turns. */
export function singleCases(selection: Selection, traces: Traces): readonly LabCase[] {
  const found: LabCase[] = [];
  for (const dialect of selection.dialects)
    for (const task of selection.tasks)
      for (const mistake of selection.mistakes)
        for (const [index] of (traces.get(traceKey(task, dialect)) ?? []).entries()) {
          const planned = { mistake, turn: index + 1 };
          const fitting = selection.providers.filter((provider) =>
            canBeMade(planned, { task, dialect, provider }, traces),
          );
          const provider = fitting[found.length % fitting.length];
          if (provider === undefined) continue;
          found.push(withSeed({ task, dialect, provider, mistakes: [planned] }, selection.seed));
        }
  return found;
}

const PRIME = 31;

/** Of each row of the table in each dialect one run, of another task and turn each. */
export function oneOfEachRow(cases: readonly LabCase[]): readonly LabCase[] {
  const groups = new Map<string, LabCase[]>();
  for (const each of cases) {
    const key = `${each.dialect} ${each.mistakes.map(({ mistake }) => mistakeOf(mistake)?.row).join()}`;
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].flatMap((group, index) => group[(index * PRIME) % group.length] ?? []);
}

/** Pairs of mistakes of one task, drawn by the seed: of one turn or of two. */
export function pairCases(
  selection: Selection,
  singles: readonly LabCase[],
  count: number,
): readonly LabCase[] {
  const draw = drawing(selection.seed);
  return selection.dialects.flatMap((dialect) => {
    const own = singles.filter((each) => each.dialect === dialect);
    const found: LabCase[] = [];
    const known = new Set<string>();
    for (let tries = 0; found.length < count && tries < count * 20; tries++) {
      const first = own[draw(own.length)];
      const others = own.filter(
        ({ task, mistakes }) => task === first?.task && mistakes[0]?.mistake !== first.mistakes[0]?.mistake,
      );
      const second = others[draw(others.length)];
      if (first === undefined || second === undefined) break;
      const mistakes = [...first.mistakes, ...second.mistakes].sort((a, b) => a.turn - b.turn);
      const key = JSON.stringify([first.task, mistakes]);
      // Arguments that are text on the wire take every mistake.
      const provider = [second, first].find(({ provider: name }) => WIRES[name].hasRawArguments)?.provider;
      if (known.has(key)) continue;
      known.add(key);
      found.push(
        withSeed(
          { task: first.task, dialect, provider: provider ?? first.provider, mistakes },
          selection.seed,
        ),
      );
    }
    return found;
  });
}

function canBeMade(
  { mistake, turn }: Planned,
  { task, dialect, provider }: Pick<LabCase, 'task' | 'dialect' | 'provider'>,
  traces: Traces,
): boolean {
  const spoken = traces.get(traceKey(task, dialect))?.[turn - 1];
  const made = MISTAKES.find(({ name }) => name === mistake);
  if (spoken === undefined || made === undefined) return false;
  const moment = { dialect, wire: WIRES[provider], task: taskOf(task, 0), view: spoken.view, turn };
  return made.make(spoken.faultless, moment) !== undefined;
}

/** Each run has facts of its own, which follow from the seed. */
function withSeed(labCase: Omit<LabCase, 'seed'>, seed: number): LabCase {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, labCase]))
    .digest();
  return { ...labCase, seed: digest.readUInt32BE(0) % 1_000_000 };
}

/** Whole numbers below a limit, always the same ones for a seed. */
function drawing(seed: number): (below: number) => number {
  let drawn = 0;
  return (below) =>
    createHash('sha256').update(`${seed}:${drawn++}`).digest().readUInt32BE(0) % Math.max(1, below);
}

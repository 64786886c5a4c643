import { explore, runThese } from '../../telltale/test/lab/models/explore.ts';
import { isWell } from '../../telltale/test/lab/models/judge.ts';
import type { LabCase, Planned } from '../../telltale/test/lab/models/lab-case.ts';
import { EVERYTHING, type Selection } from '../../telltale/test/lab/models/plan-cases.ts';
import { allHold, tableOf } from '../../telltale/test/lab/models/table.ts';

export interface TryingModels {
  readonly seed: number;
  readonly seconds: number;
  readonly pairs: number;
  readonly dialect: string | undefined;
  readonly task: string | undefined;
  readonly provider: string | undefined;
  readonly mistake: string | undefined;
  readonly print: (line: string) => void;
}

/** Whether everything went as it has to. */
export async function tryModels(options: TryingModels): Promise<boolean> {
  const { seed, seconds, mistake = '', print } = options;
  const selected = {
    tasks: chosen('task', options.task, EVERYTHING.tasks),
    dialects: chosen('dialect', options.dialect, EVERYTHING.dialects),
    providers: chosen('provider', options.provider, EVERYTHING.providers),
  };
  if (mistake === 'none' || mistake.includes('@')) return repeat({ ...selected, seed, mistake, print });
  const mistakes = chosen('mistake', options.mistake, EVERYTHING.mistakes);
  print(`models: seed ${seed}, ${selected.providers.join(', ')}`);
  const started = performance.now();
  const secondsSince = () => (performance.now() - started) / 1000;
  const { verdicts, left } = await explore({
    ...selected,
    mistakes,
    seed,
    print,
    pairs: options.pairs,
    hasTime: () => secondsSince() < seconds,
  });
  for (const dialect of selected.dialects) print(`\n${dialect}\n\n${tableOf(dialect, verdicts)}`);
  print(`\n${verdicts.length} sessions in ${secondsSince().toFixed(0)} s, seed ${seed}`);
  if (left > 0) print(`✗ There was no time for ${left} more: give them --seconds, or choose fewer.`);
  return left === 0 && allHold(verdicts);
}

/** The runs of one task, dialect and provider (or of several) with just these mistakes and facts. */
async function repeat({
  tasks,
  dialects,
  providers,
  seed,
  mistake,
  print,
}: Omit<Selection, 'mistakes'> & { readonly mistake: string; readonly print: (line: string) => void }) {
  const mistakes = mistake === 'none' ? [] : mistake.split(',').map(readPlanned);
  const cases: readonly LabCase[] = tasks.flatMap((task) =>
    dialects.flatMap((dialect) => providers.map((provider) => ({ task, dialect, provider, mistakes, seed }))),
  );
  const verdicts = await runThese(cases, { print });
  for (const verdict of verdicts) {
    const { task, dialect, provider } = verdict.case;
    const made = verdict.isMade ? '' : ', not every mistake could be made';
    const how = isWell(verdict) ? 'well' : 'wrong';
    print(`${task} in ${dialect} over ${provider}: ${how}, ${verdict.extra} extra turns${made}`);
  }
  return verdicts.every(isWell);
}

function readPlanned(text: string): Planned {
  const [mistake = '', turn = ''] = text.split('@');
  chosen('mistake', mistake, EVERYTHING.mistakes);
  if (!/^[1-9]\d?$/.test(turn))
    throw new Error(`--mistake has "${text}". Write NAME@TURN, where TURN counts from 1.`);
  return { mistake, turn: Number(turn) };
}

function chosen<Name extends string>(
  option: string,
  given: string | undefined,
  all: readonly Name[],
): readonly Name[] {
  if (given === undefined) return all;
  return given.split(',').map((name) => {
    const found = all.find((each) => each === name);
    if (found === undefined) throw new Error(`--${option} has "${name}". It takes: ${all.join(', ')}.`);
    return found;
  });
}

import { isWell, type Verdict } from './judge.ts';
import { mistakeOf, ROWS } from './mistakes.ts';
import { DIALECTS, type Dialect } from './move.ts';

/** Of pairs of mistakes, the part that has to come to the same end. */
const PAIRS_SAME = 0.95;

const HEAD = [
  '| the model … | runs | extra turns, worst | mean | must be | same outcome | ran that must not |',
  '| --- | --: | --: | --: | --: | --: | --: |',
];

/** The table of one dialect, as Markdown. */
export function tableOf(dialect: Dialect, verdicts: readonly Verdict[]): string {
  const own = verdicts.filter((each) => each.case.dialect === dialect);
  const lines = [line('makes no mistake', '0', without(own))];
  for (const [row, { label, target }] of Object.entries(ROWS)) {
    const runs = own.filter(
      ({ case: { mistakes } }) => mistakes.length === 1 && mistakeOf(mistakes[0]?.mistake ?? '')?.row === row,
    );
    lines.push(line(label, target, runs));
  }
  lines.push(line('makes two mistakes', '–', pairs(own)));
  return [...HEAD, ...lines.filter((each) => each !== undefined)].join('\n');
}

const without = (verdicts: readonly Verdict[]) =>
  verdicts.filter(({ case: { mistakes } }) => mistakes.length === 0);
const pairs = (verdicts: readonly Verdict[]) =>
  verdicts.filter(({ case: { mistakes } }) => mistakes.length > 1);

function line(label: string, target: string, runs: readonly Verdict[]): string | undefined {
  if (runs.length === 0) return undefined;
  const extras = runs.map(({ extra }) => extra);
  const mean = extras.reduce((sum, each) => sum + each, 0) / runs.length;
  const forbidden = runs.reduce((sum, each) => sum + each.forbidden.length, 0);
  const mark = holds(runs) ? '' : ' ✗';
  return `| ${label}${mark} | ${runs.length} | ${Math.max(...extras)} | ${mean.toFixed(2)} | ${target} | ${percent(sameShare(runs))} | ${forbidden} |`;
}

const sameShare = (runs: readonly Verdict[]): number =>
  runs.filter(({ isSame }) => isSame).length / Math.max(1, runs.length);

const percent = (share: number): string => `${Math.floor(share * 1000) / 10} %`;

/** Whether runs of one row are as they must be. */
function holds(runs: readonly Verdict[]): boolean {
  const isPair = runs.some(({ case: { mistakes } }) => mistakes.length > 1);
  if (!isPair) return runs.every(isWell);
  return (
    sameShare(runs) >= PAIRS_SAME &&
    runs.every(({ forbidden, problems }) => forbidden.length === 0 && problems.length === 0)
  );
}

/** Whether the laboratory's promises hold in every dialect. */
export function allHold(verdicts: readonly Verdict[]): boolean {
  const singles = verdicts.filter(({ case: { mistakes } }) => mistakes.length <= 1);
  const paired = DIALECTS.map((dialect) => pairs(verdicts).filter((each) => each.case.dialect === dialect));
  return singles.every(isWell) && paired.every((runs) => runs.length === 0 || holds(runs));
}

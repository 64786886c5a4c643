import type { Palette } from '../../manifest/palette.ts';
import type { RunResult } from '../../session/runs/run-types.ts';
import { brief } from '../view/brief.ts';
import { costText, countText, spanText } from '../view/figures.ts';
import { harmlessLines } from '../view/harmless.ts';
import { jsonText } from '../view/json-line.ts';
import { jsonRows } from '../view/json-rows.ts';

/** What a run took, as far as it was seen here. */
export interface RunTotals {
  readonly steps: number;
  readonly ms: number;
  readonly cost_usd: number;
}

const SIGNS: Readonly<Record<RunResult['status'], { readonly sign: string; readonly paint: keyof Palette }>> =
  {
    completed: { sign: '✓', paint: 'green' },
    failed: { sign: '✗', paint: 'red' },
    waiting: { sign: '…', paint: 'yellow' },
    cancelled: { sign: '–', paint: 'yellow' },
    interrupted: { sign: '–', paint: 'yellow' },
  };

/** Lines of an output: --json and --quiet show all. */
const MAX_LINES = 20;
const MAX_COLUMNS = 400;

const isColored = (paint: Palette): boolean => paint.bold('x') !== 'x';

/** The last lines of a run of a workflow: how it ended, what it took, what came of it. */
export function closingRunLines(
  { status, output }: RunResult,
  { steps, ms, cost_usd }: RunTotals,
  paint: Palette,
  columns = MAX_COLUMNS,
): readonly string[] {
  const { sign, paint: colour } = SIGNS[status];
  const parts = [countText(steps, 'step'), ...(cost_usd > 0 ? [costText(cost_usd)] : []), spanText(ms)];
  const lines = [`${paint[colour](`${sign} ${status}`)}  ${parts.join(' · ')}`];
  if (status !== 'completed' || output === undefined || output === null) return lines;
  const folded = { paint, more: '--json shows all' };
  const rows =
    isColored(paint) && typeof output !== 'string' ? jsonRows(output, columns, MAX_LINES, folded) : undefined;
  if (rows !== undefined) return [...lines, ...rows];
  const text = harmlessLines(typeof output === 'string' ? output : jsonText(output, 2).trimEnd());
  const more = text.length - MAX_LINES;
  return [
    ...lines,
    ...text.slice(0, MAX_LINES).map((line) => line.match(/^ */)?.[0] + brief(line, columns)),
    ...(more > 0 ? [paint.dim(`… ${countText(more, 'more line')}: --json shows all`)] : []),
  ];
}

import type { SessionEvent } from '../../events/event.ts';
import {
  createStateMetrics,
  type FieldMetrics,
  type ValueChange,
  type ValueMetrics,
} from '../../events/state-metrics.ts';
import type { Json } from '../../kernel/json.ts';
import type { Palette } from '../../manifest/palette.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { brief } from './brief.ts';
import { costText, countText, spanText, timeText } from './figures.ts';
import { jsonText } from './json-line.ts';
import { type Column, tableLines } from './table.ts';

const DEFAULT_COLUMNS = 100;
/** Changes that are shown, at the most: the newest. */
const MAX_CHANGES = 20;
const VALUE_COLUMNS = 40;
const BY_COLUMNS = 30;

const HEAD: readonly Column[] = [
  { title: 'value', gives: true },
  { title: 'entries', align: 'right' },
  { title: 'time', align: 'right' },
  { title: 'turns', align: 'right' },
  { title: 'tokens', align: 'right' },
  { title: 'cost', align: 'right' },
];

/** What `show --states` prints of a log. */
export async function statesText(
  events: AsyncIterable<SessionEvent>,
  { json }: { readonly json?: true },
  stdout: Io['stdout'],
): Promise<string> {
  const metrics = createStateMetrics();
  for await (const event of events) metrics.add(event);
  const fields = metrics.fields();
  if (json === true) return jsonText({ states: fields }, 2);
  const options = { columns: stdout.columns ?? DEFAULT_COLUMNS, paint: paletteFor(stdout) };
  return `${statesLines(fields, options).join('\n')}\n`;
}

/** For each enum field of the metadata: what the session spent in each of its values, and when it changed. */
export function statesLines(
  fields: readonly FieldMetrics[],
  { columns, paint }: { readonly columns: number; readonly paint: Palette },
): readonly string[] {
  if (fields.length === 0) return ["The agent's metadata has no enum field: there are no states to count."];
  return fields.flatMap((field, at) => [
    ...(at === 0 ? [] : ['']),
    `${paint.bold(brief(field.field, columns))} ${paint.dim(`is ${nameOf(field.value)}`)}`,
    ...tableLines(HEAD, field.values.map(cellsOf), {
      columns: columns - 2,
      paint: (text, row) => (row === -1 ? paint.dim(text) : text),
    }).map((line) => `  ${line}`),
    ...historyLines(field, paint).map((line) => `  ${line}`),
  ]);
}

const cellsOf = ({ value, entries, ms, turns, input, output, cost_usd }: ValueMetrics): readonly string[] => [
  nameOf(value),
  String(entries),
  spanText(ms),
  String(turns),
  `${input.toLocaleString('en')} + ${output.toLocaleString('en')}`,
  cost_usd > 0 ? costText(cost_usd) : '–',
];

function historyLines({ history, older }: FieldMetrics, paint: Palette): readonly string[] {
  const more = older + Math.max(0, history.length - MAX_CHANGES);
  return [
    ...(more > 0 ? [paint.dim(`… ${countText(more, 'older change')}`)] : []),
    ...history.slice(-MAX_CHANGES).map((change) => changeLine(change, paint)),
  ];
}

const changeLine = ({ at, seq, turn, from, to, by }: ValueChange, paint: Palette): string =>
  `${paint.dim(timeText(at))}  ${nameOf(from)} → ${nameOf(to)}  ${paint.dim(`turn ${turn}, event ${seq}, by ${brief(by, BY_COLUMNS)}`)}`;

const nameOf = (value: Json): string => (value === null ? '(unset)' : brief(value, VALUE_COLUMNS));

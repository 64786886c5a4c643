import type { StreamInfo } from '../../store/store.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { brief } from '../view/brief.ts';
import { agoText } from '../view/figures.ts';
import { paintStatus, shownStatus } from '../view/status.ts';
import { type Column, tableLines } from '../view/table.ts';

/** A list of sessions or of runs. */
export interface StreamTable {
  /** What the first two columns and the last one are called. */
  readonly titles: readonly [id: string, name: string, last: string];
  readonly rows: readonly StreamRow[];
  readonly areMore: boolean;
}

export interface StreamRow {
  readonly info: StreamInfo;
  /** How deep it stands below others. */
  readonly depth?: number;
  readonly last: string;
}

const STATUS_COLUMN = 2;
const MAX_CELL = 200;

export async function printStreams(
  { titles, rows, areMore }: StreamTable,
  { stdout, clock }: Io,
): Promise<void> {
  const [id, name, last] = titles;
  const columns: readonly Column[] = [
    { title: id },
    { title: name },
    { title: 'STATUS' },
    { title: 'STARTED' },
    { title: 'EVENTS', align: 'right' },
    { title: 'PID', align: 'right' },
    { title: last, gives: true },
  ];
  const paint = paletteFor(stdout);
  const cells = rows.map((row) => [
    indent(row.depth ?? 0) + brief(row.info.stream, MAX_CELL),
    brief(row.info.name, MAX_CELL),
    shownStatus(row.info),
    agoText(clock.now() - row.info.createdAt),
    String(row.info.head),
    row.info.owner === undefined ? '' : String(row.info.owner.pid),
    brief(row.last, MAX_CELL),
  ]);
  const lines = tableLines(columns, cells, {
    columns: stdout.columns,
    paint: (text, row, column) =>
      row === -1 ? paint.dim(text) : column === STATUS_COLUMN ? paintStatus(text, text, paint) : text,
  });
  const more = areMore ? [paint.dim('There are more: --limit N shows them.')] : [];
  await stdout.write(`${[...lines, ...more].join('\n')}\n`);
}

const indent = (depth: number) => (depth === 0 ? '' : `${'  '.repeat(depth - 1)}└ `);

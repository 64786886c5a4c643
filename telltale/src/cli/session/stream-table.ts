import { suggest } from '../../lib/nearest.ts';
import type { StreamInfo } from '../../store/store.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { agoText, timeText } from '../view/figures.ts';
import { paintStatus, shownStatus } from '../view/status.ts';
import { brief, type Column, tableLines } from '../view/text-width.ts';

/** A list of sessions or of runs. */
export interface StreamTable {
  /** The titles of the first two columns and of the last one. */
  readonly titles: readonly [id: string, name: string, last: string];
  readonly rows: readonly StreamRow[];
  readonly areMore: boolean;
}

export interface StreamRow {
  readonly info: StreamInfo;
  /** How deep it is nested below its callers. */
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

/** A session or a run as `--json` lists it. */
export const streamJson = (info: StreamInfo) => ({
  ...(info.kind === 'run'
    ? { run: info.stream, workflow: info.name }
    : { session: info.stream, agent: info.name }),
  status: shownStatus(info),
  title: info.title,
  events: info.head,
  started: timeText(info.createdAt),
  updated: timeText(info.updatedAt),
  parent: info.parent ?? null,
  pid: info.owner?.pid ?? null,
});

export interface ListedSession {
  readonly info: StreamInfo;
  /** 0 if nobody called it, or if its caller is not listed. */
  readonly depth: number;
}

/** Sessions, newest first. Each is followed by those that it called, oldest first. */
export function sessionTrees(found: readonly StreamInfo[]): readonly (readonly ListedSession[])[] {
  const listed = new Set(found.map(({ stream }) => stream));
  const called = new Map<string, StreamInfo[]>();
  for (const info of found)
    if (info.parent !== undefined && listed.has(info.parent))
      called.set(info.parent, [...(called.get(info.parent) ?? []), info]);
  const tree = (info: StreamInfo, depth: number): ListedSession[] => [
    { info, depth },
    ...(called.get(info.stream) ?? []).toSorted(inOrder).flatMap((child) => tree(child, depth + 1)),
  ];
  return found.flatMap((info) =>
    info.parent !== undefined && listed.has(info.parent) ? [] : [tree(info, 0)],
  );
}

/** Sessions that started at the same time are ordered by the ids of their actions. */
const inOrder = (one: StreamInfo, other: StreamInfo): number =>
  one.createdAt - other.createdAt || one.stream.localeCompare(other.stream, 'en', { numeric: true });

/** Parses the comma-separated values of `--status`. */
export function readStatuses(text: string, known: readonly string[]): ReadonlySet<string> {
  const asked = text.split(',').map((each) => each.trim());
  const wrong = asked.find((each) => !known.includes(each));
  if (wrong !== undefined) throw usage(`There is no status '${wrong}'.`, suggest(wrong, known, 'Statuses'));
  return new Set(asked);
}

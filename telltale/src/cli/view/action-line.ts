import { stripVTControlCharacters } from 'node:util';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { displayWidth } from '../../manifest/format-diagnostic.ts';
import { showResult } from '../../prompt/show-result.ts';
import { type ActionView, isOver } from './action-log.ts';
import { countText, spanText } from './figures.ts';
import { harmlessLine, harmlessLines } from './harmless.ts';
import { foldText, jsonOnOneLine, jsonRows } from './json-text.ts';
import { brief, briefFields, clip } from './text-width.ts';

/** One action on one line: its status, what it calls with which parameters, its duration and its result. */
export function actionLine(view: ActionView, columns: number, now: number, paint: Palette): string {
  return lineWith(view, columns, now, paint, {
    text: noteText(view, columns),
    color: isOver(view) && view.state !== 'completed' ? MARKS[view.state].paint : 'dim',
  });
}

/** Columns reserved for the time: `812 ms` is two longer than `0 ms`. */
const TIME_ROOM = 6;
/** Rows of a result below its action. */
const MAX_ROWS = 4;
const INDENT = '    ';
const below = (rows: readonly string[]): readonly string[] => rows.map((row) => INDENT + row);

/**
 * The same with a readable result: text as text, JSON in colors, on rows of its own if it is more than a few words.
 * Omitted rows are counted, and `more` names the command that shows everything.
 */
export function actionLines(
  view: ActionView,
  columns: number,
  now: number,
  paint: Palette,
  more?: string,
): readonly string[] {
  const { state, note } = view;
  if (state !== 'completed' || note === undefined || note === null) {
    // If a program failed, the end of its output says most.
    const printed = state === 'failed' && view.printed !== undefined ? textRows(view, view.printed) : [];
    const said = someRows(printed, 'end', { columns: columns - INDENT.length, paint, more });
    return [actionLine(view, columns, now, paint), ...below(said)];
  }
  const line = lineWith(view, columns, now, paint);
  const untimed = lineWith({ ...view, ms: 0 }, columns, now, paint);
  return withResult({ line, untimed, output: note, of: view }, columns, paint, more);
}

/** Adds the result of an action or step to its line, or below it. */
export function withResult(
  { line, untimed, output, of }: ResultLine,
  columns: number,
  paint: Palette,
  more?: string,
): readonly string[] {
  const room = columns - INDENT.length;
  // Reserves the same width whatever the time is, so that results stay aligned.
  const left = Math.min(
    columns - displayWidth(stripVTControlCharacters(line)) - 2,
    columns - displayWidth(stripVTControlCharacters(untimed)) - TIME_ROOM,
  );
  const inline = (text: string): readonly string[] | undefined =>
    displayWidth(text) <= left ? [`${line}  ${paint.dim(text)}`] : undefined;
  const shown = shownResult(of, output);
  if (shown.kind === 'json') {
    const whole = jsonOnOneLine(shown.value, left, paint);
    if (whole !== undefined) return [`${line}  ${whole}`];
    return [line, ...below(jsonRows(shown.value, room, MAX_ROWS, { paint, more }) ?? [])];
  }
  if (shown.kind === 'file') return inline(shown.text) ?? [line];
  if (shown.text.trim() === '') return [line];
  const rows = harmlessLines(shown.text.trimEnd());
  const [only = ''] = rows;
  const short = rows.length === 1 ? inline(only.trim()) : undefined;
  return short ?? [line, ...below(someRows(rows, 'start', { columns: room, paint, more }))];
}

export interface ResultLine {
  readonly line: string;
  /** The same without a time. */
  readonly untimed: string;
  readonly output: Json;
  /** The action that produced it, if that determines how it is shown. */
  readonly of?: Pick<ActionView, 'action' | 'input'> | undefined;
}

type Shown =
  | { readonly kind: 'json'; readonly value: Json }
  | { readonly kind: 'text'; readonly text: string }
  /** A file that was read or written. Its content is not shown. */
  | { readonly kind: 'file'; readonly text: string };

/** A step does not name what it calls. */
const STEP: NonNullable<ResultLine['of']> = {
  action: { id: '', kind: 'tool', mode: 'async', name: '', parameters: {} },
  input: {},
};

/** The result as the model reads it, except for JSON. */
function shownResult(of: ResultLine['of'] = STEP, output: Json): Shown {
  const page = of.action.name === 'http_fetch' && isJsonObject(output) ? output : {};
  if (typeof page.status === 'number' && page.status < 400 && page.body !== undefined)
    return typeof page.body === 'string'
      ? { kind: 'text', text: page.body }
      : { kind: 'json', value: page.body };
  const written = of.action.name === 'filesystem' && isJsonObject(output) ? writtenText(output) : undefined;
  if (written !== undefined) return { kind: 'file', text: written };
  const { text, attributes, firstLine } = showResult({
    ...of,
    output,
    turn: 0,
    status: 'completed',
    attempts: 1,
  });
  if (firstLine !== undefined)
    return { kind: 'file', text: `read ${countText(text.trimEnd().split('\n').length, 'line')}` };
  if (typeof attributes.lines === 'string') return { kind: 'file', text: `read lines ${attributes.lines}` };
  if (typeof output !== 'string' && text === JSON.stringify(output)) return { kind: 'json', value: output };
  const { exit } = attributes;
  return { kind: 'text', text: exit === undefined || exit === 0 ? text : `exit code ${exit}\n${text}` };
}

/** `edited line 22`. Which file it is stands in the parameters. */
function writtenText({ replaced, line, bytes, created }: JsonObject): string | undefined {
  if (typeof replaced === 'number')
    return replaced === 1 ? `edited line ${line}` : `edited ${countText(replaced, 'place')}`;
  if (typeof bytes !== 'number' || typeof created !== 'boolean') return undefined;
  return `${created ? 'created' : 'overwritten'}, ${countText(bytes, 'byte')}`;
}

function textRows(view: ActionView, output: Json): readonly string[] {
  const shown = shownResult(view, output);
  return shown.kind === 'text' ? harmlessLines(shown.text.trimEnd()) : [harmlessLine(JSON.stringify(output))];
}

/** As many rows as fit, from the beginning or the end, and how many are omitted. */
function someRows(
  rows: readonly string[],
  from: 'start' | 'end',
  {
    columns,
    paint,
    more,
  }: { readonly columns: number; readonly paint: Palette; readonly more?: string | undefined },
): readonly string[] {
  const left = rows.length <= MAX_ROWS ? 0 : rows.length - MAX_ROWS + 1;
  const kept = from === 'start' ? rows.slice(0, rows.length - left) : rows.slice(left);
  const shown = kept.map((row) => paint.dim(clip(row, columns)));
  if (left === 0) return shown;
  const fold = paint.dim(clip(foldText(left, false, more), columns));
  return from === 'start' ? [...shown, fold] : [fold, ...shown];
}

function lineWith(
  view: ActionView,
  columns: number,
  now: number,
  paint: Palette,
  note?: { readonly text: string; readonly color: keyof Palette },
): string {
  const name = clip(`${brief(view.action.id, columns)} ${brief(view.action.name, columns)}`, columns - 2);
  const parts = [
    { text: briefFields(view.input, Math.floor(columns * GIVEN_SHARE)), color: 'dim' },
    { text: timeText(view, isOver(view), now) },
    ...(note === undefined ? [] : [note]),
  ] as const;
  return progressLine(MARKS[view.state], name, parts, columns, paint);
}

function noteText({ action, state, note }: ActionView, columns: number): string {
  if (state === 'waiting')
    return action.depends_on === undefined ? '' : brief(`after ${action.depends_on.join(', ')}`, columns);
  const text = note === undefined || note === null ? '' : brief(note, columns);
  if (state === 'completed' || state === 'running' || state === 'failed') return text;
  return text === '' ? state : `${state}: ${text}`;
}

/** The sign for the status of an action or step. */
interface Mark {
  readonly sign: string;
  readonly paint: keyof Palette;
}

export const MARKS = {
  waiting: { sign: '○', paint: 'dim' },
  running: { sign: '▶', paint: 'cyan' },
  retrying: { sign: '↻', paint: 'yellow' },
  completed: { sign: '✓', paint: 'green' },
  failed: { sign: '✗', paint: 'red' },
  skipped: { sign: '–', paint: 'dim' },
  cancelled: { sign: '–', paint: 'yellow' },
  interrupted: { sign: '!', paint: 'yellow' },
  compensated: { sign: '↶', paint: 'yellow' },
} as const satisfies Readonly<Record<string, Mark>>;

/** The share of a line for the parameters. The rest is for the result. */
export const GIVEN_SHARE = 0.4;

export interface LinePart {
  readonly text: string;
  readonly color?: keyof Palette;
}

/** A sign, a name, and as many of the parts as fit. */
export function progressLine(
  { sign, paint: color }: Mark,
  name: string,
  parts: readonly LinePart[],
  columns: number,
  paint: Palette,
): string {
  let left = columns - 2 - displayWidth(name);
  let line = `${paint[color](sign)} ${name}`;
  for (const { text, color: tint } of parts) {
    const shown = clip(text, left - 2);
    if (shown === '' || left < 3) continue;
    line += `  ${tint === undefined ? shown : paint[tint](shown)}`;
    left -= displayWidth(shown) + 2;
  }
  return line;
}

export interface TimedText {
  readonly attempt: number;
  readonly ms?: number;
  readonly startedAt?: number;
}

/** Which attempt it is, and how long it took or has taken so far. */
export function timeText({ attempt, ms, startedAt }: TimedText, isOver: boolean, now: number): string {
  const span = ms ?? (isOver || startedAt === undefined ? undefined : now - startedAt);
  const tries = attempt > 1 ? `try ${attempt}` : '';
  return [tries, span === undefined ? '' : spanText(span)].filter((part) => part !== '').join(', ');
}

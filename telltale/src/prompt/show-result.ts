import type { ErrorJson } from '../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { type ActionState, type SkipReason, writtenId } from '../log/action.ts';
import { wholeEnd } from './text.ts';

/** A part of what an action gave. Offsets count UTF-16 code units of its text, without line numbers. */
export interface OutputPage {
  readonly text: string;
  /** Where lines are shown with their numbers: the number of the first one. */
  readonly line?: number;
  readonly offset: number;
  /** Where the next part begins; absent at the end. */
  readonly next_offset?: number;
  readonly total: number;
}

/**
 * What the internal action `read_output` answers: up to `limit` characters from `offset` on, never more than `max`, which is
 * what a result shows. Any numbers will do: they are brought into range, and no surrogate pair is parted.
 */
export function readOutput(state: ActionState, max: number, offset = 0, limit = max): OutputPage {
  const { text, firstLine } = showResult(state);
  const from = wholeEnd(text, clamp(offset, 0, text.length));
  // A pair is two units long: a shorter page could not get past it.
  const most = clamp(limit, 2, max);
  const to = wholeEnd(text, Math.min(text.length, from + most));
  return {
    text: text.slice(from, to),
    ...(firstLine === undefined ? {} : { line: firstLine + lineBreaksIn(text.slice(0, from)) }),
    offset: from,
    ...(to < text.length ? { next_offset: to } : {}),
    total: text.length,
  };
}

const clamp = (value: number, least: number, most: number) =>
  Number.isNaN(value) ? least : Math.trunc(Math.min(most, Math.max(least, value)));

/** A result as a reader wants to see it. */
export interface ShownResult {
  /** What `read_output` pages through, and its offsets count. */
  readonly text: string;
  /** For the tag. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Where each line is shown behind its number: the number of the first one. The numbers are not part of the text. */
  readonly firstLine?: number;
}

/**
 * Text as text, what a command printed as it printed it, lists of files and matches one per line. What is no text is
 * compact JSON. References to the result have the value itself.
 */
export function showResult(state: ActionState): ShownResult {
  if (resultStatus(state) === 'ok') return showOutput(state);
  const printed = commandOutput(state.error?.output);
  if (printed === undefined) return plain(whyNone(state));
  const { hint } = state.error ?? {};
  return hint === undefined ? printed : { ...printed, text: below(printed.text, `[${hint}]`) };
}

const plain = (text: string): ShownResult => ({ text, attributes: {} });

function showOutput({ action, input, output = null }: ActionState): ShownResult {
  if (typeof output === 'string') return plain(output);
  const command = commandOutput(output);
  if (command !== undefined) return command;
  if (Array.isArray(output)) return plain(listText(output));
  if (!isJsonObject(output)) return plain(JSON.stringify(output));
  if (action.kind === 'tool' && action.name === 'filesystem') {
    const file = fileOutput(output, input ?? action.parameters);
    if (file !== undefined) return file;
  }
  if (action.kind === 'tool' && action.name === 'http_fetch' && typeof output.status === 'number')
    return httpOutput(output);
  return plain(objectText(output));
}

const COMMAND_KEYS: ReadonlySet<string> = new Set(['exit_code', 'signal', 'stdout', 'stderr']);

/** What a program printed. Any tool may give it: a command's result always has this form. */
function commandOutput(value: Json | undefined): ShownResult | undefined {
  if (!isJsonObject(value) || !Object.keys(value).every((key) => COMMAND_KEYS.has(key))) return undefined;
  const { exit_code: code = null, signal, stdout, stderr } = value;
  if (typeof stdout !== 'string' || typeof stderr !== 'string') return undefined;
  if (typeof code !== 'number' && typeof signal !== 'string') return undefined;
  const said = stderr === '' ? stdout : below(stdout, `stderr:\n${stderr}`);
  return {
    text: said === '' ? '(no output)' : said,
    attributes: {
      ...(typeof code === 'number' ? { exit: code } : {}),
      ...(typeof signal === 'string' ? { signal } : {}),
    },
  };
}

const below = (text: string, more: string): string =>
  text === '' ? more : `${text}${text.endsWith('\n') ? '' : '\n'}${more}`;

function fileOutput(output: JsonObject, input: JsonObject): ShownResult | undefined {
  const { content, lines, entries, paths, matches } = output;
  if (typeof content === 'string' && typeof lines === 'number') return READ_OUTPUT(output, input);
  if (Array.isArray(entries)) return plain(rows(entries.map(entryText), output, '(the folder is empty)'));
  if (Array.isArray(paths)) return plain(rows(paths.map(String), output, '(no file matches)'));
  if (Array.isArray(matches)) return plain(matchesText(matches, output));
  return undefined;
}

function READ_OUTPUT({ content, lines, next_offset: next }: JsonObject, input: JsonObject): ShownResult {
  const firstLine = typeof input.offset === 'number' ? input.offset : 1;
  if (content === '') return plain('(the file is empty)');
  if (firstLine === 1 && next === undefined) return { text: String(content), attributes: {}, firstLine };
  // The line break behind the last of some lines is not part of the content.
  const text = next === undefined ? String(content) : `${content}\n`;
  const last = typeof next === 'number' ? next - 1 : Number(lines);
  return { text, attributes: { lines: `${firstLine}-${last} of ${lines}` }, firstLine };
}

function entryText(entry: Json): string {
  if (!isJsonObject(entry)) return JSON.stringify(entry);
  const { name, type, bytes } = entry;
  if (type === 'folder') return `${name}/`;
  if (type === 'link') return `${name} (link)`;
  return bytes === undefined ? String(name) : `${name} (${bytes} bytes)`;
}

function rows(lines: readonly string[], { left_out: more }: JsonObject, none: string): string {
  if (lines.length === 0) return none;
  return more === undefined ? lines.join('\n') : `${lines.join('\n')}\n[… ${more} more …]`;
}

function matchesText(matches: readonly Json[], { files, skipped, cut }: JsonObject): string {
  const lines = matches.map((match) =>
    isJsonObject(match) ? `${match.path}:${match.line}: ${match.text}` : JSON.stringify(match),
  );
  const passed = typeof skipped === 'number' && skipped > 0 ? `, ${skipped} skipped` : '';
  const ended = typeof cut === 'string' ? `; the search ended ${cut}` : '';
  if (lines.length === 0) return `(no match in ${files} files${passed}${ended})`;
  return passed === '' && ended === ''
    ? lines.join('\n')
    : `${lines.join('\n')}\n[${files} files searched${passed}${ended}]`;
}

/** As it came over the wire: the status, the headers, an empty line, the body. */
function httpOutput({ status, url, headers, body = null, omitted, cut }: JsonObject): ShownResult {
  const head = [`HTTP ${status}${typeof url === 'string' ? ` ${url}` : ''}`];
  if (isJsonObject(headers))
    for (const [name, value] of Object.entries(headers))
      head.push(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const text = typeof body === 'string' ? body : body === null ? '' : JSON.stringify(body);
  const note =
    typeof omitted === 'string' ? omitted : typeof cut === 'string' ? `the body was cut ${cut}` : '';
  const said = text === '' ? head.join('\n') : `${head.join('\n')}\n\n${text}`;
  return plain(note === '' ? said : below(said, `[${note}]`));
}

/** A list of texts and other parts, such as the content that an MCP server answers with: one below the other. */
function listText(list: readonly Json[]): string {
  if (!list.some((item) => typeof item === 'string' && item.includes('\n'))) return JSON.stringify(list);
  return list.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))).join('\n');
}

/** Texts of several lines are shown below the rest, each behind its key. */
function objectText(object: JsonObject): string {
  const isText = (value: Json | undefined) => typeof value === 'string' && /\n./s.test(value.trimEnd());
  const texts = Object.entries(object).filter(([, value]) => isText(value));
  if (texts.length === 0) return JSON.stringify(object);
  const rest = Object.fromEntries(Object.entries(object).filter(([, value]) => !isText(value)));
  const first = Object.keys(rest).length === 0 ? [] : [JSON.stringify(rest)];
  return [...first, ...texts.map(([key, value]) => `${key}:\n${String(value)}`)].join('\n');
}

/** The text with the number of each line in front of it, from `first` on. */
export function withLineNumbers(text: string, first: number): string {
  if (text === '') return '';
  const lines = text.split('\n');
  const isWhole = lines.at(-1) === '';
  const shown = (isWhole ? lines.slice(0, -1) : lines).map((line, at) => `${first + at}\t${line}`);
  return shown.join('\n') + (isWhole ? '\n' : '');
}

export const lineBreaksIn = (text: string): number => text.split('\n').length - 1;

export type ResultStatus = 'ok' | 'error' | 'timeout' | 'skipped' | 'interrupted' | 'cancelled';

/** How an action ended, as the model is told; undefined while it has not. */
export function resultStatus(state: ActionState): ResultStatus | undefined {
  switch (state.status) {
    case 'waiting':
    case 'running':
      return undefined;
    case 'completed':
    // Told again, a result must read as it did: that it was undone later is the news of what undid it.
    case 'compensated':
      return 'ok';
    case 'failed':
      return state.error?.code === 'timeout' ? 'timeout' : 'error';
    case 'skipped':
      return 'skipped';
    case 'cancelled':
      return 'cancelled';
    case 'interrupted':
      return 'interrupted';
  }
}

/** Why an action has no result. */
function whyNone(state: ActionState): string {
  switch (resultStatus(state)) {
    case undefined:
    case 'ok':
      return '';
    case 'error':
    case 'timeout':
      return errorText(state.error);
    case 'skipped':
      return skippedText(state.skipped?.reason, state.skipped?.because);
    case 'cancelled':
      return state.error === undefined
        ? 'It was stopped before it had ended.'
        : `It was stopped before it had ended: ${errorText(state.error)}`;
    case 'interrupted':
      return 'The runtime was stopped while it ran. It may or may not have taken effect: find out before you run it again.';
  }
}

export function errorText(error: ErrorJson | undefined): string {
  if (error === undefined) return 'It failed.';
  return `${error.code}: ${error.message}${error.hint === undefined ? '' : ` ${error.hint}`}`;
}

function skippedText(reason: SkipReason | undefined, because: string | undefined): string {
  const named = because === undefined ? 'another action' : `"${writtenId(because)}"`;
  switch (reason) {
    case undefined:
      return 'It did not run.';
    case 'if':
      return because === undefined
        ? 'It did not run: its "if" did not hold.'
        : `It did not run: its "if" could not be decided. ${because}`;
    case 'dependency':
      return `It did not run: it needs ${named}, which did not succeed.`;
    case 'unknown_dependency':
      return `It did not run: it needs ${named}, and there is no action of that id.`;
    case 'deadlock':
      return `It did not run: it and ${named} would have waited for each other for ever.`;
    case 'turn_failed':
      return 'It did not run: it was to start once the turn had ended well, and the turn broke off, reached a limit or left a tag open. Ask for it again if it is still right.';
  }
}

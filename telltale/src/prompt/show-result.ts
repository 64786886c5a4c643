import type { ActionState } from '../events/action.ts';
import { isJsonObject, type Json, type JsonObject } from '../kernel/json.ts';
import { resultStatus, whyNone } from './result-text.ts';

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
  if (typeof content === 'string' && typeof lines === 'number') return readOutput(output, input);
  if (Array.isArray(entries)) return plain(rows(entries.map(entryText), output, '(the folder is empty)'));
  if (Array.isArray(paths)) return plain(rows(paths.map(String), output, '(no file matches)'));
  if (Array.isArray(matches)) return plain(matchesText(matches, output));
  return undefined;
}

function readOutput({ content, lines, next_offset: next }: JsonObject, input: JsonObject): ShownResult {
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

import { FRAME_BREAK, FRAME_MARK, readFrameHead } from '../../lib/calls.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';

/** An open element. */
interface Open {
  readonly name: string;
  /** The position of its opening tag, and its text. */
  readonly at: number;
  readonly tag: string;
  /** Whether it contains a complete action, metadata or response. */
  acted: boolean;
  inElse: boolean;
}

/** What is open at some position of a text. */
interface Scan {
  readonly open: readonly Open[];
  /** The start of an incomplete tag, action, metadata or code. The end position if there is none. */
  readonly from: number;
}

/**
 * The rest of a turn that was interrupted after `at` characters. The runtime has closed the tags that were open there.
 * So elements are opened again, and elements that only count when complete (an action, a response, a `<foreach>`) are
 * repeated from their start. A `<parallel>` in which something has started is repeated without its id, which is taken.
 * An interrupted native call is repeated completely, but without the parts of a step that have already been executed.
 */
export function restOfTurn(text: string, at: number): string {
  if (at >= text.length) return '';
  if (at === 0) return text;
  if (text.includes(FRAME_MARK)) return restOfCalls(text, at);
  const { open, from } = scan(text, at);
  const again = open.findIndex(
    ({ name, acted }) => name === 'foreach' || (!acted && (name === 'response' || name === 'parallel')),
  );
  if (again === -1) return open.map(opened).join('') + text.slice(from);
  return open.slice(0, again).map(opened).join('') + text.slice(open[again]?.at);
}

function restOfCalls(text: string, at: number): string {
  let end = 0;
  for (;;) {
    const mark = text.indexOf(FRAME_MARK, end);
    if (mark === -1 || mark >= at) return text.slice(at);
    const headEnd = text.indexOf(FRAME_BREAK, mark);
    const inputEnd = headEnd === -1 ? -1 : text.indexOf(FRAME_MARK, headEnd);
    const last = inputEnd === -1 ? -1 : text.indexOf(FRAME_BREAK, inputEnd);
    if (last === -1) return text.slice(mark); // the script itself breaks off inside it
    end = last + 1;
    if (end <= at) continue;
    if (readFrameHead(text.slice(mark + 1, headEnd)).name !== 'step') return text.slice(mark);
    const input = headEnd + 1;
    const rest = restOfStep(text.slice(input, inputEnd), Math.max(0, at - input));
    return rest === '{}' ? text.slice(end) : text.slice(mark, input) + rest + text.slice(inputEnd);
  }
}

/**
 * The input of a step without the thought, the metadata and the calls that were complete in its first `at` characters.
 */
function restOfStep(input: string, at: number): string {
  const whole = new Set<string>();
  let calls = 0;
  let depth = 0;
  let key = '';
  let isValue = false;
  let quote = -1;
  for (let index = 0; index < Math.min(at, input.length); index++) {
    const character = input.charAt(index);
    if (quote !== -1) {
      if (character === '\\') index++;
      if (character !== '"') continue;
      if (depth === 1 && isValue) whole.add(key);
      else if (depth === 1) key = input.slice(quote + 1, index);
      quote = -1;
    } else if (character === '"') quote = index;
    else if (character === ':' && depth === 1) isValue = true;
    else if (character === ',' && depth === 1) isValue = false;
    else if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') {
      depth--;
      if (depth === 1) whole.add(key);
      else if (depth === 2 && key === 'tool_calls') calls++;
    }
  }
  const rest = readStep(input);
  if (rest === undefined) return input;
  for (const done of ['thought', 'metadata']) if (whole.has(done)) delete rest[done];
  if (Array.isArray(rest.tool_calls) && calls > 0) rest.tool_calls = rest.tool_calls.slice(calls);
  if (Array.isArray(rest.tool_calls) && rest.tool_calls.length === 0) delete rest.tool_calls;
  return JSON.stringify(rest);
}

/** Undefined if the script's step is not valid JSON. */
function readStep(input: string): Record<string, Json> | undefined {
  try {
    const step = JSON.parse(input) as Json;
    return isJsonObject(step) ? { ...step } : undefined;
  } catch {
    return undefined;
  }
}

const opened = ({ name, tag, inElse }: Open): string =>
  name === 'parallel' ? '<parallel>' : inElse ? `${tag}<else/>` : tag;

const NEXT =
  /`+|~{3,}|<(\/?)(thought|thinking|think|action|metadata|response|if|else|foreach|parallel)(?=[\s/>])/g;
const TAG_END = /(?:[^<>"']|"[^"]*"|'[^']*')*>/y;
const BODY = /\s*(?:(?:`{3,}|~{3,})\w*\s*)?\{/y;
const NO_BODY = /\s*(?=<\/action\s*>)/y;

/** Reads tags as they are usually written. Scripts are not hostile, and repeated output counts once. */
function scan(text: string, end: number): Scan {
  const open: Open[] = [];
  const next = new RegExp(NEXT);
  for (let found = next.exec(text); found !== null && found.index < end; found = next.exec(text)) {
    const [mark, closing = '', written] = found;
    if (written === undefined) {
      const codeEnd = endOfCode(text, found.index, mark);
      if (codeEnd > end) return { open, from: found.index };
      next.lastIndex = codeEnd;
      continue;
    }
    const tagEnd = endOf(TAG_END, text, next.lastIndex);
    if (tagEnd === undefined) continue; // text, after all
    if (tagEnd > end) return { open, from: found.index };
    next.lastIndex = tagEnd;
    const name = written.startsWith('think') ? 'thought' : written;
    const tag = text.slice(found.index, tagEnd);
    if (closing !== '') close(open, name);
    else if (name === 'else') otherBranch(open);
    else if (tag.endsWith('/>')) note(open, name);
    else if (name !== 'action' && name !== 'metadata')
      open.push({ name, tag, at: found.index, acted: false, inElse: false });
    else if (hasBody(text, tagEnd, tag)) {
      const bodyEnd = endOf(new RegExp(`[^]*?</${name}\\s*>`, 'y'), text, tagEnd) ?? Number.POSITIVE_INFINITY;
      if (bodyEnd > end) return { open, from: found.index };
      next.lastIndex = bodyEnd;
      note(open, name);
    }
  }
  return { open, from: end };
}

function endOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

const hasBody = (text: string, from: number, tag: string): boolean =>
  endOf(BODY, text, from) !== undefined ||
  (/\sname\s*=/.test(tag) && endOf(NO_BODY, text, from) !== undefined);

/** The position after the closing run. For one or two backticks without one, the end of the line. */
function endOfCode(text: string, at: number, run: string): number {
  const from = at + run.length;
  const line = text.indexOf('\n', from);
  const lineEnd = line === -1 ? text.length : line;
  const again = new RegExp(`(?<!${run[0]})${run}(?!${run[0]})`, 'g');
  const closed = run.startsWith('~') ? undefined : endOfNext(again, text, from);
  if (closed !== undefined && closed <= lineEnd) return closed;
  if (run.length < 3) return lineEnd;
  if (run.startsWith('~') && !/(?:^|\n)[\s>*+-]*$/.test(text.slice(0, at))) return from;
  return endOfNext(new RegExp(`\\n[ \\t>]*${run}${run[0]}*[ \\t]*(?=\\n|$)`, 'g'), text, from) ?? text.length;
}

function endOfNext(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Records that something was called, declared or answered. */
function note(open: readonly Open[], name: string): void {
  const acts = name === 'action' || name === 'metadata' || name === 'response';
  if (acts) for (const element of open) element.acted = true;
}

function close(open: Open[], name: string): void {
  const at = open.findLastIndex((element) => element.name === name);
  if (at === -1) return;
  open.splice(at);
  note(open, name);
}

function otherBranch(open: Open[]): void {
  const at = open.findLastIndex(({ name }) => name === 'if');
  const branch = open[at];
  if (branch === undefined) return;
  open.splice(at + 1);
  branch.inElse = true;
}

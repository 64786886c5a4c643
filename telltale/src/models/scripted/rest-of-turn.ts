import { FRAME_BREAK, FRAME_MARK, readFrameHead } from '../../lib/calls.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';

/** An element that is open. */
interface Open {
  readonly name: string;
  /** Where its opening tag begins, and how it is written. */
  readonly at: number;
  readonly tag: string;
  /** Whether an action, metadata or a response in it is complete. */
  acted: boolean;
  inElse: boolean;
}

/** What of a text that breaks off somewhere is open there. */
interface Scan {
  readonly open: readonly Open[];
  /** Where an unfinished tag, action, metadata or piece of code begins; the end where there is none. */
  readonly from: number;
}

/**
 * What is still to be said of a turn that was cut off behind `at` characters. Tags that were open there have been closed by
 * the runtime. So elements are opened again, and what only counts when it is whole (an action, a response, a `<foreach>`) is
 * said from its beginning. A `<parallel>` in which something was done comes back without its id, which is taken. A native
 * call that broke off is made again, whole; of a step, what of it had been acted on is left out.
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
    if (last === -1) return text.slice(mark); // the script itself breaks off in it
    end = last + 1;
    if (end <= at) continue;
    if (readFrameHead(text.slice(mark + 1, headEnd)).name !== 'step') return text.slice(mark);
    const input = headEnd + 1;
    const rest = restOfStep(text.slice(input, inputEnd), Math.max(0, at - input));
    return rest === '{}' ? text.slice(end) : text.slice(mark, input) + rest + text.slice(inputEnd);
  }
}

/** The input of a step without the thought, the metadata and the calls that were complete in its first `at` characters. */
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

/** Undefined where a script has its model write a step that is no JSON. */
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

/** Reads tags as they are usually written: a script is no hostile text, and what it says twice counts once. */
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

/** Behind the run that closes it; of one or two backticks without one, the end of the line. */
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

/** Something was asked for, declared or answered. */
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

import type { JsonObject } from '../lib/json.ts';
import {
  type CodeCallsFound,
  callsInJson,
  type ForeignForm,
  isBlank,
  isCallName,
  parametersOf,
  readCodeCall,
  readCodeList,
  readReactCall,
  Source,
  withFields,
  withoutPrefix,
} from './foreign/code-calls.ts';
import { readElementCall } from './foreign/markup-calls.ts';

/** A call that a model wrote as text, in a form that it was trained on. */
export interface ForeignCall {
  /** As the model wrote it, without the namespace of its training (`functions.`), unless a known name has that. */
  readonly name: string;
  /** Values of elements without a type stay strings. */
  readonly parameters: JsonObject;
  /** Fields of our own envelope that were given with it (`id`, `depends_on`, `type`, …), not checked. */
  readonly fields?: JsonObject;
  readonly form: ForeignForm;
  /** Where it stands in the text, with its marks. */
  readonly start: number;
  readonly end: number;
  /** It stands in a code fence, or in a span of code that is the whole text. */
  readonly fenced: boolean;
}

export interface ForeignCalls {
  readonly calls: readonly ForeignCall[];
  /** The text holds nothing but these calls, white space, reasoning and tokens of chat templates. */
  readonly alone: boolean;
  /** It has a mark that only calls have, with something in it that cannot be read. */
  readonly unreadable: boolean;
}

export interface ForeignCallOptions {
  /** What can be called. Forms that anything could be, such as `name({…})` and `<name>…</name>`, count for these only. */
  readonly names?: ReadonlySet<string>;
}

/** More calls than this in one text are not read. */
const MAX_CALLS = 256;

const REASONING = /<((?:[a-z]{1,16}:)?(?:think|thinking|thought|reasoning|reflection|scratchpad))>/y;
const REASONING_END = /^[^<]*<\/(think|thinking|thought|reasoning)>/;
/** What is written round calls and holds them; each is followed by its content or by the end of it. */
const WRAPPER =
  /<\/?(?:[A-Za-z]{1,32}:)?(?:function_calls|tool_calls|tool_call|function_call|tool_use|tools?)>|<[|｜]\/?(?:python_tag|tool_calls?|tool[▁_]calls?(?:_section)?[▁_](?:begin|end)|START_ACTION|END_ACTION|call)[|｜]>|\[\/?TOOL_CALLS\]/y;
/** `Action:` in front of a fence or an object, as in LangChain's structured chat. */
const ACTION_LABEL = /Action:\s{0,16}(?=`{3}|\{)/y;
const THOUGHT_LABEL = /Thought:/y;
const FENCE = /(`{3,}|~{3,})[ \t]{0,8}([\w.+-]{0,40})[ \t]{0,8}(?:\r?\n|(?=[{[<]))/y;
const WORD = /[A-Za-z_][\w.-]*/y;
/** Fences with these labels hold calls of whatever name. */
const CODE_LABELS = new Set(['tool_code', 'tool_call', 'tool_calls', 'function_call']);

/**
 * Finds the calls that a text holds, in the forms that models were trained on and in our own. Text that holds one is no
 * answer; whether it may run is the runtime's to decide. Pure, and linear in the length of the text.
 */
export function findForeignCalls(text: string, { names }: ForeignCallOptions = {}): ForeignCalls {
  const found = scan(new Source(text, names), false);
  const { alone } = found;
  // In an explanation a quoted call of something that is not there is an example.
  const calls = alone ? found.calls : found.calls.filter((call) => !isExample(call, names));
  return { calls, alone: alone && calls.length > 0, unreadable: found.unreadable };
}

const isExample = ({ fenced, name }: ForeignCall, names: ReadonlySet<string> | undefined) =>
  fenced && names !== undefined && !names.has(name);

function scan(source: Source, anyName: boolean): ForeignCalls {
  const { text } = source;
  const calls: ForeignCall[] = [];
  let alone = true;
  let unreadable = false;
  /** Where the marks begin that stand straight before `at`, and the call that ended straight before it. */
  let marks = -1;
  let last = -1;
  let lineIsBlank = true;
  let at = reasoningAtStart(text);

  const add = ({ calls: raw, form, end }: CodeCallsFound): void => {
    for (const call of raw) {
      const name = source.names?.has(call.name) === true ? call.name : withoutPrefix(call.name);
      calls.push({ ...call, name, form, start: marks === -1 ? at : marks, end, fenced: false });
    }
    marks = -1;
    last = calls.length - 1;
    lineIsBlank = false;
    at = end;
  };

  /** Something else stands at `at`, and is passed over. */
  const other = (to: number): void => {
    if (marks !== -1 && '{[<'.includes(text[at] ?? ' ')) unreadable = true;
    marks = -1;
    last = -1;
    alone = false;
    lineIsBlank = false;
    at = to;
  };

  while (at < text.length) {
    const c = text[at] ?? '';
    if (calls.length >= MAX_CALLS) {
      alone = false;
      break;
    }
    if (isBlank(text.charCodeAt(at))) {
      if (c === '\n') lineIsBlank = true;
      at++;
      continue;
    }
    const isStart = lineIsBlank || marks !== -1 || last !== -1;
    const call = readCall(source, at, c, isStart, anyName || marks !== -1);
    if (call !== undefined) {
      add(call);
      continue;
    }
    const passed = endOfReasoning(source, at, lineIsBlank);
    if (passed !== undefined) {
      at = passed;
      continue;
    }
    const wrapper = source.match(WRAPPER, at) ?? (lineIsBlank ? source.match(ACTION_LABEL, at) : null);
    if (wrapper !== null) {
      const end = at + wrapper[0].length;
      const lastCall = calls[last];
      if (/^(?:<|\[)[|｜]?\//.test(wrapper[0]) || /end|END|\|call\|/.test(wrapper[0])) {
        if (lastCall !== undefined) calls[last] = { ...lastCall, end };
      } else if (marks === -1) marks = at;
      at = end;
      continue;
    }
    const token = templateTokenAt(text, at);
    if (token > 0) {
      at += token;
      continue;
    }
    if ((c === ';' || c === ',') && last !== -1) {
      at++;
      continue;
    }
    if (c === '`' || (c === '~' && lineIsBlank)) {
      const quoted = quotedAt(source, at, lineIsBlank);
      const inside = scan(new Source(quoted.content, source.names), CODE_LABELS.has(quoted.label));
      const isCall =
        inside.alone && inside.calls.length > 0 && (quoted.isFence || isAll(text, at, quoted.end));
      if (!isCall) {
        if (quoted.isFence && CODE_LABELS.has(quoted.label)) unreadable = true;
        other(quoted.end);
        continue;
      }
      const offset = quoted.from;
      for (const { start, end, ...rest } of inside.calls)
        calls.push({ ...rest, start: start + offset, end: end + offset, fenced: true });
      marks = -1;
      last = calls.length - 1;
      at = quoted.end;
      lineIsBlank = true;
      continue;
    }
    if (c === '{' || c === '[') {
      // A value that is no call is passed over whole: what it holds is data.
      other(source.json(at)?.end ?? at + 1);
      continue;
    }
    const word = source.match(WORD, at);
    other(at + (word?.[0].length ?? 1));
  }
  if (marks !== -1 && calls.length === 0) alone = false;
  return { calls, alone: alone && calls.length > 0, unreadable };
}

function readCall(
  source: Source,
  at: number,
  c: string,
  isStart: boolean,
  anyName: boolean,
): CodeCallsFound | undefined {
  if (c === '<') return readTokenCall(source, at) ?? readElementCall(source, at);
  if (c === '{' || c === '[') {
    const token = c === '[' ? (readTokenCall(source, at) ?? readCodeList(source, at)) : undefined;
    if (token !== undefined) return token;
    const read = source.json(at);
    const calls = read && callsInJson(read.value, anyName);
    return calls && { calls, form: 'json', end: read.end };
  }
  if (!isStart) return undefined;
  if (c === 'A' || c === '*') return readReactCall(source, at);
  return readCodeCall(source, at, anyName);
}

/** A template that opens the reasoning itself leaves only its end in the text. */
function reasoningAtStart(text: string): number {
  return REASONING_END.exec(text)?.[0].length ?? 0;
}

function endOfReasoning(source: Source, at: number, lineIsBlank: boolean): number | undefined {
  const { text } = source;
  if (text[at] === 'T' && lineIsBlank && source.match(THOUGHT_LABEL, at) !== null) {
    const action = source.find('\nAction:', at);
    return action === -1 ? undefined : action;
  }
  if (text[at] !== '<') return undefined;
  const tag = source.match(REASONING, at);
  if (tag === null) return endOfTokenReasoning(source, at);
  const closer = `</${tag[1]}>`;
  const end = source.find(closer, at);
  return end === -1 ? text.length : end + closer.length;
}

interface Quoted {
  readonly isFence: boolean;
  readonly label: string;
  readonly content: string;
  readonly from: number;
  readonly end: number;
}

/** A fence that begins a line, or a span of code: what it holds, and where it ends. */
function quotedAt(source: Source, at: number, lineIsBlank: boolean): Quoted {
  const { text } = source;
  const fence = lineIsBlank ? source.match(FENCE, at) : null;
  if (fence !== null) {
    const [opening, run = '', label = ''] = fence;
    const from = at + opening.length;
    for (let next = source.find(run, from); next !== -1; next = source.find(run, next + 1)) {
      if (!isLineStart(text, next)) continue;
      let end = next;
      while (text[end] === run[0]) end++;
      return { isFence: true, label, content: text.slice(from, next), from, end };
    }
    return { isFence: true, label, content: text.slice(from), from, end: text.length };
  }
  let from = at;
  while (text[from] === text[at]) from++;
  const run = text.slice(at, from);
  const to = source.find(run, from);
  const lineEnd = source.find('\n', from);
  const closes = to !== -1 && (lineEnd === -1 || to < lineEnd);
  return {
    isFence: false,
    label: '',
    content: closes ? text.slice(from, to) : '',
    from,
    end: closes ? to + run.length : from,
  };
}

function isLineStart(text: string, at: number): boolean {
  let before = at - 1;
  while (text[before] === ' ' || text[before] === '\t') before--;
  return (
    before < 0 ||
    text[before] === '\n' ||
    text[before] === '}' ||
    text[before] === ']' ||
    text[before] === '>'
  );
}

/** Whether nothing but white space stands before and behind. */
const isAll = (text: string, from: number, to: number) =>
  text.slice(0, from).trim() === '' && text.slice(to).trim() === '';

/**
 * Tokens of chat templates, which servers that do not know a model's template let through as text, with the role that
 * follows where a message begins; and byte order marks.
 */
const TOKEN =
  /<\|channel\|>(?:final|commentary)[^<]{0,16}<\|message\|>|<(?:\|[\w/]{1,48}\||｜[^｜<>\s]{1,48}｜)>|<\/?s>|<[be]os>|<(?:start|end)_of_turn>|\[\/?INST\]|\ufeff/y;
const ROLE = /[ \t]{0,8}(?:assistant|model)\b/y;
const BEGINS_MESSAGE = /^<(?:\|(?:im_start|start|start_header_id)\||start_of_turn)>$/;
const LONGEST = 60;

/** How many characters the token of a chat template takes that stands at `at`; 0 where none does. */
function templateTokenAt(text: string, at: number): number {
  TOKEN.lastIndex = at;
  const token = TOKEN.exec(text)?.[0];
  if (token === undefined) return 0;
  if (!BEGINS_MESSAGE.test(token)) return token.length;
  ROLE.lastIndex = at + token.length;
  return token.length + (ROLE.exec(text)?.[0].length ?? 0);
}

/**
 * A text without the tokens and the white space before its first and behind its last word: what is left of an answer
 * that is nothing but `<|im_end|>` is nothing.
 */
export function withoutTemplateTokens(text: string): string {
  let from = 0;
  for (let length = 1; length > 0; from += length) {
    while (from < text.length && isBlank(text.charCodeAt(from))) from++;
    length = templateTokenAt(text, from);
  }
  let to = text.length;
  for (;;) {
    while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
    const start = startOfTokenBefore(text, from, to);
    if (start === to) return text.slice(from, to);
    to = start;
  }
}

/** Where the token begins that ends at `to`; `to` where none does. */
function startOfTokenBefore(text: string, from: number, to: number): number {
  for (let at = to - 1; at >= from && at > to - LONGEST; at--) {
    const c = text[at];
    if (c !== '<' && c !== '[') continue;
    return at + templateTokenAt(text, at) === to ? at : to;
  }
  return to;
}

/**
 * Formats that mark calls with tokens of the chat template: DeepSeek's and Kimi's sections, OpenAI's harmony,
 * Mistral's brackets. The tokens turn up as text where a server does not know the model's format.
 */
const SECTION =
  /<[|｜]tool[▁_]call[▁_]begin[|｜]>\s{0,32}(?:function\s{0,32}<｜tool▁sep｜>)?\s{0,32}([A-Za-z_][\w.:/-]{0,127}?)(?::\d{1,6})?\s{0,32}(?:<[|｜]tool(?:▁sep|_sep|_call_argument_begin)[|｜]>)?\s{0,32}(?:```(?:json)?\s{0,32})?(?=\{)/y;
const SECTION_END = /\s{0,32}(?:```)?\s{0,32}<[|｜]tool[▁_]call[▁_]end[|｜]>/y;

const HARMONY =
  /(?:<\|start\|>\s{0,8}assistant)?\s{0,8}(?:to=([\w.:/-]{1,160}))?\s{0,8}<\|channel\|>\s{0,8}(analysis|commentary|final)?[^<]{0,16}?(?:\s{0,8}to=([\w.:/-]{1,160}))?[^<]{0,32}(?:<\|constrain\|>[^<]{0,16})?<\|message\|>/y;
const HARMONY_END = /\s{0,32}<\|(?:call|end|return)\|>/y;

/** `[TOOL_CALLS]search{"q": "x"}`, `[TOOL_CALLS]search[CALL_ID]1[ARGS]{"q": "x"}` */
const MISTRAL =
  /\[TOOL_CALLS\]\s{0,32}([A-Za-z_][\w.:/-]{0,127})\s{0,8}(?:\[CALL_ID\][\w-]{0,64})?(?:\[ARGS\])?\s{0,32}(?=\{)/y;

/** The call whose token stands at `at`. */
function readTokenCall(source: Source, at: number): CodeCallsFound | undefined {
  const named = source.match(SECTION, at) ?? source.match(MISTRAL, at);
  if (named !== null) return readNamed(source, named[1], at + named[0].length, SECTION_END);
  const harmony = source.match(HARMONY, at);
  const recipient = harmony?.[1] ?? harmony?.[3];
  if (harmony === null || recipient === undefined) return undefined;
  return readNamed(source, recipient, at + harmony[0].length, HARMONY_END);
}

/** Where the reasoning ends that a token at `at` begins. */
function endOfTokenReasoning(source: Source, at: number): number | undefined {
  const harmony = source.match(HARMONY, at);
  if (harmony === null || harmony[2] !== 'analysis') return undefined;
  const from = at + harmony[0].length;
  const ends = ['<|end|>', '<|start|>', '<|channel|>'].map((mark) => source.find(mark, from));
  const found = ends.filter((end) => end !== -1);
  return found.length === 0 ? source.text.length : Math.min(...found);
}

function readNamed(
  source: Source,
  name: string | undefined,
  from: number,
  closer: RegExp,
): CodeCallsFound | undefined {
  const at = source.skipSpace(from);
  const read = source.text[at] === '{' ? source.json(at) : undefined;
  const parameters = read && parametersOf(read.value, true);
  if (read === undefined || parameters === undefined || !isCallName(name)) return undefined;
  const end = read.end + (source.match(closer, read.end)?.[0].length ?? 0);
  return { calls: [withFields(name, parameters, {})], form: 'tokens', end };
}

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { type CallNames, NO_CALL_NAMES, RESPOND, SET_METADATA } from '../calls/call-names.ts';
import {
  type CallListener,
  type CallParser,
  closeResponse,
  createCallParser,
  sayWhole,
} from '../calls/call-parser.ts';
import {
  badCall,
  badFinalValue,
  type CallBook,
  callBadJson,
  callNotFinite,
  callTooLarge,
  callTruncated,
  noText,
  RUN_KEY,
  readCall,
} from '../calls/read-call.ts';
import { createIdBook, type EarlierIds } from '../envelope/ids.ts';
import type { ParserEvent } from '../intents.ts';
import { createMemberScan, endMembers, type MemberScan, scanMembers } from '../json/member-scan.ts';
import { parseValue, readObject, strictJson } from '../json/tolerant-json.ts';
import { createOutput, emit, type ProseOutput } from '../prose/output.ts';
import { DEFAULT_MAX_BODY } from '../turn-parser.ts';

export interface ToolsParserOptions {
  /** The most characters the input of a call may have; 1 MiB by default. */
  readonly max_body?: number;
  /** The ids taken in the session so far; the parser adds to it. */
  readonly ids?: Set<string>;
  /** Ids of earlier turns, which may be taken again. */
  readonly earlier?: EarlierIds;
  /** What the calls mean; a name that is not in it is taken for a tool's. */
  readonly names?: CallNames;
}

/**
 * Reads one turn of the dialect `tools`. Each call acts when its frame closes: `respond` speaks (and streams before
 * that), `set_metadata` declares, every other one calls a target, with how to run it under `_run` in its input.
 */
export function createToolsParser(options: ToolsParserOptions = {}): CallParser {
  const given: string[] = [];
  const book: CallBook = {
    names: options.names ?? NO_CALL_NAMES,
    ids: createIdBook(options.ids ?? new Set(), options.earlier),
    given,
  };
  return createCallParser(createListener(options.max_body ?? DEFAULT_MAX_BODY, book), given);
}

function createListener(maxBody: number, book: CallBook): CallListener {
  const output: ProseOutput = createOutput();
  let name = '';
  let input = '';
  let length = 0;
  let respond: Respond | undefined;

  const take = (text: string, at: number) => {
    input += text;
    if (respond !== undefined) hearRespond(respond, output, text, at);
  };

  return {
    output,
    open(call) {
      name = book.names.plain(call.name);
      input = '';
      length = 0;
      respond = name === RESPOND ? createRespond() : undefined;
    },
    input(chunk, from, to, at) {
      const room = maxBody - length;
      length += to - from;
      if (room < 0) return to;
      if (to - from <= room) take(chunk.slice(from, to), at);
      else {
        take(chunk.slice(from, from + room), at);
        const fault = callTooLarge(name, maxBody);
        if (respond === undefined) emit(output, fault, at + to - from);
        else breakRespond(respond, output, at + to - from, fault);
        input = '';
      }
      return to;
    },
    close(at) {
      if (length > maxBody) {
        output.consumed = at;
        return;
      }
      if (respond !== undefined) endRespond(respond, output, input, at);
      else emit(output, eventOf(name, input, book), at);
    },
    breakOff(at) {
      if (length > maxBody) return;
      if (respond === undefined) emit(output, callTruncated(name), at);
      else breakRespond(respond, output, at, callTruncated(name));
    },
  };
}

const WORDS = {
  where: `"${RUN_KEY}"`,
  elsewhere: `What the tool takes stands beside "${RUN_KEY}", not in it.`,
};

/** What a call with this input comes to. Providers send nothing at all where a tool takes nothing. */
function eventOf(name: string, input: string, book: CallBook): ParserEvent {
  const text = /\S/.test(input) ? input : '{}';
  const strict = strictJson(text);
  const value = readObject(text, strict);
  if (typeof value === 'string')
    return value === 'not_finite' ? callNotFinite(name) : callBadJson(name, text);
  const repaired = strict === undefined;
  const { [RUN_KEY]: run, ...rest } = value;
  const parameters: JsonObject = run === undefined ? value : rest;
  if (name === SET_METADATA)
    return { type: 'metadata', value: parameters, ...(repaired ? { repaired } : {}) };
  if (run !== undefined && run !== null && !isJsonObject(run))
    return badCall(name, `"${RUN_KEY}" must be an object, such as {"id": "…", "mode": "sync"}.`);
  return readCall({ name, parameters, run: run ?? {}, ...WORDS, repaired }, book);
}

/** A call of `respond {text, final?, output?}`: its text streams while its input does. */
export interface Respond {
  readonly scan: MemberScan;
  /** Of `text`: not begun, open, or complete. A second one is not read. */
  text: 'none' | 'open' | 'whole';
  /** What `final` was when the response opened. */
  opened: boolean;
  /** Members that are complete. */
  readonly members: Map<string, Json>;
  bad: boolean;
}

const STREAMED = new Set(['text']);
const NONE = new Set<string>();

const createRespond = (): Respond => ({
  scan: createMemberScan(STREAMED, NONE),
  text: 'none',
  opened: true,
  members: new Map(),
  bad: false,
});

/** Takes more of the input; `at` is its offset in the turn. */
function hearRespond(respond: Respond, output: ProseOutput, input: string, at: number): void {
  const { scan } = respond;
  for (let from = 0; from < input.length; ) {
    const { found, to } = scanMembers(scan, input, from);
    from = to;
    switch (found) {
      case 'opened':
        if (respond.text !== 'none') break;
        respond.text = 'open';
        respond.opened = finalOf(respond.members.get('final')) ?? true;
        emit(output, { type: 'open', tag: 'response', depth: 0, final: respond.opened }, at + to);
        break;
      case 'text':
        if (respond.text === 'open')
          emit(output, { type: 'delta', tag: 'response', text: scan.text }, at + to);
        break;
      case 'closed':
        respond.text = 'whole';
        break;
      case 'value':
        keep(respond);
        break;
      case 'bad':
        respond.bad = true;
        break;
      case 'item':
      case 'nothing':
        break;
    }
  }
}

function keep(respond: Respond): void {
  const { scan, members } = respond;
  const read = parseValue(scan.value.text);
  if (read === 'not_finite') respond.bad = true;
  else if (read !== 'unreadable' && read.value !== null) members.set(scan.key, read.value);
}

/** The call is complete; `input` is all of it. */
function endRespond(respond: Respond, output: ProseOutput, input: string, at: number): void {
  const found = endMembers(respond.scan);
  if (found === 'value') keep(respond);
  const { members } = respond;
  let text: string | undefined;
  if (respond.bad || found === 'bad') {
    const value = readObject(input, strictJson(input));
    if (typeof value === 'string') {
      const fault = value === 'not_finite' ? callNotFinite(RESPOND) : callBadJson(RESPOND, input);
      breakRespond(respond, output, at, fault);
      return;
    }
    for (const [key, member] of Object.entries(value)) if (member !== null) members.set(key, member);
    if (typeof value.text === 'string') text = value.text;
  }
  const asked = members.get('final');
  const final = finalOf(asked);
  if (asked !== undefined && final === undefined) emit(output, badFinalValue(asked), at);
  const isFinal = asked === undefined ? true : final === true;
  const result = members.get('output');
  const isSpoken = respond.text !== 'none';
  if (isSpoken) closeResponse(output, respond.opened, isFinal && result === undefined, at);
  else if (text !== undefined) sayWhole(output, text, isFinal && result === undefined, at);
  if (result !== undefined) sayWhole(output, JSON.stringify(result), isFinal, at);
  else if (!isSpoken && text === undefined) emit(output, noText(), at);
}

/** It came to nothing: what was heard of it is no whole response. */
function breakRespond(
  { text }: Respond,
  output: ProseOutput,
  at: number,
  fault: ReturnType<typeof callBadJson>,
): void {
  emit(output, fault, at);
  if (text !== 'none') emit(output, { type: 'close', tag: 'response', truncated: true }, at);
}

/** true or false, also as a word; undefined for anything else. */
function finalOf(value: Json | undefined): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  return word === 'true' ? true : word === 'false' ? false : undefined;
}

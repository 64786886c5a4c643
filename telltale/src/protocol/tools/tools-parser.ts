import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import { badCall, callBadJson, callNotFinite, callTooLarge, callTruncated } from '../calls/call-faults.ts';
import { type CallNames, NO_CALL_NAMES, RESPOND, SET_METADATA } from '../calls/call-names.ts';
import { type CallListener, type CallParser, createCallParser } from '../calls/call-parser.ts';
import { type CallBook, RUN_KEY, readCall } from '../calls/read-call.ts';
import { createIdBook, type EarlierIds } from '../envelope/id-book.ts';
import type { ParserEvent } from '../intents.ts';
import { strictJson } from '../json/parse-value.ts';
import { readObject } from '../json/read-object.ts';
import { createOutput, emit, type Output } from '../prose/output.ts';
import { DEFAULT_MAX_BODY } from '../turn-parser.ts';
import { breakRespond, createRespond, endRespond, hearRespond, type Respond } from './respond.ts';

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
  const output: Output = createOutput();
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
  if (typeof value === 'string') return value === 'not_finite' ? callNotFinite(name) : callBadJson(name);
  const repaired = strict === undefined;
  const { [RUN_KEY]: run, ...rest } = value;
  const parameters: JsonObject = run === undefined ? value : rest;
  if (name === SET_METADATA)
    return { type: 'metadata', value: parameters, ...(repaired ? { repaired } : {}) };
  if (run !== undefined && run !== null && !isJsonObject(run))
    return badCall(name, `"${RUN_KEY}" must be an object, such as {"id": "…", "mode": "sync"}.`);
  return readCall({ name, parameters, run: run ?? {}, ...WORDS, repaired }, book);
}

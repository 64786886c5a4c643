import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import {
  badStepField,
  callsUnmade,
  notesMissing,
  onlyStep,
  stepBadJson,
  stepTooLarge,
  stepTruncated,
} from '../calls/call-faults.ts';
import { NO_CALL_NAMES, STEP } from '../calls/call-names.ts';
import { type CallListener, type CallParser, createCallParser } from '../calls/call-parser.ts';
import type { CallBook } from '../calls/read-call.ts';
import { closeResponse, sayWhole } from '../calls/say.ts';
import { createIdBook, takeAutomaticId } from '../envelope/id-book.ts';
import type { ActionIntent, ParserEvent, SpeechTag } from '../intents.ts';
import { createMemberScan, endMembers, type Found, scanMembers } from '../json/member-scan.ts';
import { parseValue } from '../json/parse-value.ts';
import { createOutput, emit } from '../prose/output.ts';
import type { ToolsParserOptions } from '../tools/tools-parser.ts';
import { DEFAULT_MAX_BODY } from '../turn-parser.ts';
import { readStepCall } from './step-call.ts';
import { bothGiven, readStepField, type StepEnd } from './step-fields.ts';

export interface StepParserOptions extends ToolsParserOptions {
  /** Whether `is_complete` ends a step of a procedure, by the action `complete_step`, and not the work. */
  readonly led?: boolean;
}

/**
 * Reads one turn of the dialect `step`: one call of `step`, whose input is read while it streams. A thought and a
 * response stream; each item of `tool_calls`, the metadata and the variables act when they close; whether the response
 * is final is decided when the call is complete.
 */
export function createStepParser(options: StepParserOptions = {}): CallParser {
  const {
    max_body = DEFAULT_MAX_BODY,
    ids = new Set(),
    earlier,
    names = NO_CALL_NAMES,
    led = false,
  } = options;
  const given: string[] = [];
  const book: CallBook = { names, ids: createIdBook(ids, earlier), given };
  return createCallParser(createStepListener(max_body, book, led), given);
}

const noEnd = (led: boolean): StepEnd => ({
  isComplete: false,
  notes: '',
  output: undefined,
  isClear: true,
  react: {},
  read: new Map(),
  claim: led ? {} : undefined,
});

/** The same intent as the action of that name is in the other dialects. */
function completion(parameters: JsonObject, { ids, given }: CallBook): ActionIntent {
  const id = takeAutomaticId(ids);
  given.push(id);
  return { type: 'action', id, kind: 'internal', mode: 'async', name: 'complete_step', parameters };
}

const sameCall = (one: string, other: string): boolean =>
  one === other || JSON.stringify(parseValue(one)) === JSON.stringify(parseValue(other));

const STREAMED = new Set(['thought', 'response']);
const LISTED = new Set(['tool_calls', 'toolCalls']);

function createStepListener(maxBody: number, book: CallBook, led: boolean): CallListener {
  const output = createOutput();
  let name = '';
  let scan = createMemberScan(STREAMED, LISTED);
  let end = noEnd(led);
  let length = 0;
  /** What of it is over before its end, and whether all of its tool calls could be made. */
  let over = true;
  let allMade = true;
  let lists: { readonly key: string; readonly items: string[]; again: number } | undefined;
  let thinking = false;
  let response: { open: boolean; readonly final: boolean } | undefined;

  /** Whether this piece of the input closed something that acts. */
  const take = (found: Found, at: number): boolean => {
    const { key } = scan;
    switch (found) {
      case 'opened':
        if (key === 'thought') {
          thinking = true;
          emit(output, { type: 'open', tag: 'thought', depth: 0 }, at);
        } else if (response === undefined) {
          response = { open: true, final: end.isComplete };
          emit(output, { type: 'open', tag: 'response', depth: 0, final: end.isComplete }, at);
        }
        return false;
      case 'text':
        if (key === 'thought' || response?.open === true)
          emit(output, { type: 'delta', tag: key as SpeechTag, text: scan.text }, at);
        return false;
      case 'closed':
        if (key !== 'thought') {
          // A second one is not read. It closes with the step: only then is it known whether it is final.
          if (response !== undefined) response.open = false;
          return false;
        }
        thinking = false;
        emit(output, { type: 'close', tag: 'thought' }, at);
        return true;
      case 'item':
        return callItem(key, scan.value.text, at);
      case 'value': {
        const event = readStepField(key, scan.value.text, end);
        if (event !== undefined) emit(output, event, at);
        const { name: called, input } = end.react;
        const isCall = called !== undefined && input !== undefined;
        if (isCall) callReact(at);
        return event !== undefined || isCall;
      }
      case 'bad':
        breakDown(stepBadJson(), at);
        return true;
      case 'nothing':
        return false;
    }
  };

  const call = (text: string, at: number) => {
    const made = readStepCall(text, book);
    allMade &&= made.type === 'action';
    emit(output, made, at);
  };

  /** An item of a list of calls. A list that is there a second time, under its other name, runs nothing again. */
  const callItem = (key: string, text: string, at: number): boolean => {
    lists ??= { key, items: [], again: 0 };
    if (lists.key === key) {
      lists.items.push(text);
      call(text, at);
      return true;
    }
    const same = lists.items[lists.again++];
    if (same !== undefined && sameCall(same, text)) return false;
    emit(output, bothGiven(lists.key, key, end), at);
    return true;
  };

  const callReact = (at: number) => {
    const { name: called, input: given } = end.react;
    delete end.react.name;
    delete end.react.input;
    if (called !== undefined && called !== '')
      call(JSON.stringify({ name: called, ...(given === undefined ? {} : { input: given }) }), at);
  };

  /** The rest of the step does not count, and what is open in it is no whole thought or response. */
  const breakDown = (fault: ParserEvent, at: number) => {
    over = true;
    emit(output, fault, at);
    if (thinking) emit(output, { type: 'close', tag: 'thought', truncated: true }, at);
    if (response !== undefined) emit(output, { type: 'close', tag: 'response', truncated: true }, at);
  };

  const conclude = (at: number) => {
    callReact(at);
    const { isComplete, notes, output: result } = end;
    const why = !isComplete
      ? undefined
      : !/\S/.test(notes)
        ? notesMissing()
        : allMade
          ? undefined
          : callsUnmade();
    if (why !== undefined) emit(output, why, at);
    const final = isComplete && why === undefined && end.isClear;
    if (end.claim !== undefined) {
      if (response !== undefined) closeResponse(output, response.final, false, at);
      const { claim } = end;
      if (final) emit(output, completion({ notes, ...claim }, book), at);
      else if (isJsonObject(claim.context_updates))
        emit(output, { type: 'variables', value: claim.context_updates }, at);
      return;
    }
    if (response !== undefined) closeResponse(output, response.final, final && result === undefined, at);
    if (result !== undefined && !isComplete)
      emit(output, badStepField('output', 'it counts only with "is_complete": true.'), at);
    if (!final) return;
    if (result !== undefined) sayWhole(output, JSON.stringify(result), true, at);
    else if (response === undefined) sayWhole(output, notes, true, at);
  };

  return {
    output,
    open(call) {
      name = book.names.plain(call.name);
      scan = createMemberScan(STREAMED, LISTED);
      end = noEnd(led);
      length = 0;
      over = name !== STEP;
      allMade = true;
      lists = undefined;
      thinking = false;
      response = undefined;
    },
    input(chunk, from, to, at) {
      if (over) return to;
      const stop = Math.min(to, from + maxBody - length);
      const input = chunk.slice(from, stop);
      for (let read = 0; read < input.length; ) {
        const scanned = scanMembers(scan, input, read);
        read = scanned.to;
        if (!take(scanned.found, at + read)) continue;
        length += read;
        return from + read;
      }
      length += input.length;
      if (stop < to) breakDown(stepTooLarge(maxBody), at + (to - from));
      return to;
    },
    close(at) {
      if (name !== STEP) emit(output, onlyStep(name), at);
      else if (!over) {
        take(endMembers(scan), at);
        if (!over) conclude(at);
        over = true;
      }
      output.consumed = at;
    },
    breakOff(at) {
      if (!over || name !== STEP) breakDown(stepTruncated(), at);
    },
  };
}

import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { type CallNames, NO_CALL_NAMES, STEP } from './calls/call-names.ts';
import {
  type CallListener,
  type CallParser,
  closeResponse,
  createCallParser,
  sayWhole,
} from './calls/call-parser.ts';
import {
  badCall,
  badStepCall,
  badStepField,
  type CallBook,
  type CallFault,
  callsUnmade,
  notesMissing,
  onlyStep,
  QUOTING,
  readCall,
  stepBadJson,
  stepTooLarge,
  stepTruncated,
  strangeStepField,
} from './calls/read-call.ts';
import { withOurNames } from './envelope/envelope.ts';
import { createIdBook, type EarlierIds, takeAutomaticId } from './envelope/ids.ts';
import type { ActionIntent, ParserEvent, SpeechTag } from './intents.ts';
import { createMemberScan, endMembers, type MemberScanFound, scanMembers } from './json/member-scan.ts';
import { LARGE_NUMBER, parseValue, readObject, strictJson } from './json/tolerant-json.ts';
import { createOutput, emit } from './prose/output.ts';
import { createSharedTagParser, type SharedParserOptions, type TagParser } from './tags/tag-parser.ts';
import { createToolsParser, type ToolsParserOptions } from './tools/tools-parser.ts';
import { DEFAULT_MAX_BODY } from './turn-parser.ts';

/** How a model acts: with tags in its text, with native tool calls, or with one native call a turn. */
export type Dialect = 'tags' | 'tools' | 'step';
export type CallDialect = Exclude<Dialect, 'tags'>;

export interface CallParserOptions {
  readonly max_body?: number;
  readonly ids?: Set<string>;
  /** Ids of earlier turns, which may be taken again. */
  readonly earlier?: EarlierIds;
  readonly names?: CallNames;
  /** Whether the session is led, in the dialect `step`. */
  readonly led?: boolean;
}

export type DialectParserOptions = SharedParserOptions & CallParserOptions;

/** The parser of a turn in a dialect. All give the same events. */
export function createDialectParser(
  dialect: Dialect,
  options: DialectParserOptions = {},
): TagParser | CallParser {
  return dialect === 'tags' ? createSharedTagParser(options) : createCallDialectParser(dialect, options);
}

export function createCallDialectParser(dialect: CallDialect, options: CallParserOptions = {}): CallParser {
  return dialect === 'tools' ? createToolsParser(options) : createStepParser(options);
}

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
  const take = (found: MemberScanFound, at: number): boolean => {
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

const WORDS = { where: 'A tool call', elsewhere: 'What the tool takes goes into "input".' };

/** An item of `tool_calls`: `{name, input}`, or `{tool, params}`, and beside them how to run it. */
function readStepCall(text: string, book: CallBook): ActionIntent | CallFault {
  const strict = strictJson(text);
  const item = readObject(text, strict);
  if (item === 'not_finite')
    return badStepCall(`did not run: a number in it is too large to be kept. ${LARGE_NUMBER}`);
  if (item === 'unreadable')
    return badStepCall(
      `is no object {"name": "…", "input": {…}} that can be read, so it did not run. Write ${QUOTING}.`,
    );
  const aliased = withOurNames(item, 'input');
  if (typeof aliased === 'string') return badCall(String(item.name ?? item.tool ?? item.action), aliased);
  const { name, input, ...run } = aliased;
  if (typeof name !== 'string' || name === '')
    return badStepCall(`has no "name" (it is ${shown(name)}), so it did not run.`);
  if (input !== undefined && input !== null && !isJsonObject(input))
    return badCall(name, `"input" must be an object, but it is ${shown(input)}.`);
  return readCall({ name, parameters: input ?? {}, run, ...WORDS, repaired: strict === undefined }, book);
}

const shown = (value: Json | undefined) =>
  value === undefined || value === null
    ? 'absent'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;

/** The fields of a step, in the order in which a model should write them. */
const STEP_FIELDS = [
  'thought',
  'metadata',
  'context_updates',
  'tool_calls',
  'notes',
  'evidence',
  'artifacts',
  'is_complete',
  'response',
  'output',
] as const;

/** What WorkRail and ReAct call these fields. */
const OTHER_NAMES: Readonly<Record<string, (typeof STEP_FIELDS)[number]>> = {
  notesMarkdown: 'notes',
  notes_so_far: 'notes',
  isComplete: 'is_complete',
  is_step_complete: 'is_complete',
  toolCalls: 'tool_calls',
  contextUpdates: 'context_updates',
};

/** Our name of a field. */
const fieldOf = (key: string): string => (Object.hasOwn(OTHER_NAMES, key) ? (OTHER_NAMES[key] ?? key) : key);

const UNLED_FIELDS = STEP_FIELDS.filter((field) => field !== 'evidence' && field !== 'artifacts');

/** Fields of a step that count only once all of it is there. */
export interface StepEnd {
  isComplete: boolean;
  notes: string;
  output: Json | undefined;
  /** false once a field was given under two names with different values. */
  isClear: boolean;
  /** The call of a step in the form of ReAct: one action, and its input. */
  readonly react: Record<string, Json>;
  /** The fields that were read so far: under which name each was written, and what it held. */
  readonly read: Map<string, { readonly key: string; readonly value: Json }>;
  /** Of a session that is led: what completes the step in hand, beside its notes. */
  readonly claim?: Record<string, Json> | undefined;
}

/** Reads a field that is complete: keeps it for the step's end, or gives the event that it is. `null` is absent. */
function readStepField(key: string, text: string, end: StepEnd): ParserEvent | undefined {
  const parsed = parseValue(text);
  if (parsed === 'unreadable') return badStepField(key, 'it is no JSON that can be read.');
  if (parsed === 'not_finite')
    return badStepField(key, `a number in it is too large to be kept. ${LARGE_NUMBER}`);
  const { value, repaired } = parsed;
  if (value === null) return undefined;
  const field = fieldOf(key);
  const before = end.read.get(field);
  if (before !== undefined && before.key !== key)
    return JSON.stringify(before.value) === JSON.stringify(value)
      ? undefined
      : bothGiven(before.key, key, end);
  end.read.set(field, { key, value });
  const mend = repaired ? ({ repaired } as const) : {};
  switch (field) {
    case 'metadata':
      return isJsonObject(value) ? { type: 'metadata', value, ...mend } : notAn('an object');
    case 'context_updates':
      if (isJsonObject(value) && end.claim !== undefined) {
        end.claim[field] = value;
        return undefined;
      }
      return isJsonObject(value) ? { type: 'variables', value, ...mend } : notAn('an object');
    case 'notes':
      if (typeof value !== 'string') return notAn('a text');
      end.notes = value;
      return undefined;
    case 'is_complete':
      if (typeof value !== 'boolean') return notAn('true or false');
      end.isComplete = value;
      return undefined;
    case 'output':
      end.output = value;
      return undefined;
    case 'evidence':
    case 'artifacts':
      if (end.claim === undefined) return strangeStepField(key, UNLED_FIELDS);
      if (!Array.isArray(value)) return notAn('a list');
      end.claim[key] = value;
      return undefined;
    case 'action':
      if (typeof value !== 'string') return notAn('the name of what is called');
      end.react.name = value;
      return undefined;
    case 'action_input':
      end.react.input = value;
      return undefined;
    case 'tool_calls':
      return notAn('a list');
    case 'thought':
    case 'response':
      return notAn('a text');
    default:
      return strangeStepField(key, end.claim === undefined ? UNLED_FIELDS : STEP_FIELDS);
  }

  function notAn(what: string) {
    return badStepField(key, `it must be ${what}.`);
  }
}

/** Of two names of one field that say different things nobody knows which counts: the step is not complete. */
function bothGiven(first: string, key: string, end: StepEnd): ParserEvent {
  end.isClear = false;
  return badStepField(key, `"${first}" is given too and differs. Write "${fieldOf(key)}" only.`);
}

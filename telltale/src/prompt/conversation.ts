import {
  FRAME_BREAK,
  FRAME_MARK,
  frameOf,
  type ProviderPart,
  readFrameHead,
  readTurnParts,
  type ToolCall,
  withoutMarks,
} from '../lib/calls.ts';
import { RuntimeError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import { estimateTokens } from '../lib/tokens.ts';
import { declaredIn } from '../log/action.ts';
import { nextTurn, variableValues } from '../log/fold-turns.ts';
import type { SessionState } from '../log/state.ts';
import { asFeedCall, type CallTarget } from '../parser/calls/call-names.ts';
import type { ActionIntent } from '../parser/intents.ts';
import { readObject, strictJson } from '../parser/json/tolerant-json.ts';
import { answerCalls, type CallStyle, readTurnCalls, type TurnCall } from './calls/answer-calls.ts';
import { MAX_SHOWN, MAX_SUMMARY, RESULTS_AT_ONCE } from './limits.ts';
import { messageHash, type Opening, TOKENS_PER_MESSAGE } from './opening.ts';
import { resultCharsIn } from './part-limits.ts';
import type { Prompt, PromptMessage } from './prompt.ts';
import {
  type BlockStyle,
  renderBlock,
  renderFeeds,
  renderNews,
  renderTask,
  type TaskStyle,
  type Told,
} from './render-block.ts';
import type { ResultRoom } from './render-results.ts';
import { cutText, type Escape, withoutFlood } from './text.ts';

/** What a model said in a turn, as its message in the conversation holds it. */
export interface AssistantMessage {
  readonly text: string;
  readonly parts?: readonly ProviderPart[] | undefined;
}

interface ConversationSaid {
  readonly output: string;
  readonly parts?: readonly ProviderPart[] | undefined;
}

/**
 * A turn as it stands in the conversation: a call that broke off is text in it, since no provider takes half a call. A
 * call that was repaired stands there as it ran, and of one that was too large to be read only its size.
 */
function assistantMessage(
  { output, parts }: ConversationSaid,
  calls: readonly TurnCall[],
  style: CallStyle,
): AssistantMessage {
  if (!output.includes(FRAME_MARK)) return { text: output, parts };
  const meant = calls.values();
  let text = '';
  let at = 0;
  const moved: ProviderPart[] = [];
  for (const part of parts ?? []) {
    text += shownCalls(output.slice(at, part.at), meant, style);
    at = part.at;
    moved.push({ ...part, at: text.length });
  }
  text += shownCalls(output.slice(at), meant, style);
  return { text, parts: parts === undefined ? undefined : moved };
}

/** `calls` gives what each whole call meant, in order. */
function shownCalls(output: string, calls: Iterator<TurnCall>, style: CallStyle): string {
  let shown = '';
  let at = 0;
  for (let mark = output.indexOf(FRAME_MARK); mark !== -1; mark = output.indexOf(FRAME_MARK, at)) {
    const headEnd = output.indexOf(FRAME_BREAK, mark);
    const inputEnd = headEnd === -1 ? -1 : output.indexOf(FRAME_MARK, headEnd);
    const end = inputEnd === -1 ? -1 : output.indexOf(FRAME_BREAK, inputEnd);
    if (end === -1) return shown + output.slice(at, mark) + brokenCall(output, mark, headEnd);
    shown += output.slice(at, mark) + asItRan(output.slice(mark, end + 1), calls.next().value, style);
    at = end + 1;
  }
  return shown + output.slice(at);
}

function asItRan(frame: string, meant: TurnCall | undefined, style: CallStyle): string {
  const [call] = readTurnParts(frame);
  if (call?.type !== 'call') return frame;
  const action = meant?.events.find((event) => event.type === 'action');
  const { name, input } = asOffered(
    {
      name: nameItRanBy(call.name, action, style),
      input: inputItRanWith(call.input, style.maxBody),
    },
    action,
    style,
  );
  return name === call.name && input === call.input ? frame : frameOf({ ...call, name, input });
}

/** Logs of earlier versions have actions on feeds by names of their own, and a model may still call them so. */
function asOffered(
  call: { readonly name: string; readonly input: string },
  action: ActionIntent | undefined,
  style: CallStyle,
): typeof call {
  if (style.dialect !== 'tools' || action?.kind !== 'internal' || action.name === undefined) return call;
  const offered = asFeedCall({ name: action.name, parameters: {} });
  if (offered.name === action.name) return call;
  const input = strictJson(/\S/.test(call.input) ? call.input : '{}');
  if (!isJsonObject(input)) return call;
  return {
    name: nativeOf({ kind: 'internal', name: offered.name }, style) ?? call.name,
    input: JSON.stringify({ ...offered.parameters, ...input }),
  };
}

/** A name that no tool has may have been read as that of one. */
function nameItRanBy(name: string, action: ActionIntent | undefined, style: CallStyle): string {
  const { names, dialect } = style;
  const plain = names.plain(name);
  // A step is no call of the target that it calls.
  if (plain !== name || names.natives.includes(name) || dialect === 'step') return plain;
  return (action === undefined ? undefined : nativeOf(action, style)) ?? name;
}

const nativeOf = ({ kind, name }: Partial<CallTarget>, { names }: CallStyle): string | undefined =>
  names.natives.find((native) => {
    const target = names.find(native);
    return target !== undefined && target.kind === kind && target.name === name;
  });

function inputItRanWith(input: ToolCall['input'], maxBody: number): string {
  if (input.length > maxBody)
    return JSON.stringify({
      left_out: `${input.length} characters, more than the ${maxBody} that a call may have`,
    });
  if (!/\S/.test(input)) return input;
  const strict = strictJson(input);
  if (isJsonObject(strict)) return input;
  const value = readObject(input, strict);
  return typeof value === 'string' ? input : JSON.stringify(value);
}

function brokenCall(output: string, mark: number, headEnd: number): string {
  if (headEnd === -1) return '[a call that broke off]';
  const { name } = readFrameHead(output.slice(mark + 1, headEnd));
  return `[a call of ${name} that broke off: ${withoutMarks(output.slice(headEnd + 1))}]`;
}

/** What the first block begins with once old turns were compacted: what was asked for, and what came of it so far. */
export function renderSummary({ compaction, input }: SessionState, style: TaskStyle): string {
  const { safe } = style;
  if (compaction === undefined) return '';
  const task = compaction.task === undefined ? '' : `\n\n${renderTask(compaction.task, style)}`;
  const feeds = compaction.feeds === undefined ? '' : `\n\n${renderFeeds(compaction.feeds, style)}`;
  return `The conversation up to and with turn ${compaction.through} was replaced by a summary. It began with this message:\n${shortened(input, MAX_SHOWN, safe)}\n\nSummary of what happened since:\n${shortened(compaction.summary, MAX_SUMMARY, safe)}${feeds}${task}`;
}

function shortened(text: string, max: number, safe: Escape): string {
  const { head, tail, omitted } = cutText(text, max);
  return omitted === 0 ? safe(head) : `${safe(head)}\n[… ${omitted} characters left out …]\n${safe(tail)}`;
}

/** The prompt of a session, as it grows. Nothing in it is ever rewritten. */
export class Conversation {
  readonly #opening: Opening;
  #style: BlockStyle;
  #messages: PromptMessage[] = [];
  #chars: number;
  #tokens: number;
  #hash: string;
  #last: Prompt | undefined;
  /** The turn that the last block was made for, and the compaction that the first one stands behind. */
  #asked: number | undefined;
  #compacted: number | undefined;
  /** Ids that were given out in the turns so far, where calls have to be read again. */
  #ids = new Set<string>();

  constructor(opening: Opening) {
    this.#opening = opening;
    this.#style = styleIn(opening.style, opening.contextWindow);
    this.#chars = opening.system.length;
    this.#tokens = opening.systemTokens;
    this.#hash = opening.frame.hash;
  }

  /** The prompt of the last turn; undefined before the first. */
  prompt(): Prompt | undefined {
    return this.#last;
  }

  /** Tokens of what stands in front of the conversation, about. */
  systemTokens(): number {
    return this.#opening.systemTokens;
  }

  /**
   * Call it once before each `turn.started`, and only then: adds what the model said in the last turn and one block
   * with the news, at a cost that depends on these alone.
   */
  extend(state: SessionState): Prompt {
    const last = state.turns.at(-1);
    if (last?.turn !== this.#asked || state.compaction?.through !== this.#compacted)
      throw outOfStep(last?.turn, this.#asked);
    return this.#addTurn(state, state.turns.length - 1, nextTurn(state), coming(state));
  }

  /**
   * Makes the conversation anew from a folded state: after a restart, and after `prompt.compacted`. Gives, character
   * for character, what extending it turn by turn gave; the old messages are left as they are. `told` gets the prompt of
   * each turn that still stands in it.
   */
  rebuild(state: SessionState, told?: (turn: number, prompt: Prompt) => void): Prompt | undefined {
    const { system, systemTokens, calls, frame, style, contextWindow } = this.#opening;
    this.#style = styleIn(style, Math.min(contextWindow, state.window ?? contextWindow));
    this.#messages = [];
    this.#chars = system.length;
    this.#tokens = systemTokens;
    this.#hash = frame.hash;
    this.#last = undefined;
    this.#asked = undefined;
    this.#compacted = state.compaction?.through;
    if (calls !== undefined)
      this.#ids = calls.takenIds(state, state.turns[0]?.turn ?? Number.POSITIVE_INFINITY);
    for (const [index, record] of state.turns.entries()) {
      const prompt = this.#addTurn(state, index - 1, record.turn, record);
      told?.(record.turn, prompt);
    }
    return this.#last;
  }

  /** Lets go of all of it: nothing is asked any more. */
  end(): void {
    this.#messages = [];
    this.#last = undefined;
  }

  /** What was said in the turn at `index`, the answers to its calls, and then what `told` has to tell beside them. */
  #addTurn(state: SessionState, index: number, turn: number, told: Told): Prompt {
    const { calls } = this.#opening;
    const record = state.turns[index];
    if (record === undefined) return this.#ask(state, turn, told, undefined);
    const output = withoutFlood(record.output, told.news.faults);
    if (calls === undefined) {
      this.#addResponse({ text: output, parts: record.parts });
      return this.#ask(state, turn, told, undefined);
    }
    const isAction = (id: string) => declaredIn(state.actions, record.turn, id) !== undefined;
    const read = readTurnCalls({ output: record.output, ids: this.#ids, isAction }, calls);
    this.#addResponse(assistantMessage({ output, parts: record.parts }, read, calls));
    if (read.length === 0) return this.#ask(state, turn, told, undefined);
    const answered = answerCalls(read, record.turn, told, state.actions, this.#style, calls);
    const { answers } = answered;
    this.#add({ role: 'tool', text: answers.map(({ text }) => text).join('\n'), answers });
    return this.#ask(state, turn, answered.told, answered.room);
  }

  /** Providers refuse messages without any text: a turn that broke off before its first word leaves none. */
  #addResponse({ text, parts }: AssistantMessage): void {
    // Nearly all begin with a tag.
    if (!text.startsWith('<') && !/\S/.test(text)) return;
    this.#add(parts === undefined ? { role: 'assistant', text } : { role: 'assistant', text, parts });
  }

  #ask(state: SessionState, turn: number, told: Told, room: ResultRoom | undefined): Prompt {
    const style = this.#style;
    const { system, frame } = this.#opening;
    const isFirst = this.#messages.length === 0;
    const first = isFirst && state.compaction !== undefined ? 'again' : isFirst;
    // Behind the answers to calls nothing has to be said.
    const block =
      room === undefined
        ? renderBlock(told, state.actions, first, style)
        : renderNews(told, state.actions, first, style, room);
    const summary = isFirst ? renderSummary(state, style) : '';
    const text = summary === '' ? block : `${summary}\n\n${block}`;
    if (text !== '') this.#add({ role: 'user', text });
    this.#asked = turn;
    const messages = this.#messages;
    this.#last = {
      system,
      messages,
      count: messages.length,
      chars: this.#chars,
      tokens: this.#tokens,
      hash: this.#hash,
      frame,
    };
    return this.#last;
  }

  #add(message: PromptMessage): void {
    const { text, parts = [] } = message;
    this.#messages.push(message);
    this.#hash = messageHash(this.#hash, message);
    this.#chars += text.length;
    this.#tokens += estimateTokens(text) + TOKENS_PER_MESSAGE;
    for (const part of parts) this.#tokens += estimateTokens(part.text ?? '');
  }
}

export const createConversation = (opening: Opening): Conversation => new Conversation(opening);

/** The style as it is, unless the window has less room for results than usual. */
function styleIn(style: BlockStyle, contextWindow: number): BlockStyle {
  const resultChars = resultCharsIn(contextWindow);
  return resultChars < style.maxResult * RESULTS_AT_ONCE ? { ...style, resultChars } : style;
}

/** What the record of the coming turn will hold: `turn.started` moves it there. The block names only what is told. */
const coming = (state: SessionState): Told => {
  const { news, open, metadata, variables, off } = state;
  const running = open.size === 0 ? [] : [...open];
  const told = off.length === 0 ? { news, running, metadata } : { news, running, metadata, off };
  return variables.size === 0 ? told : { ...told, variables: variableValues(state) };
};

const outOfStep = (last: number | undefined, asked: number | undefined) =>
  new RuntimeError(
    'prompt_out_of_step',
    `The conversation was made up to turn ${asked ?? 'none'}, but the last turn of the session is ${last ?? 'none'} or its prompt was compacted.`,
    { hint: 'Call extend() once before each turn.started, and rebuild() after a restart or a compaction.' },
  );

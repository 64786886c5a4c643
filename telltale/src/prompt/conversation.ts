import type { ProviderPart } from '../lib/calls.ts';
import {
  FRAME_BREAK,
  FRAME_MARK,
  frameOf,
  readFrameHead,
  readTurnParts,
  type ToolCall,
  withoutMarks,
} from '../lib/calls.ts';
import { RuntimeError } from '../lib/errors.ts';
import { added, NONE } from '../lib/grow.ts';
import { isJsonObject } from '../lib/json.ts';
import { estimateTokens } from '../lib/tokens.ts';
import { withMethods } from '../lib/with-methods.ts';
import { declaredIn } from '../log/action-id.ts';
import { nextTurn, variableValues } from '../log/fold-turns.ts';
import type { SessionState } from '../log/state.ts';
import type { CallTarget } from '../parser/calls/call-names.ts';
import { asFeedCall } from '../parser/calls/call-names.ts';
import type { ActionIntent } from '../parser/intents.ts';
import { readObject, strictJson } from '../parser/json/tolerant-json.ts';
import type { CallStyle } from './calls/answer-calls.ts';
import { answerCalls, readTurnCalls, type TurnCall } from './calls/answer-calls.ts';
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
import type { Escape } from './text.ts';
import { cutText, withoutFlood } from './text.ts';

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
export interface Conversation {
  /** The prompt of the last turn; undefined before the first. */
  prompt(): Prompt | undefined;
  /** Tokens of what stands in front of the conversation, about. */
  systemTokens(): number;
  /**
   * Call it once before each `turn.started`, and only then: adds what the model said in the last turn and one block
   * with the news, at a cost that depends on these alone.
   */
  extend(state: SessionState): Prompt;
  /**
   * Makes the conversation anew from a folded state: after a restart, and after `prompt.compacted`. Gives, character
   * for character, what extending it turn by turn gave; the old messages are left as they are. `told` gets the prompt of
   * each turn that still stands in it.
   */
  rebuild(state: SessionState, told?: (turn: number, prompt: Prompt) => void): Prompt | undefined;
  /** Lets go of all of it: nothing is asked any more. */
  end(): void;
}

interface OwnConversation extends Conversation {
  readonly opening: Opening;
  style: BlockStyle;
  messages: readonly PromptMessage[];
  chars: number;
  tokens: number;
  hash: string;
  last: Prompt | undefined;
  /** The turn that the last block was made for, and the compaction that the first one stands behind. */
  asked: number | undefined;
  compacted: number | undefined;
  /** Ids that were given out in the turns so far, where calls have to be read again: made for the first. */
  ids: Set<string> | undefined;
}

const METHODS = { prompt, systemTokens, extend, rebuild, end };

export const createConversation = (opening: Opening): Conversation =>
  withMethods<OwnConversation, keyof typeof METHODS>(METHODS, {
    // A copy: docs/decisions/copies.md
    opening,
    style: styleIn(opening.style, opening.contextWindow),
    messages: NONE,
    chars: opening.system.length,
    tokens: opening.systemTokens,
    hash: opening.frame.hash,
    last: undefined,
    asked: undefined,
    compacted: undefined,
    ids: undefined,
  });

function prompt(this: OwnConversation): Prompt | undefined {
  return this.last;
}

function systemTokens(this: OwnConversation): number {
  return this.opening.systemTokens;
}

/** The style as it is, unless the window has less room for results than usual. */
function styleIn(style: BlockStyle, contextWindow: number): BlockStyle {
  const resultChars = resultCharsIn(contextWindow);
  return resultChars < style.maxResult * RESULTS_AT_ONCE ? { ...style, resultChars } : style;
}

function extend(this: OwnConversation, state: SessionState): Prompt {
  const { asked } = this;
  const last = state.turns.at(-1);
  if (last?.turn !== asked || state.compaction?.through !== this.compacted)
    throw outOfStep(last?.turn, asked);
  return goOn(this, state, state.turns.length - 1, nextTurn(state), coming(state));
}

function rebuild(
  this: OwnConversation,
  state: SessionState,
  told?: (turn: number, prompt: Prompt) => void,
): Prompt | undefined {
  const { system, systemTokens, calls, frame } = this.opening;
  const { style, contextWindow } = this.opening;
  this.style = styleIn(style, Math.min(contextWindow, state.window ?? contextWindow));
  this.messages = NONE;
  this.chars = system.length;
  this.tokens = systemTokens;
  this.hash = frame.hash;
  this.last = undefined;
  this.asked = undefined;
  this.compacted = state.compaction?.through;
  if (calls !== undefined) this.ids = calls.takenIds(state, state.turns[0]?.turn ?? Number.POSITIVE_INFINITY);
  for (const [index, record] of state.turns.entries()) {
    const prompt = goOn(this, state, index - 1, record.turn, record);
    told?.(record.turn, prompt);
  }
  return this.last;
}

function end(this: OwnConversation): void {
  this.messages = NONE;
  this.last = undefined;
}

/** What was said in the turn at `index`, the answers to its calls, and then what `told` has to tell beside them. */
function goOn(
  conversation: OwnConversation,
  state: SessionState,
  index: number,
  turn: number,
  told: Told,
): Prompt {
  const { style } = conversation;
  const { calls } = conversation.opening;
  const record = state.turns[index];
  if (record === undefined) return ask(conversation, state, turn, told, undefined);
  const output = withoutFlood(record.output, told.news.faults);
  if (calls === undefined) {
    hear(conversation, { text: output, parts: record.parts });
    return ask(conversation, state, turn, told, undefined);
  }
  const isAction = (id: string) => declaredIn(state.actions, record.turn, id) !== undefined;
  conversation.ids ??= new Set();
  const read = readTurnCalls({ output: record.output, ids: conversation.ids, isAction }, calls);
  hear(conversation, assistantMessage({ output, parts: record.parts }, read, calls));
  if (read.length === 0) return ask(conversation, state, turn, told, undefined);
  const answered = answerCalls(read, record.turn, told, state.actions, style, calls);
  add(conversation, 'tool', answered.answers.map(({ text }) => text).join('\n'), {
    answers: answered.answers,
  });
  return ask(conversation, state, turn, answered.told, answered.room);
}

/** Providers refuse messages without any text: a turn that broke off before its first word leaves none. */
function hear(conversation: OwnConversation, { text, parts }: AssistantMessage): void {
  // Nearly all begin with a tag.
  if (!text.startsWith('<') && !/\S/.test(text)) return;
  if (parts === undefined) add(conversation, 'assistant', text);
  else add(conversation, 'assistant', text, { parts });
}

function ask(
  conversation: OwnConversation,
  state: SessionState,
  turn: number,
  told: Told,
  room: ResultRoom | undefined,
): Prompt {
  const { style } = conversation;
  const { system, frame } = conversation.opening;
  const isFirst = conversation.messages.length === 0;
  const first = isFirst && state.compaction !== undefined ? 'again' : isFirst;
  // Behind the answers to calls nothing has to be said.
  const block =
    room === undefined
      ? renderBlock(told, state.actions, first, style)
      : renderNews(told, state.actions, first, style, room);
  const summary = isFirst ? renderSummary(state, style) : '';
  const text = summary === '' ? block : `${summary}\n\n${block}`;
  if (text !== '') add(conversation, 'user', text);
  conversation.asked = turn;
  const { messages, chars, tokens, hash } = conversation;
  conversation.last = { ...PROMPT, system, messages, count: messages.length, chars, tokens, hash, frame };
  return conversation.last;
}

// Copied: literals of what is kept from turn to turn would be made in the old generation, and stay there.
const MESSAGE: PromptMessage = { role: 'user', text: '' };
const PROMPT: Prompt = {
  system: '',
  messages: NONE,
  count: 0,
  chars: 0,
  tokens: 0,
  hash: '',
  frame: { hash: '', system: '', tools: '', options: '' },
};

function add(
  conversation: OwnConversation,
  role: PromptMessage['role'],
  text: string,
  beside?: Pick<PromptMessage, 'answers' | 'parts'>,
): void {
  const plain = { ...MESSAGE, role, text };
  const message = beside === undefined ? plain : { ...plain, ...beside };
  conversation.messages = added(conversation.messages, message);
  conversation.hash = messageHash(conversation.hash, message);
  conversation.chars += text.length;
  conversation.tokens += estimateTokens(text) + TOKENS_PER_MESSAGE;
  for (const part of beside?.parts ?? []) conversation.tokens += estimateTokens(part.text ?? '');
}

/** What the record of the coming turn will hold: `turn.started` moves it there. The block names only what is told. */
const coming = (state: SessionState): Told => {
  const { news, open, metadata, variables, off } = state;
  const running = open.size === 0 ? NONE : [...open];
  const told = off.length === 0 ? { news, running, metadata } : { news, running, metadata, off };
  return variables.size === 0 ? told : { ...told, variables: variableValues(state) };
};

const outOfStep = (last: number | undefined, asked: number | undefined) =>
  new RuntimeError(
    'prompt_out_of_step',
    `The conversation was made up to turn ${asked ?? 'none'}, but the last turn of the session is ${last ?? 'none'} or its prompt was compacted.`,
    { hint: 'Call extend() once before each turn.started, and rebuild() after a restart or a compaction.' },
  );

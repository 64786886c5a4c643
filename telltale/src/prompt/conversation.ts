import { variableValues } from '../events/fold-turns.ts';
import type { SessionState } from '../events/state.ts';
import { estimateTokens } from '../kernel/estimate-tokens.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { blockStyle } from './block-style.ts';
import { answerCalls } from './calls/answer-calls.ts';
import { assistantText } from './calls/assistant-text.ts';
import type { CallStyle } from './calls/call-style.ts';
import { readTurnCalls } from './calls/read-turn-calls.ts';
import { saidBefore } from './calls/said-before.ts';
import type { PartLimits } from './part-limits.ts';
import type { Prompt, PromptMessage, PromptTool } from './prompt.ts';
import { type BlockStyle, renderBlock, renderNews, type Told } from './render-block.ts';
import type { ResultRoom } from './render-results.ts';
import { renderSummary } from './render-summary.ts';

export interface ConversationOptions {
  /** Instructions and primer: fixed for the session. */
  readonly system: string;
  readonly agent: AgentManifest;
  /** The session's key, where `protocol.seal` is on. */
  readonly seal?: string | undefined;
  /** Where the model calls tools natively. */
  readonly calls?: CallStyle | undefined;
  /** Where the manifest cuts parts of the prompt. */
  readonly parts?: PartLimits | undefined;
  /** What it can call so: a provider puts them before the conversation. */
  readonly tools?: readonly PromptTool[] | undefined;
}

/** How a conversation begins, and how it is written: the same for all sessions of an agent that have no seal. */
export interface Opening {
  readonly system: string;
  /** Of the system prompt and of the tools. */
  readonly systemTokens: number;
  readonly style: BlockStyle;
  readonly calls: CallStyle | undefined;
}

export const openingOf = ({ system, agent, seal, calls, tools, parts }: ConversationOptions): Opening => ({
  system,
  systemTokens:
    estimateTokens(system) +
    (tools === undefined ? 0 : estimateTokens(JSON.stringify(tools))) +
    TOKENS_PER_MESSAGE,
  style: blockStyle(agent, seal, parts),
  calls,
});

/** The prompt of a session, as it grows. Nothing in it is ever rewritten. */
export interface Conversation {
  /** The prompt of the last turn; undefined before the first. */
  prompt(): Prompt | undefined;
  /**
   * Call it once before each `turn.started`, and only then: adds what the model said in the last turn and one block
   * with the news, at a cost that depends on these alone.
   */
  extend(state: SessionState): Prompt;
  /**
   * Makes the conversation anew from a folded state: after a restart, and after `prompt.compacted`. Gives, character
   * for character, what extending it turn by turn gave; the old messages are left as they are.
   */
  rebuild(state: SessionState): Prompt | undefined;
}

/** What a request costs beside the text of a message. */
const TOKENS_PER_MESSAGE = 4;

export function createConversation({ system, systemTokens, style, calls }: Opening): Conversation {
  let messages: PromptMessage[] = [];
  let chars = system.length;
  let tokens = systemTokens;
  let prompt: Prompt | undefined;
  /** The turn that the last block was made for, and the compaction that the first one stands behind. */
  let asked: number | undefined;
  let compacted: number | undefined;
  /** Ids that were given out in the turns so far, where calls have to be read again. */
  let ids = new Set<string>();

  const add = (role: PromptMessage['role'], text: string, answers?: PromptMessage['answers']) => {
    messages.push(answers === undefined ? { role, text } : { role, text, answers });
    chars += text.length;
    tokens += estimateTokens(text) + TOKENS_PER_MESSAGE;
  };

  const ask = (state: SessionState, turn: number, told: Told, room: ResultRoom | undefined): Prompt => {
    const first = messages.length === 0;
    // Behind the answers to calls nothing has to be said.
    const block =
      room === undefined
        ? renderBlock(told, state.actions, first, style)
        : renderNews(told, state.actions, first, style, room);
    const summary = first ? renderSummary(state, style) : '';
    const text = summary === '' ? block : `${summary}\n\n${block}`;
    if (text !== '') add('user', text);
    asked = turn;
    prompt = { system, messages, count: messages.length, chars, tokens };
    return prompt;
  };

  /** Providers refuse messages without any text: a turn that broke off before its first word leaves none. */
  const hear = (output: string) => {
    if (/\S/.test(output)) add('assistant', output);
  };

  /** What was said in the turn at `index`, the answers to its calls, and then what `told` has to tell beside them. */
  const goOn = (state: SessionState, index: number, turn: number, told: Told): Prompt => {
    const record = state.turns[index];
    if (record === undefined) return ask(state, turn, told, undefined);
    if (calls === undefined) {
      hear(record.output);
      return ask(state, turn, told, undefined);
    }
    const before = saidBefore(state.turns, index);
    const isAction = (id: string) => state.actions.get(id)?.turn === record.turn;
    const read = readTurnCalls({ output: record.output, before, ids, isAction }, calls);
    hear(assistantText(record.output, read.resumed));
    if (read.calls.length === 0) return ask(state, turn, told, undefined);
    const answered = answerCalls(read.calls, record.turn, told, state.actions, style, calls);
    add('tool', answered.answers.map(({ text }) => text).join('\n'), answered.answers);
    return ask(state, turn, answered.told, answered.room);
  };

  return {
    prompt: () => prompt,
    extend(state) {
      const last = state.turns.at(-1);
      if (last?.turn !== asked || state.compaction?.through !== compacted) throw outOfStep(last?.turn, asked);
      return goOn(state, state.turns.length - 1, state.turn + 1, coming(state));
    },
    rebuild(state) {
      messages = [];
      chars = system.length;
      tokens = systemTokens;
      prompt = undefined;
      asked = undefined;
      compacted = state.compaction?.through;
      if (calls !== undefined) ids = calls.takenIds(state, state.turns[0]?.turn ?? Number.POSITIVE_INFINITY);
      for (const [index, record] of state.turns.entries()) goOn(state, index - 1, record.turn, record);
      return prompt;
    },
  };
}

/** What the record of the coming turn will hold: `turn.started` moves it there. The block names only what is told. */
const coming = (state: SessionState): Told => {
  const { news, open, metadata, variables, off } = state;
  const told = { news, running: [...open], metadata, ...(off.length === 0 ? {} : { off }) };
  return variables.size === 0 ? told : { ...told, variables: variableValues(state) };
};

const outOfStep = (last: number | undefined, asked: number | undefined) =>
  new RuntimeError(
    'prompt_out_of_step',
    `The conversation was made up to turn ${asked ?? 'none'}, but the last turn of the session is ${last ?? 'none'} or its prompt was compacted.`,
    { hint: 'Call extend() once before each turn.started, and rebuild() after a restart or a compaction.' },
  );

import type { SessionState, TurnRecord } from '../events/state.ts';
import { estimateTokens } from '../kernel/estimate-tokens.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { blockStyle } from './block-style.ts';
import type { Prompt, PromptMessage } from './prompt.ts';
import { type BlockStyle, renderBlock, type Told } from './render-block.ts';
import { renderSummary } from './render-summary.ts';

export interface ConversationOptions {
  /** Instructions and primer: fixed for the session. */
  readonly system: string;
  readonly agent: AgentManifest;
  /** The session's key, where `protocol.seal` is on. */
  readonly seal?: string | undefined;
}

/** How a conversation begins, and how it is written: the same for all sessions of an agent that have no seal. */
export interface Opening {
  readonly system: string;
  readonly systemTokens: number;
  readonly style: BlockStyle;
}

export const openingOf = ({ system, agent, seal }: ConversationOptions): Opening => ({
  system,
  systemTokens: estimateTokens(system) + TOKENS_PER_MESSAGE,
  style: blockStyle(agent, seal),
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

export function createConversation({ system, systemTokens, style }: Opening): Conversation {
  let messages: PromptMessage[] = [];
  let chars = system.length;
  let tokens = systemTokens;
  let prompt: Prompt | undefined;
  /** The turn that the last block was made for, and the compaction that the first one stands behind. */
  let asked: number | undefined;
  let compacted: number | undefined;

  const add = (role: PromptMessage['role'], text: string) => {
    messages.push({ role, text });
    chars += text.length;
    tokens += estimateTokens(text) + TOKENS_PER_MESSAGE;
  };

  const ask = (state: SessionState, turn: number, told: Told): Prompt => {
    const first = messages.length === 0;
    const block = renderBlock(told, state.actions, first, style);
    const summary = first ? renderSummary(state, style.safe) : '';
    add('user', summary === '' ? block : `${summary}\n\n${block}`);
    asked = turn;
    prompt = { system, messages, count: messages.length, chars, tokens };
    return prompt;
  };

  /** Providers refuse messages without any text: a turn that broke off before its first word leaves none. */
  const hear = (record: TurnRecord) => {
    if (/\S/.test(record.output)) add('assistant', record.output);
  };

  return {
    prompt: () => prompt,
    extend(state) {
      const last = state.turns.at(-1);
      if (last?.turn !== asked || state.compaction?.through !== compacted) throw outOfStep(last?.turn, asked);
      if (last !== undefined) hear(last);
      return ask(state, state.turn + 1, coming(state));
    },
    rebuild(state) {
      messages = [];
      chars = system.length;
      tokens = systemTokens;
      prompt = undefined;
      asked = undefined;
      compacted = state.compaction?.through;
      for (const [index, record] of state.turns.entries()) {
        const before = state.turns[index - 1];
        if (before !== undefined) hear(before);
        ask(state, record.turn, record);
      }
      return prompt;
    },
  };
}

/** What the record of the coming turn will hold: `turn.started` moves it there. The block names only what is told. */
const coming = ({ news, open, metadata }: SessionState): Told => ({ news, running: [...open], metadata });

const outOfStep = (last: number | undefined, asked: number | undefined) =>
  new RuntimeError(
    'prompt_out_of_step',
    `The conversation was made up to turn ${asked ?? 'none'}, but the last turn of the session is ${last ?? 'none'} or its prompt was compacted.`,
    { hint: 'Call extend() once before each turn.started, and rebuild() after a restart or a compaction.' },
  );

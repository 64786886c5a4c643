import { isHandoff, isReported } from '../../../log/action.ts';
import type { ObservedEvent } from '../../../log/event.ts';
import { speakerEventOf } from '../../../log/fold-handoffs.ts';
import type { ExchangeEnd } from '../exchange/exchange.ts';
import { addUsage, type ExchangeUsage, NO_USAGE } from '../exchange/exchange.ts';
import { callKey, createSpeechFold, type SpeechBeat } from '../exchange/fold-speech.ts';
import type { CompletionChunk, CompletionUsage } from './completion.ts';
import { answerWithdrawn, type OpenAiError, openAiError } from './completion.ts';

/** Folds a session into the chunks of one completion. Pure but for its own memory. */
export interface CompletionFold {
  begin(): readonly CompletionChunk[];
  take(event: ObservedEvent): readonly CompletionChunk[];
  end(end: ExchangeEnd): readonly (CompletionChunk | OpenAiError)[];
}

export interface CompletionRun {
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly created: number;
  readonly model: string;
  readonly includeUsage: boolean;
  /** Whether an answer may turn out to be none once it is whole: the agent has an output schema. */
  readonly checked: boolean;
  /** Where the conversation may move to other agents: the one that it begins with. All of their answers are content. */
  readonly first?: string | undefined;
}

/**
 * Text that was sent cannot be taken back, and all of it together has to be the final response. So a response that is
 * meant to be final is sent as it comes only while nothing can undo it: no action whose result the model has not seen, no
 * fault, no message. Otherwise it is sent once it counts. Thoughts, and responses on the way, are `reasoning_content`.
 */
export function createCompletionFold(run: CompletionRun): CompletionFold {
  const { id, created, model, includeUsage, first } = run;
  const speech = createSpeechFold();
  const running = new Set<string>();
  let usage = NO_USAGE;
  /** Whether something happened in this turn that may undo its final response. */
  let doubtful = false;
  let sent = '';
  /** Whether what was sent as content turned out not to be an answer. */
  let isWithdrawn = false;
  /** The response in hand: whether its pieces are sent, and as what; all of it, and what was sent of it as content. */
  let flow: 'content' | 'reasoning' | 'held' = 'held';
  let response = '';
  let begun = '';
  let speaker = first;

  const chunk = (
    delta: CompletionChunk['choices'][number]['delta'],
    finish: 'stop' | null = null,
  ): CompletionChunk => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(speaker === undefined ? {} : { telltale: { agent: speaker } }),
    ...(includeUsage ? { usage: null } : {}),
  });
  const content = (text: string): readonly CompletionChunk[] => {
    if (text === '') return [];
    const gap = first !== undefined && begun === '' && sent !== '' ? BETWEEN_ANSWERS : '';
    sent += gap + text;
    begun += text;
    return [chunk({ content: gap + text })];
  };

  const spoken = (beat: SpeechBeat): readonly CompletionChunk[] => {
    switch (beat.kind) {
      case 'open': {
        if (first !== undefined) speaker = beat.speaker ?? first;
        if (beat.voice === 'thought') return [];
        response = '';
        begun = '';
        const isLate = sent !== '' && first === undefined;
        if (!beat.meant) flow = 'reasoning';
        else flow = run.checked || doubtful || running.size > 0 || isLate ? 'held' : 'content';
        return [];
      }
      case 'text':
        if (beat.voice === 'thought') return [chunk({ reasoning_content: beat.text })];
        response += beat.text;
        if (flow === 'content' && doubtful) flow = 'held';
        if (flow === 'held') return [];
        return flow === 'content' ? content(beat.text) : [chunk({ reasoning_content: beat.text })];
      case 'close':
        if (beat.voice === 'thought' || first === undefined) return [];
        if (beat.final) return content(response.slice(begun.length));
        isWithdrawn ||= begun !== '';
        return [];
    }
  };
  const note = (given: ObservedEvent) => {
    const of = speakerEventOf(given);
    const event = of?.event ?? given;
    const key = (action: string) => callKey(action, of?.speaker);
    switch (event.type) {
      case 'turn.started':
        doubtful = false;
        break;
      case 'action.declared':
        // The answer beside a handoff counts.
        if (isReported(event.action) && !isHandoff(event.action)) running.add(key(event.action.id));
        break;
      case 'action.completed':
      case 'action.failed':
      case 'action.skipped':
      case 'action.cancelled':
      case 'action.interrupted':
        if (running.delete(key(event.id))) doubtful = true;
        break;
      case 'fault':
      case 'message.received':
        doubtful = true;
        break;
      default:
        break;
    }
  };
  const answered = (text: string): readonly (CompletionChunk | OpenAiError)[] => {
    const rest = first === undefined ? text.slice(sent.length) : sent === '' ? text : '';
    if (isWithdrawn || (first === undefined && !text.startsWith(sent)))
      return [openAiError(answerWithdrawn(), 'server_error')];
    return [
      ...content(rest),
      chunk({}, 'stop'),
      ...(includeUsage
        ? [{ ...chunk({}), choices: [], usage: completionUsage(usage) } satisfies CompletionChunk]
        : []),
    ];
  };

  return {
    begin: () => [chunk({ role: 'assistant', content: '' })],
    take(event) {
      usage = addUsage(usage, event);
      note(event);
      return speech.take(event).flatMap(spoken);
    },
    end(end) {
      switch (end.kind) {
        case 'answered':
          return answered(end.text);
        case 'stopped':
          return [openAiError({ code: 'session_cancelled', message: end.reason }, 'server_error')];
        case 'failed':
          return [openAiError(end.error, 'server_error')];
        case 'paused':
          return []; // waiting for people does not end an exchange of this protocol
      }
    },
  };
}

/** Between what one agent of a conversation answers, and the next. */
export const BETWEEN_ANSWERS = '\n\n';

export const completionUsage = (usage: ExchangeUsage): CompletionUsage => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cached },
});

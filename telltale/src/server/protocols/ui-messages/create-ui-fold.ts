import { uncoveredText } from '../../../lib/approved-files.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { visibleText } from '../../../lib/text.ts';
import type { ObservedEvent } from '../../../log/event.ts';
import { speakerEventOf } from '../../../log/fold-handoffs.ts';
import type { ExchangeEnd, ExchangeReview } from '../exchange/exchange.ts';
import { addUsage, NO_USAGE, newsOf } from '../exchange/exchange.ts';
import {
  type CallBeat,
  callKey,
  createCallFold,
  createSpeechFold,
  type SpeechBeat,
} from '../exchange/fold-speech.ts';

/** Folds an exchange into a message of the AI SDK. Pure but for its own memory. */
export interface UiFold {
  begin(): readonly UiChunk[];
  take(event: ObservedEvent): readonly UiChunk[];
  end(end: ExchangeEnd): readonly UiChunk[];
}

export interface UiMessageRun {
  readonly agent: string;
  readonly session: string;
  /** In front of the ids of parts. */
  readonly exchange: string;
  readonly messageId: string;
  /** How the session stood before; a new one tells by itself. */
  readonly metadata: JsonObject | undefined;
  /** Where the client's last message goes on: the calls in it that have not ended, and what was asked about them. */
  readonly joins?:
    | {
        readonly open: readonly string[];
        readonly reviews: readonly Pick<ExchangeReview, 'review' | 'action' | 'speaker'>[];
      }
    | undefined;
}

const BY_US = { dynamic: true, providerExecuted: true } as const;

export function createUiFold(run: UiMessageRun): UiFold {
  const { agent, session, exchange } = run;
  const speech = createSpeechFold(run.joins !== undefined);
  const calls = createCallFold(run.joins?.open);
  /** The actions that reviews are about, and those reviews that this stream told of. */
  const actions = new Map(
    run.joins?.reviews.map(({ review, action, speaker }) => [review, callKey(action, speaker)]),
  );
  const asked = new Set<string>();
  const denied = new Set<string>();
  let metadata: Record<string, Json> = { ...run.metadata };
  let usage = NO_USAGE;
  let inStep = false;

  const spoken = (beat: SpeechBeat): UiChunk => {
    const id = `${exchange}-${beat.id}`;
    const isThought = beat.voice === 'thought';
    switch (beat.kind) {
      case 'open':
        return {
          type: isThought ? 'reasoning-start' : 'text-start',
          id,
          ...(beat.speaker === undefined ? {} : { providerMetadata: { telltale: { agent: beat.speaker } } }),
        };
      case 'text':
        return { type: isThought ? 'reasoning-delta' : 'text-delta', id, delta: beat.text };
      case 'close':
        if (isThought) return { type: 'reasoning-end', id };
        return {
          type: 'text-end',
          id,
          providerMetadata: { telltale: { final: beat.final, ...saidBy(beat) } },
        };
    }
  };
  const called = (beat: CallBeat): UiChunk => {
    const toolCallId = callId(session, beat.id);
    switch (beat.kind) {
      case 'open':
        return {
          type: 'tool-input-start',
          toolCallId,
          toolName: beat.action.name,
          ...BY_US,
          ...(beat.speaker === undefined ? {} : { providerMetadata: { telltale: { agent: beat.speaker } } }),
        };
      case 'input':
        return { type: 'tool-input-available', toolCallId, toolName: beat.name, input: beat.input, ...BY_US };
      case 'output':
        return { type: 'tool-output-available', toolCallId, output: beat.output, ...BY_US };
      case 'error':
        if (denied.has(beat.id)) return { type: 'tool-output-denied', toolCallId };
        return { type: 'tool-output-error', toolCallId, errorText: beat.error.message, ...BY_US };
    }
  };
  const state = (): readonly UiChunk[] =>
    Object.keys(metadata).length === 0
      ? []
      : [{ type: 'data-metadata', id: 'metadata', data: { ...metadata } }];
  /** A part of an earlier step cannot be given its input any more. */
  const endStep = (): readonly UiChunk[] => {
    const ended = inStep;
    inStep = false;
    return [...calls.flush().map(called), ...(ended ? [{ type: 'finish-step' } as const] : [])];
  };
  const reviewed = (given: ObservedEvent): readonly UiChunk[] => {
    const { speaker, event } = speakerEventOf(given) ?? { event: given };
    if (event.type === 'review.requested') {
      const action = callKey(event.action, speaker);
      asked.add(event.review);
      actions.set(event.review, action);
      const reason = [visibleText(`${event.what} (${event.because})`), uncoveredText(event)]
        .filter(Boolean)
        .join('\n');
      const toolCallId = callId(session, action);
      return [{ type: 'tool-approval-request', approvalId: event.review, toolCallId, reason }];
    }
    if (event.type !== 'review.resolved') return [];
    const approved = event.answer === 'approved';
    const action = actions.get(event.review);
    if (!approved && action !== undefined) denied.add(action);
    if (!asked.delete(event.review)) return [];
    const reason = event.note === undefined ? {} : { reason: event.note };
    return [{ type: 'tool-approval-response', approvalId: event.review, approved, ...reason }];
  };
  const other = (event: ObservedEvent): readonly UiChunk[] => {
    switch (event.type) {
      case 'session.started':
        metadata = { ...event.metadata };
        return state();
      case 'metadata.changed':
        if (Object.keys(event.changes).length === 0) return [];
        for (const [field, { to }] of Object.entries(event.changes))
          if (to === null) delete metadata[field];
          else metadata[field] = to;
        return [{ type: 'data-metadata', id: 'metadata', data: { ...metadata } }];
      case 'turn.started':
      case 'child.turn.started':
        if (!startsTurn(event)) return [];
        inStep = true;
        return [{ type: 'start-step' }];
      default: {
        const news = newsOf(event);
        const told =
          news && ({ type: 'data-event', data: { type: news.type, ...news.data }, transient: true } as const);
        return told === undefined ? [] : [told];
      }
    }
  };
  const finished = (end: ExchangeEnd): readonly UiChunk[] => {
    const messageMetadata = {
      agent,
      session,
      cost_usd: usage.cost_usd,
      turns: usage.turns,
      usage: {
        inputTokens: usage.input,
        outputTokens: usage.output,
        totalTokens: usage.input + usage.output,
      },
    };
    switch (end.kind) {
      case 'answered':
        return [{ type: 'finish', finishReason: 'stop', messageMetadata }];
      case 'paused':
        return [{ type: 'finish', finishReason: 'tool-calls', messageMetadata }];
      case 'stopped':
        return [{ type: 'abort', reason: end.reason }];
      case 'failed': {
        const { message, hint } = end.error;
        return [{ type: 'error', errorText: hint === undefined ? message : `${message} ${hint}` }];
      }
    }
  };

  return {
    begin: () => [
      { type: 'start', messageId: run.messageId, messageMetadata: { agent, session } },
      ...state(),
    ],
    take(event) {
      usage = addUsage(usage, event);
      const said = speech.take(event).map(spoken);
      const before = startsTurn(event) ? endStep() : [];
      return [...said, ...before, ...calls.take(event).map(called), ...reviewed(event), ...other(event)];
    },
    end: (end) => [...speech.end().map(spoken), ...endStep(), ...finished(end)],
  };
}

/** Whether it begins a turn of whoever has the conversation. */
const startsTurn = (event: ObservedEvent): boolean =>
  (speakerEventOf(event)?.event ?? event).type === 'turn.started';

/** Which agent says it, where it is not the one that the conversation began with. */
const saidBy = ({ speaker }: { readonly speaker?: string }): { readonly agent?: string } =>
  speaker === undefined ? {} : { agent: speaker };

/** Unlike that of any other session: a conversation may go on in a new one. */
export const callId = (session: string, action: string): string => `${session}.${action}`;

/** What stands beside a part for whoever wants to know more. */
export type UiPartMetadata = { readonly telltale: { readonly final?: boolean; readonly agent?: string } };

/** The chunks of the AI SDK's UI message stream, version 1, that agents are told with. */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string; readonly messageMetadata: JsonObject }
  | { readonly type: 'start-step' | 'finish-step' }
  | {
      readonly type: 'text-start' | 'reasoning-start';
      readonly id: string;
      readonly providerMetadata?: UiPartMetadata;
    }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | {
      readonly type: 'text-end' | 'reasoning-end';
      readonly id: string;
      readonly providerMetadata?: UiPartMetadata;
    }
  | {
      readonly type: 'tool-input-start';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly dynamic: true;
      readonly providerExecuted: true;
      readonly providerMetadata?: UiPartMetadata;
    }
  | {
      readonly type: 'tool-input-available';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: Json;
      readonly dynamic: true;
      readonly providerExecuted: true;
    }
  | {
      readonly type: 'tool-output-available';
      readonly toolCallId: string;
      readonly output: Json;
      readonly dynamic: true;
      readonly providerExecuted: true;
    }
  | {
      readonly type: 'tool-output-error';
      readonly toolCallId: string;
      readonly errorText: string;
      readonly dynamic: true;
      readonly providerExecuted: true;
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-request';
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly reason: string;
    }
  | {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | { readonly type: 'data-metadata'; readonly id: string; readonly data: JsonObject }
  | { readonly type: 'data-event'; readonly data: JsonObject; readonly transient: true }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason: string }
  | {
      readonly type: 'finish';
      readonly finishReason: 'stop' | 'tool-calls';
      readonly messageMetadata: JsonObject;
    };

import { uncoveredText, visibleCovered } from '../../../lib/approved-files.ts';
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
  outputText,
  type SpeechBeat,
} from '../exchange/fold-speech.ts';

/** Folds an exchange into a run of AG-UI. Pure but for its own memory. */
export interface AgUiFold {
  begin(): readonly AgUiEvent[];
  take(event: ObservedEvent): readonly AgUiEvent[];
  end(end: ExchangeEnd): readonly AgUiEvent[];
}

export interface AgUiRun {
  readonly threadId: string;
  readonly runId: string;
  readonly agent: string;
  readonly model: string;
  readonly session: string;
  /** In front of the ids of messages. */
  readonly exchange: string;
  /** How the session stood before; a new one tells by itself. */
  readonly metadata: JsonObject | undefined;
  /** Where it goes on in the middle of a turn: actions that an earlier run told of and that have not ended. */
  readonly joins?: { readonly open: readonly string[] } | undefined;
  /** What the client should know about its request. */
  readonly notes: readonly { readonly name: string; readonly value: JsonObject }[];
}

export function createAgUiFold(run: AgUiRun): AgUiFold {
  const { threadId, runId, session, exchange } = run;
  const speech = createSpeechFold(run.joins !== undefined);
  const calls = createCallFold(run.joins?.open);
  let usage = NO_USAGE;
  let step: string | undefined;

  const about = { agent: run.agent, session };
  const callId = (action: string) => toolCallId(session, action);
  const spoken = (beat: SpeechBeat): readonly AgUiEvent[] => {
    const messageId = `${exchange}-${beat.id}`;
    const isThought = beat.voice === 'thought';
    switch (beat.kind) {
      case 'open':
        return isThought
          ? [
              { type: 'REASONING_START', messageId },
              { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
            ]
          : [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...saidBy(beat.speaker) }];
      case 'text':
        return [
          {
            type: isThought ? 'REASONING_MESSAGE_CONTENT' : 'TEXT_MESSAGE_CONTENT',
            messageId,
            delta: beat.text,
          },
        ];
      case 'close':
        return isThought
          ? [
              { type: 'REASONING_MESSAGE_END', messageId },
              { type: 'REASONING_END', messageId },
            ]
          : [
              {
                type: 'TEXT_MESSAGE_END',
                messageId,
                metadata: {
                  telltale: {
                    final: beat.final,
                    ...(beat.speaker === undefined ? {} : { agent: beat.speaker }),
                  },
                },
              },
            ];
    }
  };
  const result = (action: string, content: string, told: JsonObject): AgUiEvent => ({
    type: 'TOOL_CALL_RESULT',
    messageId: `${exchange}-${action}.result`,
    toolCallId: callId(action),
    role: 'tool',
    content,
    metadata: { telltale: told },
  });
  const called = (beat: CallBeat): readonly AgUiEvent[] => {
    const id = callId(beat.id);
    switch (beat.kind) {
      case 'open': {
        const { kind, mode, name } = beat.action;
        const by = beat.speaker === undefined ? {} : { agent: beat.speaker };
        const telltale = { action: beat.id, kind, mode, ...by };
        return [{ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: name, metadata: { telltale } }];
      }
      case 'input':
        return [
          { type: 'TOOL_CALL_ARGS', toolCallId: id, delta: JSON.stringify(beat.input) },
          { type: 'TOOL_CALL_END', toolCallId: id },
        ];
      case 'output':
        return [result(beat.id, outputText(beat.output), { status: 'completed' })];
      case 'error':
        return [result(beat.id, beat.error.message, { status: 'failed', code: beat.error.code })];
    }
  };
  const endStep = (): readonly AgUiEvent[] => {
    const stepName = step;
    step = undefined;
    return stepName === undefined ? [] : [{ type: 'STEP_FINISHED', stepName }];
  };
  const other = (event: ObservedEvent): readonly AgUiEvent[] => {
    switch (event.type) {
      case 'session.started':
        return [{ type: 'STATE_SNAPSHOT', snapshot: event.metadata ?? {} }];
      case 'metadata.changed':
        if (Object.keys(event.changes).length === 0) return [];
        return [{ type: 'STATE_DELTA', delta: statePatch(event.changes), metadata: { by: event.by } }];
      case 'turn.started':
      case 'child.turn.started':
        step = stepOf(event);
        return step === undefined ? [] : [{ type: 'STEP_STARTED', stepName: step }];
      default: {
        const news = newsOf(event);
        return news === undefined
          ? []
          : [{ type: 'CUSTOM', name: `telltale.${news.type}`, value: news.data }];
      }
    }
  };
  const used = (): readonly AgUiUsage[] =>
    usage.turns === 0 && usage.input === 0
      ? []
      : [
          {
            model: run.model,
            inputTokens: usage.input,
            outputTokens: usage.output,
            totalTokens: usage.input + usage.output,
            ...(usage.cached === 0 ? {} : { cachedInputTokens: usage.cached }),
          },
        ];
  /** A call without a result would be the client's to answer. */
  const stillRunning = () =>
    calls.open().map((action) => result(action, 'It is still running.', { status: 'running' }));
  const finished = (end: ExchangeEnd): readonly AgUiEvent[] => {
    const metadata = { telltale: { ...about, cost_usd: usage.cost_usd, turns: usage.turns } };
    const head = { type: 'RUN_FINISHED', threadId, runId, usage: used(), metadata } as const;
    switch (end.kind) {
      case 'answered':
        return [...stillRunning(), { ...head, outcome: { type: 'success' }, result: end.text }];
      case 'stopped':
        return [...stillRunning(), { ...head, outcome: { type: 'cancelled' } }];
      case 'paused': {
        const interrupts = end.reviews.map((review) => interruptOf(review, session));
        return [{ ...head, outcome: { type: 'interrupt', interrupts } }];
      }
      case 'failed': {
        const { code, message, hint } = end.error;
        const text = hint === undefined ? message : `${message} ${hint}`;
        return [{ type: 'RUN_ERROR', message: text, code, usage: used(), metadata }];
      }
    }
  };

  return {
    begin: () => [
      { type: 'RUN_STARTED', threadId, runId, protocolVersion: AG_UI_VERSION, metadata: { telltale: about } },
      ...(run.metadata === undefined ? [] : [{ type: 'STATE_SNAPSHOT', snapshot: run.metadata } as const]),
      ...run.notes.map(({ name, value }): AgUiEvent => ({ type: 'CUSTOM', name: `telltale.${name}`, value })),
    ],
    take(event) {
      usage = addUsage(usage, event);
      const said = speech.take(event).flatMap(spoken);
      const before = stepOf(event) === undefined ? [] : endStep();
      return [...said, ...before, ...calls.take(event).flatMap(called), ...other(event)];
    },
    end: (end) => [
      ...speech.end().flatMap(spoken),
      ...calls.flush().flatMap(called),
      ...endStep(),
      ...finished(end),
    ],
  };
}

/** What a turn is called; undefined where none begins. */
function stepOf(event: ObservedEvent): string | undefined {
  const of = speakerEventOf(event);
  if ((of?.event ?? event).type !== 'turn.started') return undefined;
  return of?.speaker ?? `turn ${event.turn}`;
}

const saidBy = (speaker: string | undefined): { readonly name?: string } =>
  speaker === undefined ? {} : { name: speaker };

/** A change of metadata as JSON Patch. `add` replaces a member that is there; a field that is not set is null on the log. */
export const statePatch = (
  changes: Readonly<Record<string, { readonly from: Json; readonly to: Json }>>,
): readonly PatchOperation[] =>
  Object.entries(changes).flatMap(([field, { from, to }]): readonly PatchOperation[] => {
    const path = `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (to !== null) return [{ op: 'add', path, value: to }];
    return from === null ? [] : [{ op: 'remove', path }];
  });

/** Unlike that of any other session: a conversation may go on in a new one. */
const toolCallId = (session: string, action: string): string => `${session}.${action}`;

/** A review, as the client asks its user. */
export const interruptOf = (review: ExchangeReview, session: string): AgUiInterrupt => ({
  id: review.review,
  reason: 'approval',
  message: [visibleText(`${review.what} (${review.target}) ${review.because}`), uncoveredText(review)]
    .filter(Boolean)
    .join('\n'),
  toolCallId: toolCallId(session, callKey(review.action, review.speaker)),
  responseSchema: {
    type: 'object',
    properties: { approved: { type: 'boolean' }, note: { type: 'string' } },
    required: ['approved'],
  },
  metadata: {
    telltale: {
      target: review.target,
      because: review.because,
      input: review.input,
      ...visibleCovered(review),
      ...(review.speaker === undefined ? {} : { agent: review.speaker }),
    },
  },
});

/** The version of AG-UI that is spoken. */
const AG_UI_VERSION = '1.0';

export interface AgUiUsage {
  readonly model?: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedInputTokens?: number;
}

export interface AgUiInterrupt {
  readonly id: string;
  readonly reason: string;
  readonly message: string;
  readonly toolCallId: string;
  readonly responseSchema: JsonObject;
  readonly metadata: JsonObject;
}

export type AgUiOutcome =
  | { readonly type: 'success' }
  | { readonly type: 'cancelled' }
  | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] };

export interface PatchOperation {
  readonly op: 'add' | 'remove';
  readonly path: string;
  readonly value?: Json;
}

/** The events of AG-UI 1.0 that agents are told with. */
export type AgUiEvent = (
  | {
      readonly type: 'RUN_STARTED';
      readonly threadId: string;
      readonly runId: string;
      readonly protocolVersion: string;
    }
  | {
      readonly type: 'RUN_FINISHED';
      readonly threadId: string;
      readonly runId: string;
      readonly outcome: AgUiOutcome;
      readonly result?: Json;
      readonly usage: readonly AgUiUsage[];
    }
  | {
      readonly type: 'RUN_ERROR';
      readonly message: string;
      readonly code: string;
      readonly usage: readonly AgUiUsage[];
    }
  | { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string }
  | {
      readonly type: 'TEXT_MESSAGE_START';
      readonly messageId: string;
      readonly role: 'assistant';
      /** The agent that says it, where it is not the one that the conversation began with. */
      readonly name?: string;
    }
  | { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
  | { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string }
  | { readonly type: 'REASONING_START' | 'REASONING_END'; readonly messageId: string }
  | { readonly type: 'REASONING_MESSAGE_START'; readonly messageId: string; readonly role: 'reasoning' }
  | { readonly type: 'REASONING_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
  | { readonly type: 'REASONING_MESSAGE_END'; readonly messageId: string }
  | { readonly type: 'TOOL_CALL_START'; readonly toolCallId: string; readonly toolCallName: string }
  | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
  | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
  | {
      readonly type: 'TOOL_CALL_RESULT';
      readonly messageId: string;
      readonly toolCallId: string;
      readonly role: 'tool';
      readonly content: string;
    }
  | { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: JsonObject }
  | { readonly type: 'STATE_DELTA'; readonly delta: readonly PatchOperation[] }
  | { readonly type: 'CUSTOM'; readonly name: string; readonly value: Json }
) & { readonly metadata?: JsonObject; readonly timestamp?: number };

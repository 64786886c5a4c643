import type { ObservedEvent } from '../../../events/event.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { ExchangeEnd } from '../exchange/exchange-end.ts';
import { type CallBeat, createCallFold, outputText } from '../exchange/fold-calls.ts';
import { createSpeechFold, type SpeechBeat } from '../exchange/fold-speech.ts';
import { newsOf } from '../exchange/news.ts';
import { addUsage, NO_USAGE } from '../exchange/usage.ts';
import { AG_UI_VERSION, type AgUiEvent, type AgUiUsage } from './ag-ui-event.ts';
import { interruptOf, toolCallId } from './interrupt-of.ts';
import { statePatch } from './state-patch.ts';

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
          : [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }];
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
        const telltale = { action: beat.id, kind, mode };
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
        step = `turn ${event.turn}`;
        return [{ type: 'STEP_STARTED', stepName: step }];
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
      const before = event.type === 'turn.started' ? endStep() : [];
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

import type { EventOf, SessionEvent } from '../../events/event.ts';
import type { Usage } from '../../events/turn-event.ts';
import { ATTR, OPERATION } from '../conventions.ts';
import { describe, ended, messageOf, type OpenSpan, openSpan } from './open-span.ts';
import type { SpanFoldDeps } from './span-edges.ts';
import { turnSpanId } from './span-ids.ts';
import type { TracedSession } from './traced-stream.ts';

/** Characters of what a model says that are kept for its span. */
const MAX_SAID = 16_384;

export function startTurn(
  { streams, emit }: SpanFoldDeps,
  own: TracedSession,
  { session, turn, seq, at, prompt }: EventOf<'turn.started'>,
): void {
  if (own.turn === undefined) streams.grow(own, 1);
  else emit(ended(own.turn, own.traceId, { at }));
  own.said = '';
  own.turn = turnSpan(own, { session, turn, seq }, at);
  describe(own.turn, {
    'telltale.prompt.tokens': prompt.tokens,
    'telltale.prompt.reused': prompt.reused_prefix,
  });
}

const turnSpan = (
  { span, agent, model }: TracedSession,
  { session, turn, seq }: Pick<SessionEvent, 'session' | 'turn' | 'seq'>,
  at: number,
): OpenSpan =>
  openSpan({
    spanId: turnSpanId(session, turn),
    parentSpanId: span.spanId,
    name: model === undefined ? OPERATION.chat : `${OPERATION.chat} ${model.model}`,
    kind: 'client',
    startAt: at,
    attributes: {
      [ATTR.operation]: OPERATION.chat,
      [ATTR.conversationId]: session,
      [ATTR.agentName]: agent,
      [ATTR.provider]: model?.provider,
      [ATTR.requestModel]: model?.model,
      'telltale.turn': turn,
      'telltale.seq': seq,
    },
  });

export function hearTurn(own: TracedSession, text: string): void {
  if (own.said.length < MAX_SAID) own.said += text;
}

/** What the session itself used: sub-agents have spans of their own. */
export function use({ used }: TracedSession, { input, output }: Usage, cost: number): void {
  used.input += input;
  used.output += output;
  used.cost += cost;
}

export function endTurn(
  { streams, emit, contents }: SpanFoldDeps,
  own: TracedSession,
  event: EventOf<'turn.completed'> | EventOf<'turn.failed'>,
): void {
  const { usage, cost_usd = 0, at } = event;
  own.used.turns++;
  if (usage !== undefined) use(own, usage, cost_usd);
  const isWell = event.type === 'turn.completed';
  if (own.turn === undefined) {
    if (!own.resumed) return;
    // It began in a process that ended before it did.
    streams.grow(own, 1);
    own.turn = turnSpan(own, event, isWell ? at - event.ms : at);
    describe(own.turn, { 'telltale.resumed': true });
  }
  const { turn } = own;
  describe(turn, {
    [ATTR.usageInput]: usage?.input,
    [ATTR.usageOutput]: usage?.output,
    [ATTR.usageCached]: usage?.cached,
    'telltale.usage.estimated': usage?.estimated,
    'telltale.cost_usd': event.cost_usd,
    'telltale.status': isWell ? 'completed' : 'failed',
    [ATTR.outputMessages]: contents && own.said !== '' ? messageOf('assistant', own.said) : undefined,
    ...(isWell
      ? { [ATTR.finishReasons]: [event.finish], [ATTR.timeToFirstChunk]: event.first_token_ms / 1_000 }
      : { 'telltale.retry_in_ms': event.retry_in }),
  });
  const error = isWell ? undefined : event.error;
  // The stream ended when it did, not when that was written down.
  const endAt = isWell ? Math.min(at, turn.startAt + event.ms) : at;
  emit(ended(turn, own.traceId, { at: endAt, error, tellMessage: contents }));
  own.turn = undefined;
  own.said = '';
  streams.grow(own, -1);
}

import type { EventOf } from '../../events/event.ts';
import type { Json } from '../../kernel/json.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import { ATTR, OPERATION } from '../conventions.ts';
import { contentOf, describe, ended, note, type OpenSpan, openSpan } from './open-span.ts';
import type { SpanFoldDeps } from './span-edges.ts';
import { partSpanId } from './span-ids.ts';
import type { TracedAction, TracedSession } from './traced-stream.ts';

export function declareAction(
  { streams }: SpanFoldDeps,
  own: TracedSession,
  { session, turn, seq, at, action }: EventOf<'action.declared'>,
): void {
  if (own.actions.has(action.id)) return;
  streams.grow(own, 1);
  const span = actionSpan(own, session, action.id, at, action.name);
  describe(span, {
    'telltale.kind': action.kind,
    'telltale.mode': action.mode,
    'telltale.group': action.group,
    'telltale.turn': turn,
    'telltale.seq': seq,
  });
  own.actions.set(action.id, { span, declaredAt: at, attempts: 0 });
}

const actionSpan = (own: TracedSession, session: string, id: string, at: number, name?: string): OpenSpan =>
  openSpan({
    spanId: partSpanId(session, id),
    parentSpanId: own.span.spanId,
    name: name === undefined ? OPERATION.tool : `${OPERATION.tool} ${name}`,
    startAt: at,
    attributes: {
      [ATTR.operation]: OPERATION.tool,
      [ATTR.conversationId]: session,
      [ATTR.agentName]: own.agent,
      [ATTR.toolName]: name,
      [ATTR.toolType]: 'function',
      [ATTR.toolCallId]: id,
    },
  });

/** One that was declared where nobody looked on, in a session that was taken up since: what it calls is not known. */
function unseenAction(
  { streams }: SpanFoldDeps,
  own: TracedSession,
  session: string,
  id: string,
  at: number,
) {
  if (!own.resumed) return undefined;
  streams.grow(own, 1);
  const span = actionSpan(own, session, id, at);
  describe(span, { 'telltale.resumed': true });
  const action: TracedAction = { span, declaredAt: at, attempts: 0 };
  own.actions.set(id, action);
  return action;
}

/** The span is of the work: the time before it, for dependencies and a free slot, is an attribute. */
export function startAction(
  deps: SpanFoldDeps,
  own: TracedSession,
  { session, id, attempt, input, at }: EventOf<'action.started'>,
): void {
  const action = own.actions.get(id) ?? unseenAction(deps, own, session, id, at);
  if (action === undefined) return;
  if (action.attempts === 0) {
    action.span = { ...action.span, startAt: at };
    describe(action.span, {
      'telltale.wait_ms': Math.max(0, at - action.declaredAt),
      [ATTR.toolArguments]: deps.contents ? contentOf(input) : undefined,
    });
  } else note(action.span, 'action.started', at, { 'telltale.attempt': attempt });
  action.attempts = attempt;
}

export function retryAction(own: TracedSession, event: EventOf<'action.retrying'>): void {
  const action = own.actions.get(event.id);
  if (action === undefined) return;
  note(action.span, event.type, event.at, {
    'telltale.attempt': event.attempt,
    'telltale.delay_ms': event.delay_ms,
    [ATTR.errorType]: event.error.code,
  });
}

export interface ActionEnd {
  readonly at: number;
  readonly status: string;
  /** How long it took, for one whose start nobody has seen. */
  readonly ms?: number;
  readonly reason?: string;
  readonly output?: Json;
  readonly error?: Pick<ErrorJson, 'code' | 'message'>;
}

export function endAction(
  deps: SpanFoldDeps,
  own: TracedSession,
  { session, id }: { readonly session: string; readonly id: string },
  { at, status, ms = 0, reason, output, error }: ActionEnd,
): void {
  const { streams, emit, contents } = deps;
  const action = own.actions.get(id) ?? unseenAction(deps, own, session, id, at - ms);
  if (action === undefined) return;
  own.actions.delete(id);
  streams.grow(own, -1);
  describe(action.span, {
    'telltale.status': status,
    'telltale.reason': reason,
    'telltale.attempts': action.attempts,
    [ATTR.toolResult]: contents && output !== undefined ? contentOf(output) : undefined,
  });
  emit(ended(action.span, own.traceId, { at, error, tellMessage: contents }));
}

import type { EventOf, SessionEvent } from '../../events/event.ts';
import { usedOutside } from '../../events/fold-turns.ts';
import { LLM_USAGE } from '../../events/reduce.ts';
import { ATTR } from '../conventions.ts';
import { declareAction, endAction, retryAction, startAction } from './action-spans.ts';
import { invokeSpan } from './invoke-span.ts';
import { openSession } from './open-session.ts';
import { describe, ended, messageOf, note, openSpan, plain, type SpanEnd } from './open-span.ts';
import type { SpanFoldDeps } from './span-edges.ts';
import { eventSpanId } from './span-ids.ts';
import type { TracedSession } from './traced-stream.ts';
import { endTurn, hearTurn, startTurn, use } from './turn-spans.ts';

/** Spans of sessions: `invoke_agent`, with `chat`, `execute_tool`, `trigger` and `invoke_artifact` below it. */
export function createSessionSpans(deps: SpanFoldDeps): (event: SessionEvent) => void {
  const { streams, emit, contents } = deps;

  const end = (own: TracedSession, event: SessionEvent, status: string, how: Omit<SpanEnd, 'at'> = {}) => {
    const { at } = event;
    for (const id of [...own.actions.keys()])
      endAction(deps, own, { ...event, id }, { at, status: 'unfinished' });
    if (own.turn !== undefined) emit(ended(own.turn, own.traceId, { at }));
    const { turns, input, output, cost } = own.used;
    describe(own.span, {
      'telltale.status': status,
      'telltale.turns': turns,
      'telltale.cost_usd': cost,
      [ATTR.usageInput]: input,
      [ATTR.usageOutput]: output,
    });
    emit(ended(own.span, own.traceId, { at, ...how, tellMessage: contents }));
    streams.close(event.session);
  };

  const change = (own: TracedSession, { changes, by, at }: EventOf<'metadata.changed'>) => {
    for (const field of own.states) {
      const changed = Object.hasOwn(changes, field) ? changes[field] : undefined;
      if (changed === undefined) continue;
      const { from, to } = changed;
      note(own.span, 'telltale.state', at, {
        'telltale.field': field,
        'telltale.from': plain(from),
        'telltale.to': plain(to),
        'telltale.by': by,
      });
    }
  };

  const trigger = (own: TracedSession, event: EventOf<'trigger.fired'>) => {
    const span = openSpan({
      spanId: eventSpanId(event.session, event.seq),
      parentSpanId: own.span.spanId,
      name: `trigger ${event.workflow}`,
      startAt: event.at,
      attributes: {
        [ATTR.conversationId]: event.session,
        [ATTR.workflowName]: event.workflow,
        'telltale.trigger': event.trigger,
        'telltale.run': event.run,
        'telltale.turn': event.turn,
        'telltale.seq': event.seq,
      },
    });
    emit(ended(span, own.traceId, event));
  };

  const follow = (own: TracedSession, event: SessionEvent): void => {
    const { at } = event;
    switch (event.type) {
      case 'session.resumed':
        own.resumed = true;
        describe(own.span, { 'telltale.resumed': true });
        note(own.span, event.type, at, { 'telltale.by': event.by });
        break;
      case 'turn.started':
        startTurn(deps, own, event);
        break;
      case 'session.completed':
        if (contents) describe(own.span, { [ATTR.outputMessages]: messageOf('assistant', event.result) });
        end(own, event, 'completed');
        break;
      case 'session.failed':
        end(own, event, 'failed', { error: event.error });
        break;
      case 'session.stalled':
        end(own, event, 'stalled', { error: event.error });
        break;
      case 'session.cancelled':
        end(own, event, 'cancelled');
        break;
      case 'session.waiting':
        note(own.span, event.type, at, { 'telltale.for': event.for });
        break;
      case 'model.output':
        if (contents) hearTurn(own, event.text);
        break;
      case 'turn.completed':
      case 'turn.failed':
        endTurn(deps, own, event);
        break;
      case 'prompt.compacted':
        if (event.usage !== undefined) use(own, event.usage, event.cost_usd ?? 0);
        note(own.span, event.type, at, { 'telltale.through_turn': event.through });
        break;
      case 'custom': {
        if (event.name !== LLM_USAGE) return;
        const { usage, cost_usd } = usedOutside(event.data);
        use(own, usage, cost_usd);
        break;
      }
      case 'action.declared':
        declareAction(deps, own, event);
        break;
      case 'action.started':
        startAction(deps, own, event);
        break;
      case 'action.retrying':
        retryAction(own, event);
        break;
      case 'action.completed':
        endAction(deps, own, event, { at, status: 'completed', ms: event.ms, output: event.output });
        break;
      case 'action.failed':
        endAction(deps, own, event, { at, status: 'failed', ms: event.ms, error: event.error });
        break;
      case 'action.skipped':
        endAction(deps, own, event, { at, status: 'skipped', reason: event.reason });
        break;
      case 'action.cancelled':
        endAction(deps, own, event, { at, status: 'cancelled' });
        break;
      case 'action.interrupted':
        endAction(deps, own, event, {
          at,
          status: 'interrupted',
          error: { code: 'interrupted', message: 'Whether it took effect is not known.' },
        });
        break;
      case 'metadata.changed':
        change(own, event);
        break;
      case 'fault':
        note(own.span, event.type, at, { 'telltale.code': event.code });
        break;
      case 'review.requested':
        note(own.span, event.type, at, { 'telltale.review': event.review, [ATTR.toolCallId]: event.action });
        break;
      case 'review.resolved':
        note(own.span, event.type, at, { 'telltale.review': event.review, 'telltale.answer': event.answer });
        break;
      case 'trigger.fired':
        trigger(own, event);
        break;
      case 'invoke':
        emit(ended(invokeSpan(event.session, event, own.span.spanId), own.traceId, event));
        break;
      default:
        break;
    }
  };

  return (event) => {
    if (event.type === 'session.started') {
      openSession(deps, event, event);
      return;
    }
    const known = streams.get(event.session);
    if (known?.kind === 'session') follow(known, event);
    // What follows an end, such as that of a run, opens nothing.
    else if (event.type === 'session.resumed') openSession(deps, event, undefined);
    else if (event.type === 'turn.started') startTurn(deps, openSession(deps, event, undefined), event);
  };
}

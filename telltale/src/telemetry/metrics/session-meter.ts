import { isShown } from '../../events/action.ts';
import type { EventOf, SessionEvent } from '../../events/event.ts';
import { usedOutside } from '../../events/fold-turns.ts';
import { LLM_USAGE } from '../../events/reduce.ts';
import { modelName } from '../model-name.ts';
import type { Instruments } from './instruments.ts';
import { endAction, endTurn, type MeteredSession, NO_USAGE, NOT_TOLD, use } from './metered-session.ts';
import { createMeteredStreams, endOf, type MeteredReviews } from './metered-streams.ts';
import { createStateSpend } from './state-spend.ts';

export interface SessionMeter {
  add(event: SessionEvent): void;
  /** Takes up a session in the middle of its life, with what its first event says. */
  recall(first: EventOf<'session.started'>): void;
  knows(session: string): boolean;
  readonly reviews: MeteredReviews;
}

export function createSessionMeter(meters: Instruments): SessionMeter {
  const sessions = createMeteredStreams<MeteredSession>({
    open: meters.reviewsOpen.of('session'),
    ended: meters.sessionsEnded,
    duration: meters.sessionDuration,
  });

  const begin = (event: SessionEvent, first: EventOf<'session.started'> | undefined, isNew: boolean) =>
    sessions.open(event.session, {
      size: 1,
      at: event.at,
      turnAt: undefined,
      early: [],
      status: 'running',
      idle: false,
      actions: new Map(),
      reviews: new Set(),
      startedAt: first?.at,
      agent: first?.agent ?? NOT_TOLD,
      model: modelName(first?.model ?? NOT_TOLD),
      spend: createStateSpend(
        meters,
        first?.agent ?? NOT_TOLD,
        first?.states ?? [],
        isNew ? (first?.metadata ?? {}) : undefined,
      ),
    });

  const fold = (own: MeteredSession, event: SessionEvent): void => {
    switch (event.type) {
      case 'session.completed':
      case 'session.failed':
      case 'session.stalled':
      case 'session.cancelled':
        sessions.end(event.session, own, { of: own.agent, at: event.at, status: endOf(event.type) });
        break;
      case 'session.resumed':
        own.status = 'running';
        break;
      case 'session.waiting':
        own.status = 'waiting';
        own.idle ||= event.for === 'message';
        break;
      case 'message.received':
        own.status = 'running';
        own.idle = false;
        break;
      case 'turn.started':
        own.status = 'running';
        own.turnAt = event.at;
        own.early = [];
        own.spend.turnBegan();
        break;
      case 'turn.completed':
      case 'turn.failed':
        endTurn(meters, own, event);
        break;
      case 'prompt.compacted':
        use(meters, own, event.usage ?? NO_USAGE, event.cost_usd ?? 0);
        break;
      case 'custom': {
        if (event.name !== LLM_USAGE) return;
        const { usage, cost_usd } = usedOutside(event.data);
        use(meters, own, usage, cost_usd);
        break;
      }
      case 'child.turn.completed':
      case 'child.turn.failed': {
        // Its cost was counted where it arose.
        const { usage, cost_usd = 0 } = event.event;
        if (usage !== undefined) own.spend.used(usage.input, usage.output, cost_usd);
        break;
      }
      case 'child.usage':
        own.spend.used(event.usage?.input ?? 0, event.usage?.output ?? 0, event.cost_usd ?? 0);
        break;
      case 'metadata.changed':
        own.spend.changed(event.changes);
        break;
      case 'action.declared': {
        const { id, kind, name } = event.action;
        if (!isShown(event.action) || own.actions.has(id)) return;
        own.actions.set(id, { kind, name });
        sessions.grow(own, 1);
        break;
      }
      case 'action.started': {
        const action = own.actions.get(event.id);
        if (action === undefined || action.startedAt !== undefined) return;
        action.startedAt = event.at;
        if (own.turnAt !== undefined) own.early.push(event.at);
        break;
      }
      case 'action.completed':
      case 'action.failed':
      case 'action.skipped':
      case 'action.cancelled':
      case 'action.interrupted':
        if (endAction(meters, own, event)) sessions.grow(own, -1);
        break;
      case 'review.requested':
        sessions.asked(own, event.review);
        break;
      case 'review.resolved':
        if (own.status === 'waiting') own.status = 'running';
        sessions.answered(own, event.review);
        break;
      case 'trigger.fired':
        meters.triggersFired.of(own.agent, event.workflow).value++;
        break;
      case 'trigger.suppressed':
        meters.triggersSuppressed.of(own.agent, event.workflow, event.reason).value++;
        break;
      case 'fault':
        meters.faults.of(own.agent, event.code).value++;
        break;
      case 'invoke':
        meters.invokes.of(event.artifact, event.fallback?.reason ?? 'decided').value++;
        break;
      default:
        break;
    }
  };

  return {
    reviews: sessions.reviews,
    knows: (session) => sessions.get(session) !== undefined,
    recall: (first) => void begin(first, first, false),
    add(event) {
      if (event.type === 'session.started') {
        meters.sessionsStarted.of(event.agent).value++;
        begin(event, event, true);
        return;
      }
      let own = sessions.get(event.session);
      if (own === undefined) {
        // What follows an end, such as that of a run, opens nothing.
        if (event.type !== 'session.resumed' && event.type !== 'turn.started') return;
        own = begin(event, undefined, false);
      }
      const ms = event.at - own.at;
      own.at = event.at;
      const isAway =
        event.type === 'session.resumed' || (event.type === 'review.resolved' && event.away === true);
      if (ms > 0 && !isAway && own.status !== 'waiting' && !own.idle) own.spend.worked(ms);
      fold(own, event);
    },
  };
}

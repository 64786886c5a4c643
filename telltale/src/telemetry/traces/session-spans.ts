import type { EventOf, SessionEvent } from '../../log/event.ts';
import { usedOutside } from '../../log/fold-turns.ts';
import { LLM_USAGE } from '../../log/reduce.ts';
import type { Usage } from '../../log/session-events.ts';
import { ATTR, modelName, OPERATION } from '../conventions.ts';
import type { AttributeValue, SpanFoldDeps, SpanLink, TracedSession } from './open-span.ts';
import {
  type Caller,
  callerIn,
  callerSpanId,
  declareAction,
  describe,
  endAction,
  ended,
  eventSpanId,
  invokeSpan,
  messageOf,
  note,
  type OpenSpan,
  openSpan,
  plain,
  retryAction,
  type SpanEnd,
  startAction,
  streamSpanId,
  traceIdOf,
  turnSpanId,
} from './open-span.ts';

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

/** `first` is undefined where the session is taken up in the middle of its life: its span then begins with `event`. */
function openSession(
  { streams, rootOf, contents }: SpanFoldDeps,
  event: SessionEvent,
  first: EventOf<'session.started'> | undefined,
): TracedSession {
  const stream = event.session;
  const caller = first === undefined ? callerIn(stream) : callerOf(first);
  const root = caller === undefined ? stream : rootOf(caller.stream);
  const model = first === undefined ? undefined : modelName(first.model);
  const own: TracedSession = {
    kind: 'session',
    size: 1,
    root,
    traceId: traceIdOf(root),
    agent: first?.agent ?? '',
    model,
    states: first?.states ?? [],
    resumed: first === undefined,
    turn: undefined,
    said: '',
    actions: new Map(),
    used: { turns: 0, input: 0, output: 0, cost: 0 },
    span: openSpan({
      spanId: streamSpanId(stream),
      parentSpanId: caller === undefined ? undefined : callerSpanId(caller),
      name: first === undefined ? OPERATION.agent : `${OPERATION.agent} ${first.agent}`,
      startAt: event.at,
      attributes: {
        [ATTR.operation]: OPERATION.agent,
        [ATTR.conversationId]: stream,
        [ATTR.agentName]: first?.agent,
        [ATTR.agentId]: first?.manifest.hash,
        [ATTR.provider]: model?.provider,
        [ATTR.requestModel]: model?.model,
        'telltale.seq': event.seq,
        ...(first === undefined ? { 'telltale.resumed': true } : startOf(first, contents)),
      },
      links: first?.forked === undefined ? [] : [forkLink(first.forked, rootOf)],
    }),
  };
  streams.open(stream, own);
  return own;
}

/** A session that is led works on many steps of its run: none of them is its caller. */
function callerOf({ parent, led }: EventOf<'session.started'>): Caller | undefined {
  if (parent === undefined) return undefined;
  return { stream: parent.session, ...(led === true ? {} : { part: parent.action }) };
}

function startOf(
  { states = [], metadata = {}, input, chat }: EventOf<'session.started'>,
  contents: boolean,
): Record<string, AttributeValue | undefined> {
  const fields = states.map(
    (field) => [`telltale.metadata.${field}`, plain(metadata[field] ?? null)] as const,
  );
  return {
    ...Object.fromEntries(fields),
    'telltale.chat': chat,
    [ATTR.inputMessages]: contents ? messageOf('user', input) : undefined,
  };
}

const forkLink = (
  { session, seq }: { readonly session: string; readonly seq: number },
  rootOf: (stream: string) => string,
): SpanLink => ({
  traceId: traceIdOf(rootOf(session)),
  spanId: streamSpanId(session),
  attributes: { 'telltale.link': 'fork', 'telltale.cause.stream': session, 'telltale.cause.seq': seq },
});

/** Characters of what a model says that are kept for its span. */
const MAX_SAID = 16_384;

function startTurn(
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

function hearTurn(own: TracedSession, text: string): void {
  if (own.said.length < MAX_SAID) own.said += text;
}

/** What the session itself used: sub-agents have spans of their own. */
function use({ used }: TracedSession, { input, output }: Usage, cost: number): void {
  used.input += input;
  used.output += output;
  used.cost += cost;
}

function endTurn(
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

import type { EventOf, SessionEvent } from '../../events/event.ts';
import { ATTR, OPERATION } from '../conventions.ts';
import { modelName } from '../model-name.ts';
import { messageOf, openSpan, plain } from './open-span.ts';
import type { SpanFoldDeps } from './span-edges.ts';
import { type Caller, callerIn, callerSpanId, streamSpanId, traceIdOf } from './span-ids.ts';
import type { AttributeValue, SpanLink } from './span-record.ts';
import type { TracedSession } from './traced-stream.ts';

/** `first` is undefined where the session is taken up in the middle of its life: its span then begins with `event`. */
export function openSession(
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

import type { Cause } from '../../events/event.ts';
import type { RunEvent, RunEventOf, RunOrigin } from '../../events/run-event.ts';
import { ATTR, OPERATION } from '../conventions.ts';
import { openSpan } from './open-span.ts';
import type { SpanFoldDeps } from './span-edges.ts';
import { type Caller, callerIn, callerSpanId, eventSpanId, streamSpanId, traceIdOf } from './span-ids.ts';
import type { SpanLink } from './span-record.ts';
import type { TracedRun } from './traced-stream.ts';

/** `first` is undefined where the run is taken up in the middle of its life: its span then begins with `event`. */
export function openRun(
  { streams, rootOf }: SpanFoldDeps,
  event: RunEvent,
  first: RunEventOf<'workflow.started'> | undefined,
): TracedRun {
  const caller = first === undefined ? callerIn(event.run) : callerOf(first.origin);
  const root = caller === undefined ? event.run : rootOf(caller.stream);
  const fired = first?.origin.trigger;
  const own: TracedRun = {
    kind: 'run',
    size: 1,
    root,
    traceId: traceIdOf(root),
    workflow: first?.workflow ?? '',
    resumed: first === undefined,
    steps: new Map(),
    span: openSpan({
      spanId: streamSpanId(event.run),
      parentSpanId: caller === undefined ? undefined : callerSpanId(caller),
      name: first === undefined ? OPERATION.workflow : `${OPERATION.workflow} ${first.workflow}`,
      startAt: event.at,
      attributes: {
        [ATTR.operation]: OPERATION.workflow,
        [ATTR.workflowName]: first?.workflow,
        [ATTR.agentName]: first?.manifest.agent,
        [ATTR.conversationId]: first?.origin.session?.id,
        'telltale.run': event.run,
        'telltale.seq': event.seq,
        'telltale.trigger': fired?.id,
        'telltale.client': first?.origin.client,
        'telltale.resumed': first === undefined ? true : undefined,
      },
      links: fired === undefined || event.cause.seq === 0 ? [] : [firedBy(event.cause, rootOf)],
    }),
  };
  streams.open(event.run, own);
  return own;
}

/** A run that a trigger set off is nobody's call: what set it off is linked, and does not wait for it. */
function callerOf({ trigger, parent, session, action }: RunOrigin): Caller | undefined {
  if (trigger !== undefined) return undefined;
  if (parent !== undefined) return { stream: parent.run, part: parent.step };
  if (session === undefined) return undefined;
  return { stream: session.id, ...(action === undefined ? {} : { part: action }) };
}

const firedBy = ({ stream, seq }: Cause, rootOf: (stream: string) => string): SpanLink => ({
  traceId: traceIdOf(rootOf(stream)),
  spanId: eventSpanId(stream, seq),
  attributes: { 'telltale.link': 'trigger', 'telltale.cause.stream': stream, 'telltale.cause.seq': seq },
});

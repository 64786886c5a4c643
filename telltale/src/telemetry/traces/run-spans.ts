import type { Cause } from '../../log/event.ts';
import type { RunEvent, RunEventOf, RunOrigin } from '../../log/run-event.ts';
import { ATTR, modelName, OPERATION } from '../conventions.ts';
import type { Attributes, SpanFoldDeps, SpanLink, TracedRun } from './open-span.ts';
import {
  type Caller,
  callerIn,
  callerSpanId,
  describe,
  ended,
  eventSpanId,
  invokeSpan,
  note,
  type OpenSpan,
  openSpan,
  partSpanId,
  type SpanEnd,
  streamSpanId,
  traceIdOf,
} from './open-span.ts';

/** Spans of workflow runs: `invoke_workflow`, with `step` and `invoke_artifact` below it. */
export function createRunSpans(deps: SpanFoldDeps): (event: RunEvent) => void {
  const { streams, emit, contents } = deps;

  const end = (own: TracedRun, event: RunEvent, status: string, how: Omit<SpanEnd, 'at'> = {}) => {
    const { at } = event;
    for (const step of [...own.steps.keys()]) endStep(deps, own, { ...event, step }, 'unfinished');
    describe(own.span, { 'telltale.status': status });
    emit(ended(own.span, own.traceId, { at, ...how, tellMessage: contents }));
    streams.close(event.run);
  };

  return (event) => {
    const { at } = event;
    if (event.type === 'workflow.started') {
      openRun(deps, event, event);
      return;
    }
    const known = streams.get(event.run);
    if (known?.kind !== 'run') {
      // What follows an end opens nothing.
      if (event.type === 'workflow.resumed') openRun(deps, event, undefined);
      return;
    }
    const own = known;
    switch (event.type) {
      case 'workflow.resumed':
        own.resumed = true;
        describe(own.span, { 'telltale.resumed': true });
        note(own.span, event.type, at, { 'telltale.by': event.by });
        break;
      case 'workflow.waiting':
        note(own.span, event.type, at, { 'telltale.for': event.for });
        break;
      case 'workflow.completed':
        end(own, event, 'completed');
        break;
      case 'workflow.failed':
        end(own, event, 'failed', { error: event.error });
        break;
      case 'workflow.cancelled':
        end(own, event, 'cancelled');
        break;
      case 'state.entered':
        note(own.span, event.type, at, { 'telltale.state': event.state, 'telltale.from': event.from });
        break;
      case 'step.started':
        startStep(deps, own, event);
        break;
      case 'step.retrying': {
        const open = own.steps.get(event.step);
        if (open === undefined) return;
        note(open, event.type, at, {
          'telltale.attempt': event.attempt,
          [ATTR.errorType]: event.error.code,
          'telltale.delay_ms': Math.max(0, event.due - at),
        });
        break;
      }
      case 'step.completed':
        endStep(deps, own, event, 'completed');
        break;
      case 'step.failed':
        endStep(deps, own, event, 'failed', event.error);
        break;
      case 'step.skipped':
        endStep(deps, own, event, 'skipped');
        break;
      case 'step.cancelled':
        endStep(deps, own, event, 'cancelled');
        break;
      case 'verify':
        note(own.steps.get(event.step) ?? own.span, event.type, at, {
          'telltale.assessment': event.assessment,
          'telltale.by': event.by,
        });
        break;
      case 'model.used':
        addUsage(own, event);
        break;
      case 'review.requested':
        note(own.steps.get(event.step) ?? own.span, event.type, at, {
          'telltale.review': event.review,
        });
        break;
      case 'review.resolved':
        note(own.span, event.type, at, { 'telltale.review': event.review, 'telltale.answer': event.answer });
        break;
      case 'invoke':
        emit(ended(invokeSpan(event.run, event, own.span.spanId), own.traceId, event));
        break;
      default:
        break;
    }
  };
}

/** `first` is undefined where the run is taken up in the middle of its life: its span then begins with `event`. */
function openRun(
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

function startStep(
  { streams }: SpanFoldDeps,
  own: TracedRun,
  { run, step, attempt, at, seq }: RunEventOf<'step.started'>,
): void {
  const open = own.steps.get(step);
  if (open !== undefined) {
    note(open, 'step.started', at, { 'telltale.attempt': attempt });
    return;
  }
  streams.grow(own, 1);
  own.steps.set(step, stepSpan(own, run, step, at, { 'telltale.attempts': attempt, 'telltale.seq': seq }));
}

const stepSpan = (own: TracedRun, run: string, step: string, at: number, more: Attributes): OpenSpan =>
  openSpan({
    spanId: partSpanId(run, step),
    parentSpanId: (around(own, step) ?? own.span).spanId,
    // Rounds and visits are in the attribute: a name for each of them would be thousands of names.
    name: `step ${step.slice(step.lastIndexOf('/') + 1)}`,
    startAt: at,
    attributes: { [ATTR.workflowName]: own.workflow, 'telltale.run': run, 'telltale.step': step, ...more },
  });

export interface SpansStepEnd {
  readonly run: string;
  readonly step: string;
  readonly at: number;
  readonly ms?: number;
  readonly attempts?: number;
}

function endStep(
  { streams, emit, contents }: SpanFoldDeps,
  own: TracedRun,
  { run, step, at, ms, attempts }: SpansStepEnd,
  status: string,
  error?: SpanEnd['error'],
): void {
  const known = own.steps.get(step);
  // Its start was not seen where the run was taken up since; one that was never begun has no time that it took.
  if (known === undefined && (!own.resumed || ms === undefined)) return;
  if (own.steps.delete(step)) streams.grow(own, -1);
  const open = known ?? stepSpan(own, run, step, at - (ms ?? 0), { 'telltale.resumed': true });
  describe(open, { 'telltale.status': status, 'telltale.attempts': attempts });
  emit(ended(open, own.traceId, { at, error, tellMessage: contents }));
}

/** The step that another stands in: `each` of `each[2]/build`. */
function around({ steps }: TracedRun, address: string): OpenSpan | undefined {
  for (let at = address.lastIndexOf('/'); at > 0; at = address.lastIndexOf('/', at - 1)) {
    const outer = address.slice(0, at);
    const found = steps.get(outer) ?? steps.get(outer.replace(/\[\d+\]$/, ''));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What a model used for a step, on the step's span. */
function addUsage(own: TracedRun, { step, model, usage, cost_usd }: RunEventOf<'model.used'>): void {
  const { attributes } = own.steps.get(step) ?? own.span;
  const add = (key: string, more: number) => {
    const before = attributes[key];
    attributes[key] = (typeof before === 'number' ? before : 0) + more;
  };
  const { provider, model: name } = modelName(model);
  describe({ attributes }, { [ATTR.provider]: provider, [ATTR.requestModel]: name });
  add(ATTR.usageInput, usage.input);
  add(ATTR.usageOutput, usage.output);
  add('telltale.cost_usd', cost_usd);
}

import type { RunEvent } from '../../events/run-event.ts';
import { ATTR } from '../conventions.ts';
import { invokeSpan } from './invoke-span.ts';
import { openRun } from './open-run.ts';
import { describe, ended, note, type SpanEnd } from './open-span.ts';
import type { SpanFoldDeps } from './span-edges.ts';
import { addUsage, endStep, startStep } from './step-spans.ts';
import type { TracedRun } from './traced-stream.ts';

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

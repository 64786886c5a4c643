import type { RunEventOf } from '../../events/run-event.ts';
import { ATTR } from '../conventions.ts';
import { modelName } from '../model-name.ts';
import { describe, ended, note, type OpenSpan, openSpan, type SpanEnd } from './open-span.ts';
import type { SpanFoldDeps } from './span-edges.ts';
import { partSpanId } from './span-ids.ts';
import type { Attributes } from './span-record.ts';
import type { TracedRun } from './traced-stream.ts';

export function startStep(
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

export interface StepEnd {
  readonly run: string;
  readonly step: string;
  readonly at: number;
  readonly ms?: number;
  readonly attempts?: number;
}

export function endStep(
  { streams, emit, contents }: SpanFoldDeps,
  own: TracedRun,
  { run, step, at, ms, attempts }: StepEnd,
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
export function addUsage(own: TracedRun, { step, model, usage, cost_usd }: RunEventOf<'model.used'>): void {
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

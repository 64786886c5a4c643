import type { Json } from '../../kernel/json.ts';
import type { BeginUndo, LeafCall, LeafPlace, UndoPlace } from '../leaf.ts';
import { prepareAgentStep, prepareWorkflowStep } from './call-below.ts';
import type { LeafContext, StepOf } from './leaf-edges.ts';
import { prepareLlm } from './llm-step.ts';
import { prepareTool } from './tool-step.ts';

type CallType = 'tool' | 'relic' | 'agent' | 'workflow' | 'llm';

/**
 * Undoes a completed step: calls what its `compensate` names, whose parameters see `output` beside the step's scope.
 * The call has an address of its own, so that what it starts is found again and what it asks is told apart.
 */
export async function compensate(
  { step, address, locals }: UndoPlace,
  output: Json,
  signal: AbortSignal,
  begin: BeginUndo,
  context: LeafContext,
): Promise<void> {
  if (step.compensate === undefined) return;
  const { type, target, parameters } = step.compensate;
  const call = { name: step.name, type, target, parameters } as StepOf<CallType>;
  const place: LeafPlace = {
    step: call,
    address: `${address}:compensate`,
    locals: { ...locals, output },
  };
  const ready = await prepared(call, place, context);
  const { state } = context.journal;
  const free = await ready.enter?.(signal);
  try {
    await begin(ready.repeatable, ready.timeoutMs);
    signal.throwIfAborted();
    await ready.run({
      ...place,
      input: ready.input,
      attempt: 1,
      signal,
      idempotencyKey: `${state.id}:${place.address}`,
      cause: state.steps.get(address)?.cause ?? state.started,
      park: cannotWait,
    });
  } finally {
    free?.();
  }
}

function prepared(step: StepOf<CallType>, place: LeafPlace, context: LeafContext) {
  switch (step.type) {
    case 'tool':
    case 'relic':
      return prepareTool(step, place, context);
    case 'agent':
      return prepareAgentStep(step, place, context);
    case 'workflow':
      return prepareWorkflowStep(step, place, context);
    case 'llm':
      return prepareLlm(step, place, context);
  }
}

/** A run that is rolled back is not let go of: what undoes it is waited for in this process. */
const cannotWait: LeafCall['park'] = () => () => {};

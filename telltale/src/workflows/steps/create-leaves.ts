import type { LeafPlace, Leaves, ReadyLeaf } from '../leaf.ts';
import { prepareApproval } from './approval-step.ts';
import { prepareAgentStep, prepareWorkflowStep } from './call-below.ts';
import { compensate } from './compensate.ts';
import type { LeafContext, LeafDeps } from './leaf-edges.ts';
import { prepareLlm } from './llm-step.ts';
import { preparePlan } from './plan-step.ts';
import { prepareScript } from './script-step.ts';
import { prepareEmit, prepareNotify, prepareSetMetadata } from './session-steps.ts';
import { prepareSetVariable } from './set-variable-step.ts';
import { signalsTaken } from './signals-taken.ts';
import { prepareTask } from './task-step.ts';
import { prepareTool } from './tool-step.ts';
import { prepareTransition } from './transition-step.ts';
import { prepareWait } from './wait-step.ts';

/** What the steps of one run do. */
export function createLeaves(deps: LeafDeps): Leaves {
  const { workflow, journal } = deps;
  const context: LeafContext = { ...deps, noted: new Set(), taken: signalsTaken(workflow, journal.state) };
  return {
    ready: (place) => ready(place, context),
    compensate: (place, output, signal, begin) => compensate(place, output, signal, begin, context),
  };
}

function ready(place: LeafPlace, context: LeafContext): ReadyLeaf | Promise<ReadyLeaf> {
  const { step } = place;
  switch (step.type) {
    case 'tool':
    case 'relic':
      return prepareTool(step, place, context);
    case 'llm':
      return prepareLlm(step, place, context);
    case 'agent':
      return prepareAgentStep(step, place, context);
    case 'workflow':
      return prepareWorkflowStep(step, place, context);
    case 'script':
      return prepareScript(step, place, context);
    case 'transition':
      return prepareTransition(step, place, context);
    case 'set_metadata':
      return prepareSetMetadata(step, place, context);
    case 'set_variable':
      return prepareSetVariable(step, place, context);
    case 'notify':
      return prepareNotify(step, place, context);
    case 'emit':
      return prepareEmit(step, place, context);
    case 'approval':
      return prepareApproval(step, place, context);
    case 'wait':
      return prepareWait(step, place, context);
    case 'task':
      return prepareTask(step, place, context);
    case 'plan':
      return preparePlan(step, place, context);
  }
}
